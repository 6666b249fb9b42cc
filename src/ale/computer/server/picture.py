"""PNG with what the standard library has: the fastest compression, since a picture is looked at once."""

from __future__ import annotations

import struct
import zlib


def png(pixels: bytes | bytearray, width: int, height: int) -> bytes:
    """pixels: red, green, blue, row after row."""
    stride = 3 * width
    view = memoryview(pixels)
    packer = zlib.compressobj(1)
    rows = (b"\0" + bytes(view[row * stride : (row + 1) * stride]) for row in range(height))
    parts = [*map(packer.compress, rows), packer.flush()]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", b"".join(parts)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
