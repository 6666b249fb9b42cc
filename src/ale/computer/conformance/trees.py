"""Whole trees, up and down, and what is in them."""

from __future__ import annotations

import hashlib
import os

from ale.computer.conformance.check import ODD_NAMES, Checks, host_place, raises, workplace
from ale.computer.session import Session, TreeLimits

checks = Checks()


@checks("a tree goes up and comes down the same", needs_machine=False)
async def _trees(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        source = host / "source"
        (source / "deep/er").mkdir(parents=True)
        (source / "empty").mkdir()
        for name in ODD_NAMES:
            (source / "deep" / name).write_text(name, encoding="utf-8")
        (source / "deep/er" / ("long" * 60)).write_bytes(os.urandom(1_500_000))
        (source / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
        (source / "run.sh").chmod(0o755)
        (source / "link").symlink_to("run.sh")
        await session.upload(source, f"{place}/new/tree")
        collected = await session.download(f"{place}/new/tree", host / "back")
        assert collected.refused == ()
        assert "empty" in collected.directories
        found = {file.path: file for file in collected.files}
        assert found["run.sh"].executable
        assert found["link"].sha256 == found["run.sh"].sha256
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            name = str(path.relative_to(source))
            data = path.read_bytes()
            assert (host / "back" / name).read_bytes() == data
            assert (found[name].size, found[name].sha256) == (len(data), hashlib.sha256(data).hexdigest())


@checks("an upload over what is there replaces files and keeps the rest", needs_machine=False)
async def _upload_again(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        (host / "one").mkdir()
        (host / "one/file").write_text("new", encoding="utf-8")
        await session.create_dir(f"{place}/tree")
        await session.write_file(f"{place}/tree/file", "old and longer")
        await session.write_file(f"{place}/tree/other", "kept")
        await session.upload(host / "one", f"{place}/tree")
        assert await session.read_file(f"{place}/tree/file") == "new"
        assert await session.read_file(f"{place}/tree/other") == "kept"
        await session.upload(host / "one/file", f"{place}/single.txt")
        assert await session.read_file(f"{place}/single.txt") == "new"
        collected = await session.download(f"{place}/single.txt", host / "single")
        assert [file.path for file in collected.files] == ["single.txt"]


@checks("links that lead out of an upload are refused", needs_machine=False)
async def _upload_links(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        (host / "tree").mkdir()
        (host / "secret").write_text("x", encoding="utf-8")
        (host / "tree/out").symlink_to(host / "secret")
        await raises(ValueError, session.upload(host / "tree", f"{place}/tree"))


@checks("a download keeps to its limits and names what it refused", needs_machine=False)
async def _download_limits(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        await session.create_dir(f"{place}/tree/a/b/c")
        for name, size in (("small", 10), ("large", 5000), ("a/b/c/deep", 10)):
            await session.write_bytes(f"{place}/tree/{name}", b"x" * size)
        limits = TreeLimits(file_bytes=1000, depth=3)
        collected = await session.download(f"{place}/tree", host / "one", limits=limits)
        assert [file.path for file in collected.files] == ["small"]
        assert {refusal.path: refusal.reason for refusal in collected.refused}["large"] == "too_large"
        few = await session.download(f"{place}/tree", host / "two", limits=TreeLimits(files=1))
        assert len(few.files) == 1
        assert any(refusal.reason == "too_many" for refusal in few.refused)
        little = await session.download(f"{place}/tree", host / "three", limits=TreeLimits(total_bytes=15))
        assert little.total_bytes <= 15


@checks("a download into a directory that is not empty is refused", needs_machine=False)
async def _download_not_empty(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        await session.write_file(f"{place}/file", "x")
        (host / "there").mkdir()
        (host / "there/mine").write_text("x", encoding="utf-8")
        await raises(FileExistsError, session.download(place, host / "there"))


@checks("what is hostile in a tree is refused entry by entry, and what is sound is kept")
async def _hostile_tree(session: Session) -> None:
    async with workplace(session) as place, host_place() as host:
        await session.run_command(
            f"mkdir -p {place}/t/dir $'{place}/t/bad\\xff'; cd {place}/t; echo good > good; echo deep > dir/deep; "
            "ln -s /etc/passwd link; ln -s / dir/loop; mkfifo fifo; truncate -s 1T sparse; echo x > $'bad\\xff/x'; "
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"; "
            "cp good suid; chmod 6755 suid"
        )
        collected = await session.download(f"{place}/t", host / "down")
        assert [file.path for file in collected.files] == ["dir/deep", "good", "suid"]
        reasons = {refusal.path: refusal.reason for refusal in collected.refused}
        assert {name: reasons[name] for name in ("link", "dir/loop", "fifo", "sparse", "sock")} == {
            "link": "link",
            "dir/loop": "link",
            "fifo": "fifo",
            "sparse": "too_large",
            "sock": "socket",
        }
        assert "name" in reasons.values()
        assert (host / "down/suid").stat().st_mode & 0o7000 == 0


@checks("digests finds every file, or those of a size", needs_machine=False)
async def _digests(session: Session) -> None:
    async with workplace(session) as place:
        await session.create_dir(f"{place}/deep")
        await session.write_bytes(f"{place}/one", b"1" * 10)
        await session.write_bytes(f"{place}/deep/two", b"2" * 20)
        one, two = hashlib.sha256(b"1" * 10).hexdigest(), hashlib.sha256(b"2" * 20).hexdigest()
        assert await session.digests([place]) == {f"{place}/one": one, f"{place}/deep/two": two}
        assert await session.digests([place], [20]) == {f"{place}/deep/two": two}
        assert await session.digests([place], []) == {}
        await raises(FileNotFoundError, session.digests([f"{place}/none"]))
