"""Whole directories, walked by descriptors: a name that is swapped for a link meanwhile leads nowhere."""

from __future__ import annotations

import os
import stat

from .sparse import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = 1024 * 1024
_DEEP = 200
"""Levels that are walked by descriptors held open; deeper trees are flattened (delete) or cut (walk)."""


def delete(path: bytes) -> None:
    """Delete a file, a link or a whole tree, however deep. What isn't there is no error."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(info.st_mode):
        os.unlink(path)
        return
    fd = os.open(path, _DIRECTORY)
    try:
        empty(fd)
    finally:
        os.close(fd)
    os.rmdir(path)


def empty(top: int) -> None:
    """Delete everything below an open directory. Too deep a directory is first moved to the top, so a nest of any
    depth needs few descriptors."""
    moved = 0
    again = True
    while again:
        again = False
        for name, is_directory in _entries(top):
            if is_directory:
                moved, deeper = _empty_below(top, top, name, 1, moved)
                again = again or deeper
            else:
                os.unlink(name, dir_fd=top)


def _empty_below(top: int, parent: int, name: bytes, depth: int, moved: int) -> tuple[int, bool]:
    fd = _open_own(parent, name)
    deeper = False
    try:
        for inner, is_directory in _entries(fd):
            if not is_directory:
                os.unlink(inner, dir_fd=fd)
            elif depth < _DEEP:
                moved, found = _empty_below(top, fd, inner, depth + 1, moved)
                deeper = deeper or found
            else:
                os.rename(inner, b".ale-%d-%d" % (os.getpid(), moved), src_dir_fd=fd, dst_dir_fd=top)
                moved, deeper = moved + 1, True
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)
    return moved, deeper


def _open_own(parent: int, name: bytes) -> int:
    """Open a directory, if need be after giving its owner the right to."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=True)
        return os.open(name, _DIRECTORY, dir_fd=parent)


def _entries(fd: int) -> list[tuple[bytes, bool]]:
    with os.scandir(fd) as found:
        return [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found]


def copy(source: bytes, target: bytes) -> None:
    """Copy a file or a tree to exactly this name; links are copied as links. The target's parent must exist."""
    info = os.lstat(source)
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISDIR(info.st_mode):
        if target.startswith(source.rstrip(b"/") + b"/"):
            raise ValueError("a directory can't be copied into itself")
        _copy_directory(source, target, stat.S_IMODE(info.st_mode))
    elif stat.S_ISREG(info.st_mode):
        _copy_file(source, target)
    else:
        raise ValueError("only files, directories and links are copied")


def _copy_directory(source: bytes, target: bytes, mode: int) -> None:
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        copy(source + b"/" + name, target + b"/" + name)
    os.chmod(target, mode & 0o777)


def _copy_file(source: bytes, target: bytes) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        mode = stat.S_IMODE(os.fstat(reader).st_mode) & 0o777
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            copy_bytes(reader, writer)
            if os.fstat(writer).st_uid == os.geteuid():
                os.fchmod(writer, mode)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def copy_bytes(reader: int, writer: int) -> None:
    while data := os.read(reader, _PART):
        write_all(writer, data)


def walk(fd: int, prefix: bytes, depth: int) -> Iterator[tuple[bytes, int, bytes, os.stat_result | OSError, bool]]:
    """(path, directory, name, what lstat said, whether it is too deep to enter) of everything below, parents first, in
    order of name. `directory` is open only while its item is looked at."""
    try:
        names = sorted(name for name, _ in _entries(fd))
    except OSError as error:
        yield prefix, fd, b"", error, False
        return
    for name in names:
        path = prefix + b"/" + name if prefix else name
        try:
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as error:
            yield path, fd, name, error, False
            continue
        is_directory = stat.S_ISDIR(info.st_mode)
        yield path, fd, name, info, is_directory and depth <= 1
        if is_directory and depth > 1:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=fd)
            except OSError as error:
                yield path, fd, name, error, False
                continue
            try:
                yield from walk(below, path, depth - 1)
            finally:
                os.close(below)
