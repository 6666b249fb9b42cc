"""GET and PUT /file, POST /fs: single files and what can be done to names."""

from __future__ import annotations

import errno
import os
import stat

from . import trees, users
from .faults import Fault
from .places import checked, open_file, resolve
from .programs import raw
from .sparse import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import Request
    from .state import State

_PART = 1024 * 1024


def read_file(request: Request, user: str, state: State) -> None:
    del state
    path = checked(request.query.get("path", b""))
    offset, length = request.number("offset", 0), request.number("length", 2**62)
    with users.acting_as(user):
        fd = open_file(path, os.O_RDONLY)
    try:
        info = os.fstat(fd)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(info.st_mode):
            raise Fault("invalid", "only regular files are read")
        os.lseek(fd, min(offset, 2**62), os.SEEK_SET)
        request.start_stream("application/octet-stream")
        while length and (data := os.read(fd, min(length, _PART))):
            length -= len(data)
            request.send_chunk(data)
        request.end_stream()
    finally:
        os.close(fd)


def write_file(request: Request, user: str, state: State) -> None:
    del state
    path = checked(request.query.get("path", b""))
    flags = os.O_APPEND if request.flag("append") else os.O_TRUNC
    with users.acting_as(user):
        fd = open_file(path, os.O_WRONLY | os.O_CREAT | flags)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Fault("invalid", "only regular files are written")
        while data := request.body.read():
            write_all(fd, data)
    finally:
        os.close(fd)
    request.answer({})


def operate(request: Request, user: str, state: State) -> None:
    del state
    with users.acting_as(user):
        answer = perform(request.body.json())
    request.answer(answer)


def perform(order: dict[str, object]) -> dict[str, object]:
    """One operation on names, by its JSON order."""
    operation = _OPERATIONS.get(str(order.get("op")))
    if operation is None:
        raise Fault("unsupported", f"there is no file operation {str(order.get('op'))[:50]!r}")
    to = order.get("to")
    target = b"" if to is None else checked(raw(to, "to"), "to")
    return operation(checked(raw(order.get("path"), "path")), target)


def _stat(path: bytes, _: bytes) -> dict[str, object]:
    try:
        return {"info": _info(os.path.basename(path), os.stat(resolve(path)))}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {"info": None}  # what may not be seen is not there


def _list(path: bytes, _: bytes) -> dict[str, object]:
    return {"names": [name.decode("utf-8", "surrogateescape") for name in sorted(os.listdir(resolve(path)))]}


def _scan(path: bytes, _: bytes) -> dict[str, object]:
    with os.scandir(resolve(path)) as entries:
        found = [_info(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    return {"entries": sorted(found, key=lambda info: str(info["name"]))}


def _info(name: bytes, info: os.stat_result) -> dict[str, object]:
    return {
        "name": name.decode("utf-8", "surrogateescape"),
        "kind": kind_of(info.st_mode),
        "size": info.st_size,
        "mode": stat.S_IMODE(info.st_mode),
        "uid": info.st_uid,
        "mtime": info.st_mtime,
    }


def kind_of(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _make_directory(path: bytes, _: bytes) -> dict[str, object]:
    os.makedirs(resolve(path), exist_ok=True)
    return {}


def _delete(path: bytes, _: bytes) -> dict[str, object]:
    trees.delete(resolve(path, follow_last=False))
    return {}


def _copy(path: bytes, to: bytes) -> dict[str, object]:
    trees.copy(resolve(path), resolve(to, follow_last=False))
    return {}


def _move(path: bytes, to: bytes) -> dict[str, object]:
    source, target = resolve(path, follow_last=False), resolve(to, follow_last=False)
    try:
        os.rename(source, target)
    except OSError as error:
        # A directory that lies in a lower layer of an overlay can't be renamed, only copied.
        if error.errno != errno.EXDEV:
            raise
        trees.copy(source, target)
        trees.delete(source)
    return {}


_OPERATIONS = {
    "stat": _stat,
    "list": _list,
    "scan": _scan,
    "make_directory": _make_directory,
    "delete": _delete,
    "copy": _copy,
    "move": _move,
}
