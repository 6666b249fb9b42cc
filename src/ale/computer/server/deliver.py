"""POST /deliver: run one delivered program on one case, with nothing of the task but that case in its reach."""

from __future__ import annotations

import fcntl
import os
import stat

from . import command, frames, processes, traces, trees, users
from .faults import Fault
from .places import checked, open_file, resolve
from .programs import parse_program, raw
from .state import RUN
from .tree import Limits, TreeSender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .http1 import Request
    from .programs import Program
    from .state import State

_CASES = RUN + b"/cases"
_LOCK = RUN + b"/deliver.lock"
_HIDDEN = b"/task"
_END_SECONDS = 10.0
_LEFT_BYTES, _LEFT_FILES, _LEFT_DEPTH = 64 * 2**20, 10_000, 32


def deliver(request: Request, user: str, state: State) -> None:
    """Runs one after the other: before and after each, no process of the agent's user is alive."""
    if user != "root":
        raise Fault("permission", "only root runs delivered programs", 403)
    reader = frames.Frames()
    spec = command.read_spec(request, reader)
    program = parse_program(spec, "agent", state, delivered=True)
    program.memory_mb = int(str(spec.get("memory_mb") or 1024))
    files = spec.get("files") or {}
    if not isinstance(files, dict):
        raise Fault("invalid", "files must be an object of names and paths")
    lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _nobody_else()
        case, directory = _make_case()
        before = traces.look()
        try:
            _fill(directory, files)
            if program.cwd is None:
                program.cwd = case
            _run(request, reader, spec, program, state, directory)
        finally:
            traces.remove_new(before)
            trees.empty(directory)
            os.close(directory)
            os.rmdir(case)
    finally:
        os.close(lock)
    request.end_stream()


def _run(
    request: Request,
    reader: frames.Frames,
    spec: dict[str, object],
    program: Program,
    state: State,
    directory: int,
) -> None:
    with _hidden():
        try:
            run = command.Run(request, reader, program, state, command.seconds(spec))
            run.stream()
        finally:
            _nobody_else()
    run.send_exit()
    sender = TreeSender(
        lambda data: request.send_chunk(frames.header(frames.TREE, len(data)), data),
        Limits(_LEFT_BYTES, _LEFT_BYTES, _LEFT_FILES),
    )
    sender.send_directory(directory, _LEFT_DEPTH)
    sender.finish()


def _nobody_else() -> None:
    left = processes.end_user(users.AGENT, _END_SECONDS)[1]
    if left:
        raise Fault("survivors", f"processes of the agent's user can't be ended: {', '.join(left.values())}", 500)


class _hidden:  # noqa: N801 - reads as a state: `with _hidden():`
    """/task is root's alone meanwhile: input, output and reference are out of the program's reach."""

    def __enter__(self) -> None:
        self._mode = None
        if os.path.isdir(_HIDDEN):
            self._mode = stat.S_IMODE(os.stat(_HIDDEN).st_mode)
            os.chmod(_HIDDEN, 0o700)

    def __exit__(self, *_: object) -> None:
        if self._mode is not None:
            os.chmod(_HIDDEN, self._mode)


def _make_case() -> tuple[bytes, int]:
    """A fresh directory whose parent is root's, so the program can't put anything else in its place."""
    os.makedirs(_CASES, mode=0o711, exist_ok=True)
    os.chmod(_CASES, 0o711)
    path = _CASES + b"/" + os.urandom(8).hex().encode()
    os.mkdir(path, 0o700)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fchown(fd, users.AGENT, users.AGENT)
    return path, fd


def _fill(directory: int, files: dict[object, object]) -> None:
    for name, path in files.items():
        parts = raw(name, "a file's name").split(b"/")
        if any(part in (b"", b".", b"..") for part in parts):
            raise Fault("invalid", "a case's file names are relative and plain")
        source = resolve(checked(raw(path, "a file's path")))
        if os.path.isdir(source):
            for inner, inner_source in _below(source):
                _copy_in(directory, [*parts, *inner.split(b"/")], inner_source)
        else:
            _copy_in(directory, parts, source)


def _below(source: bytes) -> Iterator[tuple[bytes, bytes]]:
    fd = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for path, _, _, info, _ in trees.walk(fd, b"", 64):
            if isinstance(info, os.stat_result) and stat.S_ISREG(info.st_mode):
                yield path, source + b"/" + path
    finally:
        os.close(fd)


def _copy_in(directory: int, parts: list[bytes], source: bytes) -> None:
    reader = open_file(source, os.O_RDONLY)
    try:
        info = os.fstat(reader)
        if not stat.S_ISREG(info.st_mode):
            raise Fault("invalid", "only regular files go into a case")
        here = os.dup(directory)
        for part in parts[:-1]:
            if part not in map(os.fsencode, os.listdir(here)):
                os.mkdir(part, 0o755, dir_fd=here)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.fchown(below, users.AGENT, users.AGENT)
            os.close(here)
            here = below
        mode = 0o755 if info.st_mode & 0o111 else 0o644
        writer = os.open(
            parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=here
        )
        try:
            trees.copy_bytes(reader, writer)
            os.fchown(writer, users.AGENT, users.AGENT)
        finally:
            os.close(writer)
            os.close(here)
    finally:
        os.close(reader)
