"""How commands are given and what comes back."""

from __future__ import annotations

import hashlib
import os

from ale.computer.conformance.check import Checks, raises
from ale.computer.session import Session
from ale.errors import CommandFailed

checks = Checks()


@checks("an exit code is data, and raises only where it was asked to")
async def _exit_code(session: Session) -> None:
    result = await session.run_command("exit 3", check=False)
    assert (result.return_code, result.success, result.signal) == (3, False, None)
    assert dict(result) == {"success": False, "stdout": "", "stderr": "", "return_code": 3}
    error = await raises(CommandFailed, session.run_command("echo why >&2; exit 4"))
    assert isinstance(error, CommandFailed)
    assert error.result.return_code == 4
    assert "why" in str(error)


@checks("a command that ends by a signal says which")
async def _signal(session: Session) -> None:
    result = await session.run_command("kill -KILL $$", check=False)
    assert (result.return_code, result.signal) == (137, 9)
    result = await session.run_command(["bash", "-c", "kill -TERM $$"], check=False)
    assert (result.return_code, result.signal) == (143, 15)


@checks("a program that is not there is 127 and one that can't be run is 126, not an error of ours")
async def _no_program(session: Session) -> None:
    assert (await session.run_command(["no-such-program"], check=False)).return_code == 127
    assert (await session.run_command("no-such-program", check=False)).return_code == 127
    assert (await session.run_command(["/etc/passwd"], check=False)).return_code == 126


@checks("a working directory that is not there is FileNotFoundError")
async def _no_directory(session: Session) -> None:
    await raises(FileNotFoundError, session.run_command(["true"], cwd="/no/such/directory"))
    await raises(FileNotFoundError, session.launch(["true"], cwd="/no/such/directory"))


@checks("arguments reach a program as they are, whatever is in them")
async def _arguments(session: Session) -> None:
    words = ["-- rm", "--help", "-rf /", "", " ", "a'b\"c", "$HOME `id` $(id)", "x\ny\tz", "汉字 🙂", "*", "\\"]
    script = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    result = await session.run_command(["python3", "-c", script, *words])
    assert result.stdout_bytes == b"\0".join(word.encode() for word in words)


@checks("a shell line may be of any length, and too long an argument is exit code 126")
async def _long_commands(session: Session) -> None:
    line = "echo " + "x" * 1_000_000 + " | wc -c; exit 7"
    result = await session.run_command(line, check=False)
    assert (result.stdout, result.return_code) == ("1000001\n", 7)
    result = await session.run_command(["echo", "x" * 3_000_000], check=False)
    assert result.return_code == 126
    assert "too long" in result.stderr


@checks("a NUL in a path, an argument or a variable is a clean error")
async def _nul(session: Session) -> None:
    await raises(ValueError, session.run_command(["echo", "a\0b"]))
    await raises(ValueError, session.run_command("echo a\0b"))
    await raises(ValueError, session.run_command(["true"], env={"A": "\0"}))
    await raises(ValueError, session.run_command(["true"], cwd="/\0"))


@checks("a command has a clean environment, and what was asked for on top")
async def _environment(session: Session) -> None:
    result = await session.as_user("agent").run_command(["env"], env={"GREETING": "grüß\n'dich'"})
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert {"PATH", "HOME", "LANG", "USER", "GREETING"} <= names
    known = {"PATH", "HOME", "LANG", "USER", "LOGNAME", "SHELL", "TERM", "DISPLAY", "GREETING", "'dich'", "PWD"}
    assert not names - known, f"what is this: {names - known}"
    assert "GREETING=grüß\n'dich'" in result.stdout
    assert "HOME=/home/agent" in result.stdout


@checks("a command runs as the Session's user, in that user's home")
async def _users(session: Session) -> None:
    for user, expected in (("root", "0 0 /root"), ("agent", "1000 1000 /home/agent")):
        acting = session.as_user("agent") if user == "agent" else session
        assert acting.user == user
        script = "import os; print(os.getuid(), *os.getgroups() or [os.getgid()], os.getcwd())"
        result = await acting.run_command(["python3", "-c", script])
        assert result.stdout.split() == expected.split()


@checks("stdin arrives whole and ends")
async def _stdin(session: Session) -> None:
    data = os.urandom(5_000_000)
    result = await session.run_command("sha256sum", stdin=data)
    assert result.stdout.split()[0] == hashlib.sha256(data).hexdigest()
    assert (await session.run_command(["cat"])).stdout == ""


@checks("stdin that nobody reads is no error")
async def _unread_stdin(session: Session) -> None:
    assert (await session.run_command(["true"], stdin=os.urandom(5_000_000))).success
