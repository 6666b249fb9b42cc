"""What every Session must do, as checks that any provider can run against a machine of its own.

    for check in SESSION_CHECKS.values():
        await check.run(make_session)

`make_session` is an async function that returns a Session as root on a machine of this check's own (or one that it
shares: each check works in a directory of its own). A check raises AssertionError, or what escaped, if the Session
does not conform. Checks with `needs_machine` run commands; the others are for fakes too.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.lowlevel

from ale.computer.session import CommandExit, DisplayMissing, Session, TreeLimits
from ale.errors import CommandFailed, CommandTimeout, InfrastructureError

MakeSession = Callable[[], Awaitable[Session]]

_BOUND = 120.0
"""Seconds in which any check must be through, on a slow machine too."""

ODD_NAMES = (
    "with space",
    'it\'s "quoted"',
    "new\nline",
    "tab\there",
    "ünï-汉字-🙂",
    "-rf",
    "$(touch x)",
    "a;b|c&d",
    "\\back",
)


@dataclass(frozen=True)
class Check:
    """name: the sentence that it checks."""

    name: str
    body: Callable[[Session], Awaitable[None]]
    needs_machine: bool = True
    needs_screen: bool = False

    async def run(self, make_session: MakeSession) -> None:
        with anyio.fail_after(_BOUND):
            await self.body(await make_session())


_found: list[Check] = []


def _check(
    sentence: str, *, needs_machine: bool = True, needs_screen: bool = False
) -> Callable[[Callable[[Session], Awaitable[None]]], Callable[[Session], Awaitable[None]]]:
    def mark(body: Callable[[Session], Awaitable[None]]) -> Callable[[Session], Awaitable[None]]:
        _found.append(Check(sentence, body, needs_machine, needs_screen))
        return body

    return mark


@asynccontextmanager
async def _workplace(session: Session) -> AsyncIterator[str]:
    """A directory of the machine that anyone may write to, and that is gone afterwards."""
    path = f"/tmp/conformance-{os.urandom(6).hex()}"  # noqa: S108 - the machine's /tmp, not the host's
    await session.create_dir(path)
    try:
        yield path
    finally:
        await session.delete(path)


@asynccontextmanager
async def _host_place() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ale-conformance-") as name:
        yield Path(name)


async def _raises(kind: type[BaseException], call: Awaitable[object]) -> BaseException:
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def _gone(session: Session, marker: str) -> None:
    """No process of the machine has `marker` in its command line."""
    found = await session.run_command(["pgrep", "-f", "--", marker], check=False)
    assert found.return_code == 1, f"still alive: {found.stdout}"


# commands: results


@_check("an exit code is data, and raises only where it was asked to")
async def _exit_code(session: Session) -> None:
    result = await session.run_command("exit 3", check=False)
    assert (result.return_code, result.success, result.signal) == (3, False, None)
    assert dict(result) == {"success": False, "stdout": "", "stderr": "", "return_code": 3}
    error = await _raises(CommandFailed, session.run_command("echo why >&2; exit 4"))
    assert isinstance(error, CommandFailed)
    assert error.result.return_code == 4
    assert "why" in str(error)


@_check("a command that ends by a signal says which")
async def _signal(session: Session) -> None:
    result = await session.run_command("kill -KILL $$", check=False)
    assert (result.return_code, result.signal) == (137, 9)
    result = await session.run_command(["bash", "-c", "kill -TERM $$"], check=False)
    assert (result.return_code, result.signal) == (143, 15)


@_check("a program that is not there is 127 and one that can't be run is 126, not an error of ours")
async def _no_program(session: Session) -> None:
    assert (await session.run_command(["no-such-program"], check=False)).return_code == 127
    assert (await session.run_command("no-such-program", check=False)).return_code == 127
    assert (await session.run_command(["/etc/passwd"], check=False)).return_code == 126


@_check("a working directory that is not there is FileNotFoundError")
async def _no_directory(session: Session) -> None:
    await _raises(FileNotFoundError, session.run_command(["true"], cwd="/no/such/directory"))
    await _raises(FileNotFoundError, session.launch(["true"], cwd="/no/such/directory"))


@_check("arguments reach a program as they are, whatever is in them")
async def _arguments(session: Session) -> None:
    words = ["-- rm", "--help", "-rf /", "", " ", "a'b\"c", "$HOME `id` $(id)", "x\ny\tz", "汉字 🙂", "*", "\\"]
    script = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    result = await session.run_command(["python3", "-c", script, *words])
    assert result.stdout_bytes == b"\0".join(word.encode() for word in words)


@_check("a shell line may be of any length, and too long an argument is exit code 126")
async def _long_commands(session: Session) -> None:
    line = "echo " + "x" * 1_000_000 + " | wc -c; exit 7"
    result = await session.run_command(line, check=False)
    assert (result.stdout, result.return_code) == ("1000001\n", 7)
    result = await session.run_command(["echo", "x" * 3_000_000], check=False)
    assert result.return_code == 126
    assert "too long" in result.stderr


@_check("a NUL in a path, an argument or a variable is a clean error")
async def _nul(session: Session) -> None:
    await _raises(ValueError, session.run_command(["echo", "a\0b"]))
    await _raises(ValueError, session.run_command("echo a\0b"))
    await _raises(ValueError, session.run_command(["true"], env={"A": "\0"}))
    await _raises(ValueError, session.run_command(["true"], cwd="/\0"))


@_check("a command has a clean environment, and what was asked for on top")
async def _environment(session: Session) -> None:
    result = await session.as_user("agent").run_command(["env"], env={"GREETING": "grüß\n'dich'"})
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert {"PATH", "HOME", "LANG", "USER", "GREETING"} <= names
    known = {"PATH", "HOME", "LANG", "USER", "LOGNAME", "SHELL", "TERM", "DISPLAY", "GREETING", "'dich'", "PWD"}
    assert not names - known, f"what is this: {names - known}"
    assert "GREETING=grüß\n'dich'" in result.stdout
    assert "HOME=/home/agent" in result.stdout


@_check("a command runs as the Session's user, in that user's home")
async def _users(session: Session) -> None:
    for user, expected in (("root", "0 0 /root"), ("agent", "1000 1000 /home/agent")):
        acting = session.as_user("agent") if user == "agent" else session
        assert acting.user == user
        script = "import os; print(os.getuid(), *os.getgroups() or [os.getgid()], os.getcwd())"
        result = await acting.run_command(["python3", "-c", script])
        assert result.stdout.split() == expected.split()


@_check("stdin arrives whole and ends")
async def _stdin(session: Session) -> None:
    data = os.urandom(5_000_000)
    result = await session.run_command("sha256sum", stdin=data)
    assert result.stdout.split()[0] == hashlib.sha256(data).hexdigest()
    assert (await session.run_command(["cat"])).stdout == ""


@_check("stdin that nobody reads is no error")
async def _unread_stdin(session: Session) -> None:
    assert (await session.run_command(["true"], stdin=os.urandom(5_000_000))).success


# commands: output


@_check("10 MB on both streams at once arrive whole")
async def _both_streams(session: Session) -> None:
    script = (
        "import sys, threading\n"
        "def put(stream, byte):\n"
        "    for _ in range(160): stream.buffer.write(byte * 65536); stream.flush()\n"
        "t = threading.Thread(target=put, args=(sys.stderr, b'e')); t.start(); put(sys.stdout, b'o'); t.join()"
    )
    result = await session.run_command(["python3", "-c", script])
    assert result.stdout_bytes == b"o" * 160 * 65536
    assert result.stderr_bytes == b"e" * 160 * 65536


@_check("one line of 20 MB arrives whole")
async def _long_line(session: Session) -> None:
    result = await session.run_command("head -c 20000000 /dev/zero | tr '\\0' x; echo")
    assert len(result.stdout_bytes) == 20_000_001
    assert not result.truncated


@_check("binary output keeps its digest, and reading it as text does not fail")
async def _binary(session: Session) -> None:
    script = "import os,sys,hashlib; d=os.urandom(2048)+bytes(range(256)); sys.stdout.buffer.write(d); "
    script += "sys.stderr.write(hashlib.sha256(d).hexdigest())"
    result = await session.run_command(["python3", "-c", script])
    assert hashlib.sha256(result.stdout_bytes).hexdigest() == result.stderr
    assert "\ufffd" in result.stdout


@_check("a child that keeps the pipes open does not keep the command from ending, and lives on")
async def _background_child(session: Session) -> None:
    marker = f"9{int.from_bytes(os.urandom(3), 'big'):08d}"
    with anyio.fail_after(30):
        result = await session.run_command(f"(while sleep 0.05; do echo noise; done) & sleep {marker} & echo 1")
    assert "1" in result.stdout.splitlines()
    found = await session.run_command(["pgrep", "-f", "--", f"sleep {marker}"], check=False)
    assert found.success, "the child was killed"
    await session.run_command(["pkill", "-f", "--", "sleep 0.05|echo noise"], check=False)
    await session.run_command(["pkill", "-f", "--", f"sleep {marker}"], check=False)


@_check("output is streamed as it appears")
async def _streaming(session: Session) -> None:
    async with session.stream_command("echo first; sleep 0.1; echo second >&2; exit 3") as items:
        found = [item async for item in items]
    assert found[:2] == [("stdout", b"first\n"), ("stderr", b"second\n")]
    assert isinstance(found[-1], CommandExit)
    assert found[-1].return_code == 3
    async with session.stream_command("echo out; sleep 600") as items:
        with anyio.fail_after(30):
            assert await anext(items) == ("stdout", b"out\n")


# commands: their end


@_check("a timed-out command is dead with its whole tree, whatever it ignores and wherever it hid")
async def _timeout_kills_all(session: Session) -> None:
    marker = f"8{int.from_bytes(os.urandom(3), 'big'):08d}"
    line = (
        f"trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep {marker}' & "
        f"(setsid nohup sleep {marker} >/dev/null 2>&1 &) ; echo before; sleep {marker}"
    )
    for acting in (session, session.as_user("agent")):
        error = await _raises(CommandTimeout, acting.run_command(line, timeout=1.0))
        assert isinstance(error, CommandTimeout)
        assert error.result.stdout == "before\n"
        await _gone(session, f"sleep {marker}")


@_check("endless output ends at the time limit")
async def _endless(session: Session) -> None:
    with anyio.fail_after(60):
        error = await _raises(CommandTimeout, session.run_command("yes", timeout=1.0))
    assert isinstance(error, CommandTimeout)
    assert error.result.stdout_bytes.startswith(b"y\ny\n")
    await _gone(session, "^yes$")


@_check("output beyond what a result holds is counted, not lost in silence")
async def _dropped(session: Session) -> None:
    result = await session.run_command("head -c 70000000 /dev/zero")
    assert result.truncated
    assert len(result.stdout_bytes) + result.dropped["stdout"] == 70_000_000


@_check("leaving a streamed command early ends it before the block is left")
async def _left_early(session: Session) -> None:
    marker = f"7{int.from_bytes(os.urandom(3), 'big'):08d}"
    async with session.stream_command(f"echo x; setsid sleep {marker} & sleep {marker}") as items:
        await anext(items)
    await _gone(session, f"sleep {marker}")


@_check("a cancelled command is dead when the cancellation is through")
async def _cancelled(session: Session) -> None:
    marker = f"6{int.from_bytes(os.urandom(3), 'big'):08d}"
    with anyio.move_on_after(0.5) as scope:
        await session.run_command(f"setsid sleep {marker} & sleep {marker}", stdin=os.urandom(3_000_000))
    assert scope.cancelled_caught
    await _gone(session, f"sleep {marker}")


@_check("the end of a command leaves what others started alone")
async def _others_live(session: Session) -> None:
    marker = f"5{int.from_bytes(os.urandom(3), 'big'):08d}"
    pid = await session.launch(["sleep", marker])
    await _raises(CommandTimeout, session.run_command("sleep 600", timeout=0.3))
    assert (await session.run_command(["kill", "-0", str(pid)], check=False)).success
    await session.run_command(["kill", "-KILL", str(pid)])


@_check("a launched program lives on, writes its log and has the pid that was told")
async def _launch(session: Session) -> None:
    async with _workplace(session) as place:
        pid = await session.launch("echo $$; exec sleep 600", log=f"{place}/log", cwd=place)
        with anyio.fail_after(30):
            while not (await session.read_file(f"{place}/log")).endswith("\n"):
                await anyio.lowlevel.checkpoint()
        assert int(await session.read_file(f"{place}/log")) == pid
        await session.run_command(["kill", "-KILL", str(pid)])


@_check("many commands run at once")
async def _parallel(session: Session) -> None:
    results: dict[int, str] = {}

    async def one(number: int) -> None:
        results[number] = (await session.run_command(f"sleep 0.2; echo {number}")).stdout

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    assert results == {number: f"{number}\n" for number in range(20)}


# delivered programs


@_check("a delivered program sees its case and nothing of the task, and leaves nothing alive")
async def _delivered(session: Session) -> None:
    marker = f"4{int.from_bytes(os.urandom(3), 'big'):08d}"
    async with _workplace(session) as place:
        await session.write_file(f"{place}/case.txt", "the case")
        await session.create_dir("/task/output")
        program = (
            "import os, sys, subprocess\n"
            "print(open('in/case.txt').read(), sys.stdin.read(), os.getuid(), sorted(os.listdir('.')))\n"
            "for path in ('/task', '/task/output', '/task/input', '/task/reference', '/task/software'):\n"
            "    try: os.listdir(path); print('LEAK', path)\n"
            "    except OSError: pass\n"
            "open('out.txt', 'w').write('done'); os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo')\n"
            f"subprocess.Popen(['setsid', 'sleep', '{marker}'])\n"
            "sys.exit(5)\n"
        )
        await session.write_file(f"{place}/program.py", program)
        done = await session.run_delivered(
            ["python3", "program.py"],
            files={"program.py": f"{place}/program.py", "in/case.txt": f"{place}/case.txt"},
            stdin=b"input",
        )
        assert done.result.return_code == 5, done.result.stderr
        assert done.result.stdout == "the case input 1000 ['in', 'program.py']\n"
        assert done.files["out.txt"] == b"done"
        assert not {"link", "fifo"} & done.files.keys()
        assert (done.timed_out, done.out_of_memory) == (False, False)
        await _gone(session, f"sleep {marker}")


@_check("a delivered program that runs too long or takes too much memory is ended, and it is said which")
async def _delivered_limits(session: Session) -> None:
    slow = await session.run_delivered(["sleep", "600"], timeout=0.5)
    assert slow.timed_out
    assert not slow.out_of_memory
    hungry = "x = []\nwhile True: x.append(bytes(bytearray(b'1') * 1000000))"
    big = await session.run_delivered(["python3", "-c", hungry], timeout=60, memory_mb=100)
    assert big.out_of_memory
    assert not big.timed_out


# files


@_check("text and bytes come back as they were written", needs_machine=False)
async def _round_trip(session: Session) -> None:
    async with _workplace(session) as place:
        text = 'naïve 汉字 € 🙂\r\n\t"q" \x1b[31m\x00end'
        await session.write_file(f"{place}/text", text)
        assert await session.read_file(f"{place}/text") == text
        data = os.urandom(3_000_000)
        await session.write_bytes(f"{place}/data", data)
        assert await session.read_bytes(f"{place}/data") == data
        assert await session.read_bytes(f"{place}/data", 1000, 77) == data[1000:1077]
        assert await session.read_bytes(f"{place}/data", 3_000_000) == b""
        await session.write_bytes(f"{place}/data", b"tail", append=True)
        assert await session.read_bytes(f"{place}/data", 2_999_999) == data[-1:] + b"tail"
        await session.write_bytes(f"{place}/data", b"short")
        assert await session.read_bytes(f"{place}/data") == b"short"
        await session.write_bytes(f"{place}/empty", b"")
        assert await session.read_bytes(f"{place}/empty") == b""


@_check("names may hold anything that a file system allows", needs_machine=False)
async def _odd_names(session: Session) -> None:
    async with _workplace(session) as place:
        for name in ODD_NAMES:
            await session.write_file(f"{place}/{name}", name)
        assert await session.list_dir(place) == sorted(ODD_NAMES, key=lambda name: name.encode())
        for name in ODD_NAMES:
            assert await session.read_file(f"{place}/{name}") == name
            assert await session.file_exists(f"{place}/{name}")


@_check("what goes wrong with files is told by the built-in exceptions", needs_machine=False)
async def _file_errors(session: Session) -> None:
    async with _workplace(session) as place:
        await session.write_file(f"{place}/file", "x")
        await session.write_bytes(f"{place}/latin", b"\xff")
        await _raises(FileNotFoundError, session.read_file(f"{place}/none"))
        await _raises(FileNotFoundError, session.write_file(f"{place}/none/file", ""))
        await _raises(FileNotFoundError, session.list_dir(f"{place}/none"))
        await _raises(FileNotFoundError, session.copy(f"{place}/none", f"{place}/copy"))
        await _raises(FileNotFoundError, session.move(f"{place}/none", f"{place}/moved"))
        await _raises(IsADirectoryError, session.read_bytes(place))
        await _raises(NotADirectoryError, session.list_dir(f"{place}/file"))
        await _raises(UnicodeDecodeError, session.read_file(f"{place}/latin"))
        await _raises(ValueError, session.read_bytes(f"{place}/a\0b"))
        await _raises(ValueError, session.read_bytes("relative/path"))
        async with _host_place() as host:
            await _raises(FileNotFoundError, session.download(f"{place}/none", host / "down"))


@_check("exists, file_exists and directory_exists tell files, directories and nothing apart", needs_machine=False)
async def _existence(session: Session) -> None:
    async with _workplace(session) as place:
        await session.write_file(f"{place}/file", "x")
        for path, any_, file, directory in (
            (place, True, False, True),
            (f"{place}/file", True, True, False),
            (f"{place}/none", False, False, False),
            (f"{place}/file/below", False, False, False),
        ):
            found = [await call(path) for call in (session.exists, session.file_exists, session.directory_exists)]
            assert found == [any_, file, directory], path


@_check("directories are made, listed, copied, moved and deleted whole", needs_machine=False)
async def _directories(session: Session) -> None:
    async with _workplace(session) as place:
        await session.create_dir(f"{place}/a/b/c")
        await session.create_dir(f"{place}/a/b/c")
        await session.write_file(f"{place}/a/b/file", "x")
        await session.copy(f"{place}/a", f"{place}/copy")
        assert await session.read_file(f"{place}/copy/b/file") == "x"
        await session.move(f"{place}/a", f"{place}/moved")
        assert not await session.exists(f"{place}/a")
        assert await session.list_dir(f"{place}/moved/b") == ["c", "file"]
        entries = {entry.name: entry for entry in await session.scan_dir(f"{place}/moved/b")}
        assert (entries["file"].kind, entries["file"].size, entries["c"].kind) == ("file", 1, "directory")
        await session.delete(f"{place}/moved")
        await session.delete(f"{place}/moved")
        assert await session.list_dir(place) == ["copy"]


@_check("a tree goes up and comes down the same", needs_machine=False)
async def _trees(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
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


@_check("an upload over what is there replaces files and keeps the rest", needs_machine=False)
async def _upload_again(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
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


@_check("links that lead out of an upload are refused", needs_machine=False)
async def _upload_links(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
        (host / "tree").mkdir()
        (host / "secret").write_text("x", encoding="utf-8")
        (host / "tree/out").symlink_to(host / "secret")
        await _raises(ValueError, session.upload(host / "tree", f"{place}/tree"))


@_check("a download keeps to its limits and names what it refused", needs_machine=False)
async def _download_limits(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
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


@_check("a download into a directory that is not empty is refused", needs_machine=False)
async def _download_not_empty(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
        await session.write_file(f"{place}/file", "x")
        (host / "there").mkdir()
        (host / "there/mine").write_text("x", encoding="utf-8")
        await _raises(FileExistsError, session.download(place, host / "there"))


@_check("what is hostile in a tree is refused entry by entry, and what is sound is kept")
async def _hostile_tree(session: Session) -> None:
    async with _workplace(session) as place, _host_place() as host:
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


@_check("digests finds every file, or those of a size", needs_machine=False)
async def _digests(session: Session) -> None:
    async with _workplace(session) as place:
        await session.create_dir(f"{place}/deep")
        await session.write_bytes(f"{place}/one", b"1" * 10)
        await session.write_bytes(f"{place}/deep/two", b"2" * 20)
        one, two = hashlib.sha256(b"1" * 10).hexdigest(), hashlib.sha256(b"2" * 20).hexdigest()
        assert await session.digests([place]) == {f"{place}/one": one, f"{place}/deep/two": two}
        assert await session.digests([place], [20]) == {f"{place}/deep/two": two}
        assert await session.digests([place], []) == {}
        await _raises(FileNotFoundError, session.digests([f"{place}/none"]))


@_check("the agent's Session can do what the agent can, and no more")
async def _agent_rights(session: Session) -> None:
    agent = session.as_user("agent")
    async with _workplace(session) as place, _host_place() as host:
        (host / "in").write_text("given", encoding="utf-8")
        await session.upload(host / "in", f"{place}/given/in", read_only=True)
        assert await agent.read_file(f"{place}/given/in") == "given"
        await _raises(PermissionError, agent.write_file(f"{place}/given/in", "changed"))
        await _raises(PermissionError, agent.write_file(f"{place}/given/new", ""))
        await _raises(PermissionError, agent.delete(f"{place}/given/in"))
        await _raises(PermissionError, agent.read_file("/etc/shadow"))
        await session.upload(host / "in", f"{place}/mine", owner="agent")
        await agent.write_file(f"{place}/mine", "changed")
        await _raises(PermissionError, agent.upload(host / "in", f"{place}/theirs", owner="root"))


@_check("a link of the agent's does not lead root to what is not the agent's")
async def _planted_link(session: Session) -> None:
    agent = session.as_user("agent")
    async with _workplace(session) as place:
        await session.write_file(f"{place}/secret", "answer")
        await session.run_command(["chmod", "600", f"{place}/secret"])
        await session.run_command(["install", "-d", "-o", "1000", f"{place}/agent"])
        await agent.run_command(f"ln -s {place}/secret {place}/agent/result; ln -s {place} {place}/agent/dir; ")
        assert not await session.exists(f"{place}/agent/result")
        await _raises(PermissionError, session.read_bytes(f"{place}/agent/result"))
        await _raises(PermissionError, session.read_bytes(f"{place}/agent/dir/secret"))
        await _raises(PermissionError, session.write_bytes(f"{place}/agent/result", b"overwritten"))
        assert await session.read_file(f"{place}/secret") == "answer"


# the machine


@_check("a machine without a screen says so")
async def _no_display(session: Session) -> None:
    if (await session.run_command("echo $DISPLAY")).stdout.strip():
        return  # it has one: the checks of the screen speak for it
    await _raises(DisplayMissing, session.screenshot())
    await _raises(DisplayMissing, session.click(1, 1))


@_check("the server is out of the agent's reach")
async def _server_safe(session: Session) -> None:
    agent = session.as_user("agent")
    line = "for s in INT TERM HUP QUIT KILL STOP ABRT SEGV USR1; do kill -$s 1 2>/dev/null && echo sent $s; done; "
    line += "cat /proc/1/environ 2>/dev/null && echo read; (: > /proc/1/mem) 2>/dev/null && echo opened; true"
    assert (await agent.run_command(line)).stdout == ""
    assert (await session.run_command("kill -TERM 1; kill -INT 1; echo $?")).success
    assert await session.exists("/")


# the screen


@_check("a screenshot is a PNG of the screen's size", needs_screen=True)
async def _screenshot(session: Session) -> None:
    width, height = await session.screen_size()
    picture = await session.screenshot()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (width, height)


@_check("a click outside the screen and an unknown key are ValueErrors", needs_screen=True)
async def _bad_input(session: Session) -> None:
    width, height = await session.screen_size()
    await _raises(ValueError, session.click(width, 0))
    await _raises(ValueError, session.click(0, height))
    await _raises(ValueError, session.click(-1, 0))
    await _raises(ValueError, session.key("ctrl+nonsense"))


@_check("what is typed arrives letter for letter", needs_screen=True)
async def _typing(session: Session) -> None:
    texts = (
        "Hello, World 123",
        'He said "don\'t" & echo $HOME \\ 100% (a|b) `tick` ;done',
        "5\\`GgT-S%U~tG{H~XU?:**[]<>^_+=#@!",
        "naïve 汉字 € ÄÖÜß ñ ツ á é",
        "aaaa  bb   ",
        "x" * 500,
    )
    agent = session.as_user("agent")
    async with _workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty -echo; printf ready > {place}/ready; head -n {len(texts)} > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        for text in texts:
            await session.type(text + "\n")
        await _appears(session, f"{place}/done")
        assert await session.read_file(f"{place}/typed") == "".join(text + "\n" for text in texts)


@_check("a text with more different letters than a keyboard has keys arrives letter for letter", needs_screen=True)
async def _many_letters(session: Session) -> None:
    """With Caps Lock on as well: that is somebody's earlier key, not part of the text."""
    letters = [chr(code) for code in (*range(0x410, 0x450), *range(0x4E00, 0x4E40), *range(0xC0, 0x100))]
    text = "aB" + "".join(letters) + "".join(reversed(letters)) + "Zz"
    agent = session.as_user("agent")
    async with _workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty -echo; touch {place}/ready; head -n 2 > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        await session.type(text + "\n")
        await session.key("capslock")
        await session.type("aBc\n")
        await session.key("capslock")
        await _appears(session, f"{place}/done")
        assert await session.read_file(f"{place}/typed") == text + "\naBc\n"


