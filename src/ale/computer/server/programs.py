"""From what a client asks for to a running program: checking the specification, and the last steps before exec."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import users
from .faults import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import State

NOT_FOUND, NOT_EXECUTABLE = 127, 126
_LONGEST_ARGUMENT = 128 * 1024
"""MAX_ARG_STRLEN of the kernel."""

_SHELLS = {"bash": "/bin/bash"}


@dataclass
class Program:
    """argv, env and cwd as the kernel wants them. cwd None: the user's home, or / where that is missing.
    delivered: may run as the agent although the machine is frozen. memory_mb: what its whole tree may use."""

    argv: list[bytes]
    env: dict[bytes, bytes]
    cwd: bytes | None
    user: str
    delivered: bool = False
    memory_mb: int | None = None


def parse_program(spec: dict[str, object], user: str, state: State, *, delivered: bool = False) -> Program:
    if not delivered:
        users.check_not_frozen(user, state)
    env = users.login_env(user, state)
    extra = spec.get("env") or {}
    if not isinstance(extra, dict):
        raise Fault("invalid", "env must be an object of strings")
    env.update(extra)
    cwd = spec.get("cwd")
    return Program(
        _argv(spec), dict(map(_pair, env.items())), None if cwd is None else raw(cwd, "cwd"), user, delivered
    )


def _argv(spec: dict[str, object]) -> list[bytes]:
    argv, shell_line = spec.get("argv"), spec.get("shell_line")
    if (argv is None) == (shell_line is None):
        raise Fault("invalid", "exactly one of argv and shell_line must be given")
    if shell_line is not None:
        shell = str(spec.get("shell") or "bash")
        if shell not in _SHELLS:
            raise Fault("unsupported", f"this machine has no {shell}; its shell is bash")
        return [_SHELLS[shell].encode(), b"-c", raw(shell_line, "the command")]
    if not isinstance(argv, list) or not argv:
        raise Fault("invalid", "argv must be a list of at least one string")
    return [raw(word, "an argument") for word in argv]


def _pair(item: tuple[object, object]) -> tuple[bytes, bytes]:
    name, value = raw(item[0], "a variable's name"), raw(item[1], "a variable's value")
    if not name or b"=" in name:
        raise Fault("invalid", "a variable's name is not empty and holds no '='")
    return name, value


def raw(value: object, what: str) -> bytes:
    """A string of the wire as the bytes the kernel sees; what was not UTF-8 travels as lone surrogates."""
    if not isinstance(value, str):
        raise Fault("invalid", f"{what} must be a string")
    if "\0" in value:
        raise Fault("invalid", f"{what} holds a NUL character")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise Fault("invalid", f"{what} holds a lone surrogate") from error


def start(program: Program, state: State, stdio: tuple[int, int, int], *, terminal: bool = False) -> int:
    """Fork and exec; the pid. Raises FileNotFoundError, NotADirectoryError or PermissionError for a cwd that can't be
    used. A program that can't be run says so on its stderr and exits with 127 or 126, as from a shell."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            _exec(program, state, stdio, writer, terminal)
        finally:
            os._exit(NOT_EXECUTABLE)
    os.close(writer)
    try:
        problem = os.read(reader, 16)
    finally:
        os.close(reader)
    if problem:
        os.waitpid(pid, 0)
        if problem == b"frozen":
            users.check_not_frozen(program.user, state)
        number = int(problem)
        raise OSError(number, os.strerror(number), program.cwd)
    return pid


def _exec(program: Program, state: State, stdio: tuple[int, int, int], report: int, terminal: bool) -> None:
    os.setsid()
    report = _place(stdio, report)
    if terminal:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    users.default_signals()
    os.umask(0o022)
    if program.user == "agent":
        users.limit_agent(state)
    if program.memory_mb is not None:
        import resource

        # The watcher counts what is really used; this only stops what outruns it.
        users.lower(resource.RLIMIT_DATA, 4 * program.memory_mb * 2**20)
    users.become(program.user)
    if program.user == "agent" and state.frozen and not program.delivered:
        # After becoming the agent: either the freeze saw this process, or this process sees the freeze.
        os.write(report, b"frozen")
        os._exit(NOT_EXECUTABLE)
    try:
        _enter(program)
    except OSError as error:
        os.write(report, b"%d" % (error.errno or 0))
        os._exit(NOT_EXECUTABLE)
    try:
        os.execvpe(program.argv[0], _short(program.argv), program.env)
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        os.write(2, program.argv[0] + b": " + (error.strerror or "cannot be run").encode() + b"\n")
        os._exit(NOT_FOUND if missing else NOT_EXECUTABLE)


def _short(argv: list[bytes]) -> list[bytes]:
    """A shell line may be longer than the kernel takes an argument: then the shell reads it as a script."""
    if argv[1:2] != [b"-c"] or len(argv) != 3 or len(argv[2]) < _LONGEST_ARGUMENT:
        return argv
    fd = os.memfd_create("command", 0)
    os.set_inheritable(fd, True)
    with os.fdopen(fd, "wb", closefd=False) as script:
        script.write(argv[2])
    return [argv[0], b"/proc/self/fd/%d" % fd]


def _enter(program: Program) -> None:
    if program.cwd is not None:
        os.chdir(program.cwd)
        return
    try:
        os.chdir(users.home(program.user))
    except OSError:
        os.chdir("/")


def _place(stdio: tuple[int, int, int], report: int) -> int:
    """Put the three ends on 0, 1 and 2, `report` on 3 (which is returned), and close everything else."""
    import fcntl

    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (*stdio, report)]
    for target, fd in enumerate(high[:3]):
        os.dup2(fd, target)
    os.dup2(high[3], 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return 3
