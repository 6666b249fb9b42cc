"""GET and PUT /tree: whole trees as one tar stream, in constant memory, without a temporary file."""

from __future__ import annotations

import errno
import os
import stat

from . import tarstream, trees, users
from .faults import Fault
from .places import checked, resolve
from .sparse import end_sparse, write_sparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .http1 import Request
    from .state import State

_PART = 256 * 1024
_MAX_DEPTH = 200
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def send_tree(request: Request, user: str, state: State) -> None:
    del state
    path = resolve(checked(request.query.get("path", b"")))
    limits = Limits(
        request.number("total_bytes", 2**62), request.number("file_bytes", 2**62), request.number("files", 2**62)
    )
    depth = min(request.number("depth", _MAX_DEPTH), _MAX_DEPTH)
    with users.acting_as(user):
        top = os.open(path, _OPEN)
        try:
            is_directory = stat.S_ISDIR(os.fstat(top).st_mode)
            request.start_stream("application/x-tar")
            sender = TreeSender(request.send_chunk, limits)
            if is_directory:
                sender.send_directory(top, depth)
            else:
                sender.send_file(os.path.basename(path), top)
            sender.finish()
        finally:
            os.close(top)
    request.end_stream()


class Limits:
    """What is left of the bytes and files that may be sent."""

    def __init__(self, total_bytes: int, file_bytes: int, files: int) -> None:
        self.total_bytes = total_bytes
        self.file_bytes = file_bytes
        self.files = files

    def refuse(self, size: int) -> bytes:
        """Why a file of this size is not sent; b"" when it is, and then it counts."""
        if size > self.file_bytes or size > self.total_bytes:
            return b"too_large"
        if self.files <= 0:
            return b"too_many"
        self.total_bytes -= size
        self.files -= 1
        return b""


class TreeSender:
    def __init__(self, send: Callable[[bytes], None], limits: Limits) -> None:
        self._send = send
        self._limits = limits
        self._buffer = bytearray()

    def send_directory(self, top: int, depth: int) -> None:
        most = 2 * self._limits.files + 1000
        for number, (path, directory, name, info, too_deep) in enumerate(trees.walk(top, b"", depth)):
            if number >= most:
                self._refuse(path, b"too_many")
                return
            if isinstance(info, OSError):
                self._refuse(path, _reason(info))
            elif stat.S_ISDIR(info.st_mode):
                self._write(tarstream.header(tarstream.DIRECTORY, path, mode=info.st_mode, mtime=int(info.st_mtime)))
                if too_deep:
                    self._refuse(path, b"too_deep")
            elif stat.S_ISREG(info.st_mode):
                self._send_named(path, directory, name)
            else:
                self._send_special(path, directory, name, info)

    def send_file(self, path: bytes, fd: int) -> None:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            self._send_special(path, -1, b"", info)
            return
        if reason := self._limits.refuse(info.st_size):
            self._refuse(path, reason)
            return
        self._write(
            tarstream.header(tarstream.FILE, path, size=info.st_size, mode=info.st_mode, mtime=int(info.st_mtime))
        )
        left, problem = info.st_size, b""
        while left:
            try:
                data = os.read(fd, min(left, _PART))
            except OSError as error:
                data, problem = b"", _reason(error)
            if not data:
                break
            self._write(data)
            left -= len(data)
        if left:
            self._fill(left)
            self._refuse(path, problem or b"changed")
        self._write(tarstream.padding(info.st_size))

    def finish(self) -> None:
        self._write(tarstream.END)
        self._flush()

    def _send_named(self, path: bytes, directory: int, name: bytes) -> None:
        try:
            fd = os.open(name, _OPEN, dir_fd=directory)
        except OSError as error:
            self._refuse(path, _reason(error))
            return
        try:
            self.send_file(path, fd)
        finally:
            os.close(fd)

    def _send_special(self, path: bytes, directory: int, name: bytes, info: os.stat_result) -> None:
        """What the other side will list as refused, under its own kind."""
        mode = info.st_mode
        if stat.S_ISLNK(mode):
            try:
                target = os.readlink(name, dir_fd=directory)
            except OSError as error:
                self._refuse(path, _reason(error))
                return
            self._write(tarstream.header(tarstream.LINK, path, link=target))
        elif stat.S_ISFIFO(mode):
            self._write(tarstream.header(tarstream.FIFO, path))
        elif stat.S_ISSOCK(mode):
            self._refuse(path, b"socket")
        else:
            self._write(tarstream.header(tarstream.CHARACTER, path))

    def _refuse(self, path: bytes, reason: bytes) -> None:
        self._write(tarstream.header(tarstream.REFUSED, path, link=reason))

    def _fill(self, left: int) -> None:
        zeros = b"\0" * _PART
        while left:
            part = zeros[: min(left, _PART)]
            self._write(part)
            left -= len(part)

    def _write(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) >= _PART:
            self._flush()

    def _flush(self) -> None:
        self._send(bytes(self._buffer))
        self._buffer.clear()