@_check("a program that holds the whole screen does not hold up who looks at it for long", needs_screen=True)
async def _grabbed(session: Session) -> None:
    agent = session.as_user("agent")
    script = (
        "import Xlib.display, time; d = Xlib.display.Display(':0'); d.grab_server(); d.sync(); print(1, flush=True); "
    )
    async with agent.stream_command(["python3", "-c", script + "time.sleep(600)"]) as items:
        await anext(items)
        await _raises(InfrastructureError, session.screenshot())
    assert (await session.screenshot()).startswith(b"\x89PNG")


@_check("keys and chords reach the program that has the focus", needs_screen=True)
async def _keys(session: Session) -> None:
    """What xterm sends for each is fixed by the terminals it imitates."""
    presses: tuple[tuple[str | list[str], bytes], ...] = (
        ("a", b"a"),
        ("A", b"A"),
        ("?", b"?"),
        ("+", b"+"),
        ("ctrl+a", b"\x01"),
        (["ctrl", "c"], b"\x03"),
        ("Return", b"\r"),
        ("tab", b"\t"),
        ("shift+tab", b"\x1b[Z"),
        ("up", b"\x1b[A"),
        ("pagedown", b"\x1b[6~"),
        ("f5", b"\x1b[15~"),
        ("esc", b"\x1b"),
        ("é", "é".encode()),
    )
    expected = b"".join(sent for _, sent in presses)
    agent = session.as_user("agent")
    async with _workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty raw -echo; touch {place}/ready; head -c {len(expected)} > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        for keys, _ in presses:
            await session.key(keys)
        await _appears(session, f"{place}/done")
        assert await session.read_bytes(f"{place}/typed") == expected


