"""A tree from a machine leaves on the host what is sound, and nothing anywhere else."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ale.computer.server import tarstream
from ale.computer.session import Collected, TreeLimits
from ale.computer.tree import TreeReceiver, pack

SMALL = TreeLimits(total_bytes=5000, file_bytes=2000, files=6, name_bytes=20, depth=4)


def receive(data: bytes, destination: Path, limits: TreeLimits = SMALL, step: int = 1 << 16) -> Collected:
    receiver = TreeReceiver(destination, limits)
    try:
        for start in range(0, len(data), step):
            receiver.feed(data[start : start + step])
        return receiver.finish()
    finally:
        receiver.close()


def file(name: bytes, content: bytes = b"x", mode: int = 0o644) -> bytes:
    return tarstream.header(tarstream.FILE, name, size=len(content), mode=mode) + tarstream.pad(content)


def reasons(collected: Collected) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in collected.refused}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"../out", "name"),
        (b"a/../../out", "name"),
        (b"/etc/passwd", "name"),
        (b"a//b", "name"),
        (b".", "name"),
        (b"", "name"),
        (b"nul\0", None),  # a NUL ends the field, as in every tar
        (b"bad\xff", "name"),
        (b"x" * 21, "name"),
        (b"a/b/c/d/e", "too_deep"),
        (b"./fine", None),
    ],
)
def test_names_are_relative_plain_and_bounded(tmp_path: Path, name: bytes, reason: str | None) -> None:
    collected = receive(file(name) + file(b"good") + tarstream.END, tmp_path / "down")
    assert "good" in [one.path for one in collected.files]
    assert [refusal.reason for refusal in collected.refused] == ([reason] if reason else [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["down"]


def test_a_nul_that_pax_smuggles_in_is_refused(tmp_path: Path) -> None:
    record = b"15 path=a\0b.ok\n"
    data = tarstream._block(b"x", b"pax", len(record), 0o644, 0, b"") + tarstream.pad(record) + file(b"whatever")
    assert [refusal.reason for refusal in receive(data + tarstream.END, tmp_path / "down").refused] == ["name"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarstream.LINK, "link"),
        (tarstream.HARD_LINK, "link"),
        (tarstream.CHARACTER, "device"),
        (tarstream.BLOCK_DEVICE, "device"),
        (tarstream.FIFO, "fifo"),
        (b"S", "kind"),
        (b"V", "kind"),
    ],
)
def test_only_files_and_directories_are_taken(tmp_path: Path, kind: bytes, reason: str) -> None:
    entry = tarstream.header(kind, b"entry", link=b"/etc/passwd")
    collected = receive(entry + file(b"entry/below") + tarstream.END, tmp_path / "down")
    assert reasons(collected) == {"entry": reason}
    assert [one.path for one in collected.files] == ["entry/below"]
    assert (tmp_path / "down/entry").is_dir()


def test_a_link_is_not_followed_by_what_comes_after(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    link = tarstream.header(tarstream.LINK, b"way", link=str(tmp_path / "outside").encode())
    receive(link + file(b"way/in") + tarstream.END, tmp_path / "down")
    assert list((tmp_path / "outside").iterdir()) == []


def test_the_first_of_one_name_wins(tmp_path: Path) -> None:
    data = file(b"a", b"first") + file(b"a", b"second") + file(b"a/b") + tarstream.header(tarstream.DIRECTORY, b"a")
    collected = receive(data + file(b"d/e") + file(b"d") + tarstream.END, tmp_path / "down")
    assert [one.path for one in collected.files] == ["a", "d/e"]
    assert (tmp_path / "down/a").read_bytes() == b"first"
    assert {refusal.reason for refusal in collected.refused} == {"duplicate"}
    assert len(collected.refused) == 4


def test_limits_hold_whatever_the_machine_sends(tmp_path: Path) -> None:
    data = file(b"large", b"l" * 2001) + b"".join(file(b"%d" % n, b"s" * 1500) for n in range(5))
    collected = receive(data + tarstream.END, tmp_path / "bytes")
    assert [one.path for one in collected.files] == ["0", "1", "2"]
    assert set(reasons(collected).values()) == {"too_large"}
    data = b"".join(file(b"%d" % n) for n in range(9)) + tarstream.END
    collected = receive(data, tmp_path / "files")
    assert len(collected.files) == 6
    assert set(reasons(collected).values()) == {"too_many"}
    data = b"".join(tarstream.header(tarstream.DIRECTORY, b"%d" % n) for n in range(50)) + tarstream.END
    assert len(receive(data, tmp_path / "directories").directories) <= 6


def test_a_terabyte_that_is_only_announced_costs_nothing(tmp_path: Path) -> None:
    data = tarstream.header(tarstream.FILE, b"huge", size=2**40) + b"\0" * 100_000
    collected = receive(data, tmp_path / "down")
    assert reasons(collected)["huge"] == "too_large"
    assert collected.files == ()


def test_endless_refused_data_is_cut(tmp_path: Path) -> None:
    receiver = TreeReceiver(tmp_path / "down", SMALL)
    receiver.feed(tarstream.header(tarstream.FILE, b"huge", size=2**50))
    fed = 0
    while not receiver.cut:
        receiver.feed(b"\0" * 2**20)
        fed += 1
        assert fed < 100
    assert receiver.finish().refused[-1].reason == "broken"
    receiver.close()


def test_endless_refused_entries_are_cut(tmp_path: Path) -> None:
    receiver = TreeReceiver(tmp_path / "down", SMALL)
    link = tarstream.header(tarstream.LINK, b"l", link=b"t") * 1000
    for _ in range(20):
        receiver.feed(link)
    assert receiver.cut
    assert len(receiver.finish().refused) < 10_010
    receiver.close()


def test_a_file_that_breaks_off_is_not_kept(tmp_path: Path) -> None:
    whole = file(b"good") + file(b"half", b"h" * 1500)
    collected = receive(whole[:1600], tmp_path / "down")
    assert [one.path for one in collected.files] == ["good"]
    assert reasons(collected)["half"] == "broken"
    assert [path.name for path in (tmp_path / "down").iterdir()] == ["good"]


def test_what_the_machine_takes_back_is_not_kept(tmp_path: Path) -> None:
    data = file(b"d/changing", b"\0" * 10)
    data += tarstream.header(tarstream.REFUSED, b"d/changing", link=b"changed")
    data += tarstream.header(tarstream.REFUSED, b"no", link=b"\x1b[31mmade up")
    collected = receive(data + tarstream.END, tmp_path / "down")
    assert collected.files == ()
    assert collected.directories == ("d",)
    assert reasons(collected) == {"d/changing": "changed", "no": "unreadable"}


def test_hostile_names_are_told_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    collected = receive(file(b"\x1b[2J\xff") + tarstream.END, tmp_path / "down")
    assert collected.refused[0].path == "\\x1b[2J\\xff"


def test_set_uid_does_not_come_along(tmp_path: Path) -> None:
    receive(file(b"su", mode=0o6755) + tarstream.END, tmp_path / "down")
    assert (tmp_path / "down/su").stat().st_mode & 0o7777 == 0o755


def test_a_destination_that_is_not_empty_or_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").touch()
    with pytest.raises(FileExistsError):
        TreeReceiver(tmp_path / "full", SMALL)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    with pytest.raises(OSError):
        TreeReceiver(tmp_path / "link", SMALL)


NAMES = st.lists(
    st.one_of(st.sampled_from([b"a", b"b", b"..", b".", b"", b"\xff", b"x" * 30]), st.binary(min_size=1, max_size=5)),
    min_size=1,
    max_size=6,
).map(b"/".join)
KINDS = st.sampled_from([b"0", b"0", b"0", b"1", b"2", b"3", b"5", b"6", b"E", b"Z"])


@settings(deadline=None)
@given(st.lists(st.tuples(KINDS, NAMES, st.integers(0, 3000)), max_size=15), st.integers(1, 5000), st.integers(0, 4000))
def test_whatever_comes_what_is_kept_is_sound(entries: list[tuple[bytes, bytes, int]], step: int, cut: int) -> None:
    """What Collected lists is what lies there, nothing else, within all limits; nothing was made outside."""
    data = b""
    for kind, name, size in entries:
        sent = size if kind == b"0" else 0
        data += tarstream.header(kind, name.replace(b"\0", b""), size=sent, mode=0o7777, link=b"/etc") + tarstream.pad(
            b"d" * sent
        )
    data = (data + tarstream.END)[: max(len(data) + 1024 - cut, 0)]
    with tempfile.TemporaryDirectory() as place:
        down = Path(place) / "down"
        collected = receive(data, down, step=step)
        assert list(Path(place).iterdir()) == [down]
        found = {str(path.relative_to(down)): path for path in down.rglob("*")}
        assert {name for name, path in found.items() if path.is_file()} == {one.path for one in collected.files}
        assert {name for name, path in found.items() if path.is_dir()} == set(collected.directories)
        assert not any(path.is_symlink() for path in found.values())
        for one in collected.files:
            content = found[one.path].read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (one.size, one.sha256)
            assert one.size <= SMALL.file_bytes
            assert one.path.count("/") < SMALL.depth
        assert collected.total_bytes <= SMALL.total_bytes
        assert len(collected.files) <= SMALL.files


def test_packing_follows_links_inside_and_refuses_others(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/file").write_text("content", encoding="utf-8")
    (tree / "again").symlink_to("sub")
    with tarfile.open(fileobj=io.BytesIO(b"".join(pack(tree)))) as tar:
        assert tar.getnames() == ["again", "again/file", "sub", "sub/file"]
        assert all(entry.isdir() or entry.isreg() for entry in tar.getmembers())
    (tree / "sub/up").symlink_to("..")
    with pytest.raises(ValueError, match="above it"):
        list(pack(tree))
    (tree / "sub/up").unlink()
    (tree / "out").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match="leads out"):
        list(pack(tree))
    (tree / "out").unlink()
    (tree / "nowhere").symlink_to("nothing")
    with pytest.raises(FileNotFoundError):
        list(pack(tree))
    (tree / "nowhere").unlink()
    os.mkfifo(tree / "fifo")
    with pytest.raises(ValueError, match="neither"):
        list(pack(tree))
