"""Trees on the host's side of the wire: what goes up is checked for links that lead out, what comes down is hostile."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ale.computer.server import tarstream
from ale.computer.server.sparse import end_sparse, write_sparse
from ale.computer.server.tarstream import BadTar, Entry, Parser
from ale.computer.session import Collected, CollectedFile, Refusal, TreeLimits

_PART = 256 * 1024
_PATH_BYTES = 2048
"""Half of what the kernel takes: the rest is for the folder that the tree is put into, here and by later tools."""

_REFUSALS = 10_000
"""Refusals that are listed one by one; a machine that sends more is cut off."""

_SLACK = 64 * 2**20
"""Bytes of refused data that are read over before the stream is cut."""

_REASONS = frozenset({"too_large", "too_many", "too_deep", "changed", "permission", "socket", "link", "unreadable"})
_KIND_REASONS = {"link": "link", "hard link": "link", "device": "device", "fifo": "fifo", "other": "kind"}
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeReceiver:
    """Writes a tar that comes from a machine below a new host directory and keeps what is sound.

    Nothing that exists is opened or followed: every directory was made here and is entered by descriptor, every file is
    created. Feed it the stream; `cut` is true once the rest is not worth reading.
    """

    def __init__(self, destination: Path, limits: TreeLimits) -> None:
        destination.mkdir(parents=True, exist_ok=True)
        self._top = os.open(destination, _DIRECTORY)
        if any(destination.iterdir()):
            os.close(self._top)
            raise FileExistsError(f"the directory to download into is not empty: {destination}")
        self._limits = limits
        self._parser = Parser()
        self._files: dict[str, CollectedFile] = {}
        self._directories: dict[str, None] = {}
        self._refused: list[Refusal] = []
        self._total = 0
        self._read_over = 0
        self._current: _Writing | None = None
        self.cut = False

    def feed(self, data: bytes) -> None:
        if self.cut:
            return
        try:
            for item in self._parser.feed(data):
                if isinstance(item, bytes):
                    self._take_data(item)
                else:
                    self._take_entry(item)
                if self.cut:
                    return
        except BadTar as error:
            self._break_off(str(error))

    def finish(self) -> Collected:
        """To be called at the end of the stream. Raises nothing: a stream that breaks off is one more refusal."""
        if not self.cut:
            try:
                self._parser.close()
                self._end_file()
            except BadTar as error:
                self._break_off(str(error))
        files = tuple(self._files[path] for path in sorted(self._files))
        return Collected(files, tuple(sorted(self._directories)), tuple(self._refused))

    def close(self) -> None:
        if self._current is not None:
            self._current.drop()
            self._current = None
        if self._top >= 0:
            os.close(self._top)
            self._top = -1

    def _take_data(self, data: bytes) -> None:
        if self._current is not None:
            self._current.write(data)
            return
        self._read_over += len(data)
        if self._read_over > _SLACK:
            self._break_off("more refused data than is read over")

    def _take_entry(self, entry: Entry) -> None:
        self._end_file()
        try:
            path = _sound_path(entry.name, self._limits)
        except _Unsound as problem:
            self._refuse(_printable(entry.name), problem.reason, str(problem))
            return
        if entry.kind == "refused":
            self._take_refusal(path, _printable(entry.link))
        elif entry.kind == "directory":
            self._take_directory(path)
        elif entry.kind == "file":
            self._take_file(path, entry)
        else:
            detail = f"to {_printable(entry.link)}" if entry.link else ""
            self._refuse(path, _KIND_REASONS[entry.kind], detail)

    def _take_refusal(self, path: str, reason: str) -> None:
        """The machine says that it could not send this one whole; what came of it is not kept."""
        if self._files.pop(path, None) is not None:
            parent, _, name = path.rpartition("/")
            directory = self._enter(parent)
            try:
                os.unlink(name, dir_fd=directory)
            finally:
                os.close(directory)
        self._refuse(path, reason if reason in _REASONS else "unreadable")

    def _take_directory(self, path: str) -> None:
        if path in self._files:
            self._refuse(path, "duplicate", "a file has this name already")
        elif len(self._directories) + path.count("/") >= self._limits.files:
            self._refuse(path, "too_many")
        elif self._parents_are_directories(path):
            os.close(self._enter(path))

    def _take_file(self, path: str, entry: Entry) -> None:
        parent, _, name = path.rpartition("/")
        if path in self._files or path in self._directories:
            self._refuse(path, "duplicate", "this name was there already")
        elif entry.size > self._limits.file_bytes:
            self._refuse(path, "too_large", f"{entry.size} bytes; a file may have {self._limits.file_bytes}")
        elif self._total + entry.size > self._limits.total_bytes:
            self._refuse(path, "too_large", f"all together may have {self._limits.total_bytes} bytes")
        elif len(self._files) >= self._limits.files:
            self._refuse(path, "too_many", f"there may be {self._limits.files} files")
        elif self._parents_are_directories(path):
            self._total += entry.size
            self._current = _Writing(path, name, self._enter(parent), entry)

    def _parents_are_directories(self, path: str) -> bool:
        parts = path.split("/")
        for count in range(1, len(parts)):
            if "/".join(parts[:count]) in self._files:
                self._refuse(path, "duplicate", "a file has the name of its directory")
                return False
        return True

    def _end_file(self) -> None:
        if self._current is not None:
            current, self._current = self._current, None
            self._files[current.path] = current.finish()

    def _enter(self, path: str) -> int:
        """A descriptor of this directory, making what is missing of it."""
        here = os.dup(self._top)
        done = []
        for part in path.split("/") if path else ():
            done.append(part)
            name = "/".join(done)
            if name not in self._directories:
                os.mkdir(part, 0o755, dir_fd=here)
                self._directories[name] = None
            below = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        return here

    def _refuse(self, path: str, reason: str, detail: str = "") -> None:
        self._refused.append(Refusal(path, reason, detail))
        if len(self._refused) >= _REFUSALS:
            self._break_off(f"more than {_REFUSALS} entries were refused")

    def _break_off(self, why: str) -> None:
        self.cut = True
        if self._current is not None:
            self._refused.append(Refusal(self._current.path, "broken", "its data did not arrive whole"))
            self._current.drop()
            self._current = None
        self._refused.append(Refusal("", "broken", f"the rest of the tree was not read: {why}"))


class _Writing:
    """One file that is arriving."""

    def __init__(self, path: str, name: str, directory: int, entry: Entry) -> None:
        self.path = path
        self._name = name
        self._directory = directory
        self._entry = entry
        self._digest = hashlib.sha256()
        self._executable = bool(entry.mode & 0o111)
        self._left = entry.size
        try:
            self._fd = os.open(name, _NEW_FILE, 0o755 if self._executable else 0o644, dir_fd=directory)
        except OSError:
            os.close(directory)
            raise

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._left -= len(data)
        write_sparse(self._fd, data)

    def finish(self) -> CollectedFile:
        if self._left:
            raise BadTar("a file is shorter than it said")
        end_sparse(self._fd)
        self._close()
        return CollectedFile(self.path, self._entry.size, self._digest.hexdigest(), self._executable)

    def drop(self) -> None:
        os.unlink(self._name, dir_fd=self._directory)
        self._close()

    def _close(self) -> None:
        os.close(self._fd)
        os.close(self._directory)


class _Unsound(ValueError):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _sound_path(name: bytes, limits: TreeLimits) -> str:
    name = name.removesuffix(b"/")
    while name.startswith(b"./"):
        name = name[2:]
    if name.startswith(b"/"):
        raise _Unsound("name", "it is absolute")
    if len(name) > _PATH_BYTES:
        raise _Unsound("name", f"it has {len(name)} bytes")
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unsound("name", "it is not UTF-8") from error
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise _Unsound("name", "it has an empty, dotted or NUL part")
    if any(len(part.encode()) > limits.name_bytes for part in parts):
        raise _Unsound("name", f"a part of it has more than {limits.name_bytes} bytes")
    if len(parts) > limits.depth:
        raise _Unsound("too_deep", f"it lies deeper than {limits.depth} levels")
    return path


def _printable(name: bytes) -> str:
    """A hostile name for a report: bounded, and without what a terminal would obey."""
    text = name[:_PATH_BYTES].decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def pack(source: Path) -> Iterator[bytes]:
    """The tar of a host file or directory, piece by piece. Links are followed if they stay inside `source`."""
    top = source.resolve(strict=True)
    buffer = bytearray()
    for piece in _pack(top, top, source.name.encode("utf-8", "surrogateescape"), (top,)):
        buffer += piece
        if len(buffer) >= _PART:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer + tarstream.END)


def _pack(path: Path, top: Path, name: bytes, above: tuple[Path, ...]) -> Iterator[bytes]:
    info = path.stat()
    if stat.S_ISREG(info.st_mode):
        yield from _pack_file(path, name)
        return
    if not stat.S_ISDIR(info.st_mode):
        raise ValueError(f"only files and directories are uploaded, and this is neither: {path}")
    is_top = len(above) == 1
    if not is_top:
        yield tarstream.header(tarstream.DIRECTORY, name, mode=info.st_mode, mtime=int(info.st_mtime))
    for child in sorted(path.iterdir()):
        real = child.resolve(strict=True)
        if not real.is_relative_to(top):
            raise ValueError(f"a link leads out of the tree that is uploaded: {child}")
        if real in above:
            raise ValueError(f"a link leads back to a directory above it: {child}")
        inner = os.fsencode(child.name)
        yield from _pack(real, top, inner if is_top else name + b"/" + inner, (*above, real))


def _pack_file(path: Path, name: bytes) -> Iterator[bytes]:
    with path.open("rb") as file:
        info = os.fstat(file.fileno())
        yield tarstream.header(tarstream.FILE, name, size=info.st_size, mode=info.st_mode, mtime=int(info.st_mtime))
        left = info.st_size
        while left:
            data = file.read(min(left, _PART))
            if not data:
                raise OSError(f"the file became shorter while it was uploaded: {path}")
            left -= len(data)
            yield data
        yield tarstream.padding(info.st_size)