@_check("a click lands on its pixel", needs_screen=True)
async def _click(session: Session) -> None:
    """xterm's mouse reports: button, column, row, each as a character 32 above its value."""
    agent = session.as_user("agent")
    async with _workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = (
            f"stty raw -echo; printf '\\033[?9h'; touch {place}/ready; head -c 18 > {place}/seen; touch {place}/done"
        )
        look = ["-fn", "fixed", "-b", "0", "-bw", "0", "+sb", "-geometry", "80x24+0+0"]
        await agent.launch(["xterm", *look, "-e", "bash", "-c", script])
        await _appears(session, f"{place}/ready")
        await session.click(200, 200)
        await session.click(200, 200, button="right")
        await session.click(320, 290)
        await _appears(session, f"{place}/done")
        seen = await session.read_bytes(f"{place}/seen")
        first, right, other = seen[:6], seen[6:12], seen[12:]
        assert first[:3] == right[:3] == other[:3] == b"\x1b[M"
        assert (first[3] - 32, right[3] - 32, other[3] - 32) == (0, 2, 0)
        assert first[4:] == right[4:]
        assert other[4] - first[4] == 20, "120 pixels are 20 columns of 6"


async def _appears(session: Session, path: str) -> None:
    with anyio.fail_after(60):
        await session.run_command(f"until test -e {path}; do sleep 0.05; done", timeout=60)


SESSION_CHECKS: dict[str, Check] = {check.name: check for check in _found}
"""By sentence, in the order above."""