def _reason(error: OSError) -> bytes:
    known = {errno.EACCES: b"permission", errno.EPERM: b"permission", errno.ELOOP: b"link", errno.ENOENT: b"changed"}
    return known.get(error.errno or 0, b"unreadable")


def receive_tree(request: Request, user: str, state: State, *, own: bool = False) -> None:
    """Below `path` no link is followed: one that is in the way is replaced, like any file of that name."""
    del state
    path = resolve(checked(request.query.get("path", b"")), follow_last=False)
    read_only, private = request.flag("read_only"), request.flag("private")
    owner = request.query.get("owner", b"").decode() or ("root" if read_only else user)
    uid = os.geteuid() if own else users.UIDS[users.check_user(owner)]
    if user != "root" and (owner != user or read_only):
        raise Fault("permission", "only root gives files to other users", 403)
    with users.acting_as(user):
        _make_parents(os.path.dirname(path), 0o700 if private else 0o755)
        writer = TreeWriter(path, request.query.get("kind") == b"file", uid, read_only=read_only, private=private)
        try:
            parser = tarstream.Parser()
            while data := request.body.read():
                for item in parser.feed(data):
                    writer.take(item)
            parser.close()
            writer.finish()
        finally:
            writer.close()
    request.answer({})


class TreeWriter:
    def __init__(self, path: bytes, single: bool, uid: int, *, read_only: bool, private: bool) -> None:
        self._uid = uid
        self._own = uid == os.geteuid()
        self._mask = (0o555 if read_only else 0o755) & (0o700 if private else 0o755)
        self._single = os.path.basename(path) if single else b""
        self._file = -1
        self._place = b""
        self._here = -1
        self._directories: list[tuple[bytes, int]] = []
        if not single:
            _make_directory(path, -1)
        self._top = os.open(os.path.dirname(path) if single else path, _DIRECTORY)
        if not single:
            self._directories.append((b"", 0o755))

    def take(self, item: tarstream.Entry | bytes) -> None:
        if isinstance(item, bytes):
            if self._file >= 0:
                write_sparse(self._file, item)
            return
        self._end_file()
        parts = [self._single] if self._single else _parts(item.name)
        if item.kind == "directory":
            self._enter(parts[:-1])
            _make_directory(parts[-1], self._here)
            self._directories.append((b"/".join(parts), item.mode | 0o755))
        elif item.kind == "file":
            self._enter(parts[:-1])
            _clear(parts[-1], self._here)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(parts[-1], flags, 0o600, dir_fd=self._here)
            self._finish_mode = (0o755 if item.mode & 0o111 else 0o644) & self._mask
        else:
            raise Fault("invalid", "an upload holds files and directories only")

    def finish(self) -> None:
        """Directories get their owner and mode last: a read-only one could not have been filled by its owner."""
        self._end_file()
        for path, mode in reversed(self._directories):
            fd = self._open(path.split(b"/") if path else [])
            try:
                self._settle(fd, mode & self._mask)
            finally:
                os.close(fd)

    def close(self) -> None:
        for fd in (self._file, self._here, self._top):
            if fd >= 0:
                os.close(fd)

    def _end_file(self) -> None:
        if self._file >= 0:
            end_sparse(self._file)
            self._settle(self._file, self._finish_mode)
            os.close(self._file)
            self._file = -1

    def _settle(self, fd: int, mode: int) -> None:
        if not self._own:
            os.fchown(fd, self._uid, self._uid)
        os.fchmod(fd, mode)

    def _enter(self, parts: list[bytes]) -> None:
        place = b"/".join(parts)
        if self._here >= 0 and place == self._place:
            return
        fd = self._open(parts)
        if self._here >= 0:
            os.close(self._here)
        self._here, self._place = fd, place

    def _open(self, parts: list[bytes]) -> int:
        fd = os.dup(self._top)
        for part in parts:
            below = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        return fd


def _parts(name: bytes) -> list[bytes]:
    parts = name.rstrip(b"/").split(b"/")
    if any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise Fault("invalid", "an upload's names are relative and plain")
    return parts


def _make_parents(path: bytes, mode: int) -> None:
    try:
        os.makedirs(path, mode=mode, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from error


def _make_directory(name: bytes, at: int) -> None:
    directory = None if at < 0 else at
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=directory)
            os.mkdir(name, 0o755, dir_fd=directory)


def _clear(name: bytes, at: int) -> None:
    try:
        os.unlink(name, dir_fd=at)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EISDIR or (error.errno == errno.EPERM and _is_directory(name, at)):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name) from error
        raise


def _is_directory(name: bytes, at: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
