"""POST /digests: which bytes are anywhere in the machine, by SHA-256."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat

from . import trees, users
from .places import checked
from .programs import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .http1 import Request
    from .state import State

_SKIPPED = (b"/proc", b"/sys", b"/dev")
_PART = 1024 * 1024
_DEPTH = 200


def digests(request: Request, user: str, state: State) -> None:
    """One JSON line a file, `[path, digest]`. What can't be read is named with a null digest."""
    del state
    wanted, sizes = read_order(request)
    roots = [checked(raw(root, "root")) for root in wanted]
    with users.acting_as(user):
        for root in roots:
            os.lstat(root)
        request.start_stream("application/x-ndjson")
        lines: list[bytes] = []
        for path, digest in digest_below(roots, sizes):
            lines.append(json.dumps([path.decode("utf-8", "surrogateescape"), digest]).encode() + b"\n")
            if len(lines) >= 200:
                request.send_chunk(*lines)
                lines.clear()
        request.send_chunk(*lines)
    request.end_stream()


def read_order(request: Request) -> tuple[list[object], set[int] | None]:
    """Roots, and the sizes that are asked for (None: all)."""
    order = request.body.json()
    roots, sizes = order.get("roots"), order.get("sizes")
    if not isinstance(roots, list) or not (sizes is None or isinstance(sizes, list)):
        raise TypeError("roots must be a list of paths, and sizes one of numbers or null")
    return roots, None if sizes is None else set(map(int, sizes))


def digest_below(roots: list[bytes], sizes: set[int] | None) -> Iterator[tuple[bytes, str | None]]:
    seen: dict[tuple[int, int], str | None] = {}
    for root in roots:
        for path, directory, name, info in _files(root.rstrip(b"/")):
            if sizes is not None and info.st_size not in sizes:
                continue
            key = info.st_dev, info.st_ino
            if key not in seen:
                seen[key] = _digest(directory, name)
            yield path, seen[key]


def _files(root: bytes) -> Iterator[tuple[bytes, int | None, bytes, os.stat_result]]:
    info = os.lstat(root or b"/")
    if not stat.S_ISDIR(info.st_mode):
        if stat.S_ISREG(info.st_mode):
            yield root, None, root, info
        return
    if root in _SKIPPED:
        return
    if not root:
        for name in sorted(os.listdir(b"/")):
            yield from _files(b"/" + name)
        return
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for path, directory, name, found, _ in trees.walk(fd, b"", _DEPTH):
            if isinstance(found, os.stat_result) and stat.S_ISREG(found.st_mode):
                yield root + b"/" + path, directory, name, found
    finally:
        os.close(fd)


def _digest(directory: int | None, name: bytes) -> str | None:
    digest = hashlib.sha256()
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ELOOP):
            return None
        raise
    try:
        while data := os.read(fd, _PART):
            digest.update(data)
    finally:
        os.close(fd)
    return digest.hexdigest()
