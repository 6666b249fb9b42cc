"""Frames: one byte kind, four bytes big-endian length, payload."""

from __future__ import annotations

SPEC, STDIN, RESIZE, KILL = b"J", b"I", b"R", b"K"
STDOUT, STDERR, EXIT, TREE = b"O", b"E", b"X", b"T"

MAX_FRAME = 16 * 2**20


def header(kind: bytes, size: int) -> bytes:
    return kind + size.to_bytes(4, "big")


class Frames:
    """Collects bytes as they arrive and yields whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> tuple[bytes, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 5:
            return None
        size = int.from_bytes(buffer[1:5], "big")
        if size > MAX_FRAME:
            raise ValueError(f"a frame may hold {MAX_FRAME} bytes, not {size}")
        if len(buffer) < 5 + size:
            return None
        kind, payload = bytes(buffer[:1]), bytes(buffer[5 : 5 + size])
        del buffer[: 5 + size]
        return kind, payload
