"""Starts programs as the mapped root, in an overlay or not: the parent's side of `launcher.py`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ale.errors import SandboxUnavailable
from ale.sandbox.local import userns
from ale.sandbox.local.idmap import IdRange

START_BOUND = 60.0
"""Seconds that entering the namespaces may take; it takes 0.05 s on a quiet machine."""

_LAUNCHER = Path(__file__).with_name("launcher.py")

_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/opt")
"""Directories of every system on which the overlay can be put, in a mount namespace that only the sandbox sees."""


@dataclass(frozen=True)
class Overlay:
    """lower: directories, highest first. disk: directory for `upper` and `work`, writable by everybody (its parent is
    closed to others)."""

    lower: tuple[Path, ...]
    disk: Path


@dataclass(frozen=True)
class Program:
    """argv[0] is an absolute path. keep: `@name` in argv becomes the descriptor's number in the program. install:
    descriptor here -> number there."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    overlay: Overlay | None = None
    seccomp: bytes = b""
    keep: Mapping[str, int] = field(default_factory=dict)
    install: Mapping[int, int] = field(default_factory=dict)
    cwd: Path | None = None


def mount_point() -> str:
    for path in _MOUNT_POINTS:
        if Path(path).is_dir():
            return path
    raise SandboxUnavailable(f"none of {', '.join(_MOUNT_POINTS)} is a directory; create one: mkdir /mnt")


def launch(
    program: Program,
    ids: IdRange,
    *,
    own: bool = False,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    before_start: Callable[[int], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start and return once the program itself runs. before_start gets the pid while nothing of the program runs yet.

    Raises SandboxUnavailable when the namespaces, the mapping, the overlay or the program can't be had; then no process
    is left. Blocks; bubblewrap's die-with-parent watches the calling thread, not the process.
    """
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(START_BOUND)
        plan = {
            "sync": theirs.fileno(),
            "lower": [str(path) for path in program.overlay.lower] if program.overlay else [],
            "disk": str(program.overlay.disk) if program.overlay else None,
            "mount": mount_point() if program.overlay else None,
            "keep": dict(program.keep),
            "install": dict(program.install),
            "seccomp": program.seccomp.hex(),
            "argv": list(program.argv),
            "env": dict(program.env),
            "cwd": str(program.cwd) if program.cwd else None,
        }
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(plan)],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(theirs.fileno(), *program.keep.values(), *program.install),
                start_new_session=True,  # a terminal's Ctrl-C is for the conductor, which ends sandboxes in order
                env={},
                cwd="/" if program.overlay else None,
            )
        try:
            _hand_over(ours, process.pid, ids, own, before_start)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return process


def _hand_over(
    sync: socket.socket, pid: int, ids: IdRange, own: bool, before_start: Callable[[int], None] | None
) -> None:
    try:
        first = sync.recv(4096)
        if first != b"U":
            raise SandboxUnavailable(_sentence(first))
        ids.map(pid, own=own)
        if before_start is not None:
            before_start(pid)
        sync.sendall(b"G")
        last = sync.recv(4096)
    except TimeoutError:
        raise SandboxUnavailable(f"a sandbox's namespaces were not there after {START_BOUND:g} s") from None
    if last:
        raise SandboxUnavailable(_sentence(last))


def _sentence(words: bytes) -> str:
    text = words.decode("utf-8", errors="replace") or "its launcher ended without a word"
    mend = userns.forbidden() or "`ale doctor` says what is missing"
    return f"no sandbox could be made: {text}; {mend}"
