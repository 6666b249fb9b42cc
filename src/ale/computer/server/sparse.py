"""Writing files of which large parts may be nothing: a hole costs nothing on either side of the wire."""

from __future__ import annotations

import os

_BLOCK = 4096
_ZEROS = bytes(_BLOCK)


def write_sparse(fd: int, data: bytes) -> None:
    """Blocks of zeros become holes. `end_sparse` has to follow the last piece."""
    begin = 0  # of what is to be written
    at = _BLOCK - os.lseek(fd, 0, os.SEEK_CUR) % _BLOCK if len(data) > _BLOCK else len(data)
    previous = 0
    while previous < len(data):
        if _ZEROS.startswith(data[previous:at]):
            write_all(fd, memoryview(data)[begin:previous])
            os.lseek(fd, min(at, len(data)) - previous, os.SEEK_CUR)
            begin = min(at, len(data))
        previous, at = at, at + _BLOCK
    write_all(fd, memoryview(data)[begin:])


def end_sparse(fd: int) -> None:
    """The file is as long as what was written, also when that ends in a hole."""
    os.ftruncate(fd, os.lseek(fd, 0, os.SEEK_CUR))


def write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
