"""The line between conductor and gateway: JSON lines over a Unix socket pair, listening sockets beside them."""

from __future__ import annotations

import array
import json
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any

_FDS = 16
_CHUNK = 256 * 2**10


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


class Receiver:
    """Takes apart what arrives. A descriptor comes with the first byte of its message, so by the time a message is
    whole its descriptor is at the head of `sockets`."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pending = bytearray()
        self.sockets: deque[socket.socket] = deque()

    def receive(self) -> Iterator[dict[str, Any]]:
        """The messages that one read completes. Raises BlockingIOError when there is nothing, EOFError at the end."""
        data, ancillary, _, _ = self._control.recvmsg(_CHUNK, socket.CMSG_SPACE(_FDS * 4))
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                self.sockets.extend(socket.socket(fileno=fd) for fd in fds)
        if not data:
            raise EOFError
        self._pending += data
        if b"\n" not in data:
            return
        *whole, rest = bytes(self._pending).split(b"\n")
        self._pending = bytearray(rest)
        for text in whole:
            yield json.loads(text)
