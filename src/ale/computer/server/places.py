"""Paths in a machine, taken apart so that no link an agent planted leads root astray.

Root follows a link that an ordinary user owns only to what the same user owns: a delivered `answer.csv` that points at
a reference is refused, not read.
"""

from __future__ import annotations

import errno
import os
import stat

from .faults import Fault

_LINKS = 40
"""As many links as the kernel follows in one path."""


def checked(path: bytes, what: str = "path") -> bytes:
    if not path.startswith(b"/"):
        raise Fault("invalid", f"{what} must be absolute")
    if b"\0" in path:
        raise Fault("invalid", f"{what} holds a NUL character")
    return path


def open_file(path: bytes, flags: int, mode: int = 0o644) -> int:
    """os.open for a path that comes from outside; never blocks on a fifo."""
    real = resolve(path)
    return os.open(real, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, mode)


def resolve(path: bytes, *, follow_last: bool = True) -> bytes:
    """The path without links. What doesn't exist is left as it is, for the call that follows to say so."""
    todo = [part for part in path.split(b"/") if part not in (b"", b".")][::-1]
    done: list[bytes] = []
    owners: set[int] = set()
    links = 0
    while todo:
        part = todo.pop()
        if part == b"..":
            done = done[:-1]
            continue
        here = b"/" + b"/".join([*done, part])
        try:
            info = os.lstat(here)
        except (FileNotFoundError, NotADirectoryError):
            done.append(part)
            continue
        if not stat.S_ISLNK(info.st_mode) or (not todo and not follow_last):
            done.append(part)
            continue
        links += 1
        if links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(here)
        if info.st_uid != 0:
            owners.add(info.st_uid)
        if target.startswith(b"/"):
            done = []
        todo += [piece for piece in target.split(b"/") if piece not in (b"", b".")][::-1]
    real = b"/" + b"/".join(done)
    _check_owners(path, real, owners)
    return real


def _check_owners(path: bytes, real: bytes, owners: set[int]) -> None:
    if not owners or os.geteuid() != 0:
        return
    try:
        owner = os.lstat(real).st_uid
    except (FileNotFoundError, NotADirectoryError):
        owner = os.lstat(os.path.dirname(real)).st_uid
    if owners != {owner}:
        raise PermissionError(errno.EACCES, "a link leads to what its owner does not own", path)
