"""HTTP/1.1 as the Session speaks it to a computer server, whose every byte is bounded: a machine may be hostile."""

from __future__ import annotations

import os
import select
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import SocketAttribute, SocketStream

from ale.computer.endpoint import Endpoint

A = TypeVar("A")
R = TypeVar("R")

HEAD_LIMIT = 64 * 1024
JSON_LIMIT = 64 * 2**20
_READ = 256 * 1024
_SOCKET_PATH = 107
"""Bytes that the path of a Unix socket may have."""


class WireError(Exception):
    """The connection failed or the other side does not speak the protocol; the text is the evidence."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]


class Connection:
    """One keep-alive connection. `usable` says whether another request may follow; `busy` is true from a request's
    first byte to its answer's last. patience: seconds without a byte after which the other side counts as lost."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self.usable = True
        self.busy = False
        self.patience: float | None = None

    @property
    def alive(self) -> bool:
        """Whether an idle connection is still open: nothing may be there to read on it."""
        sock = self._stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no database here
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return not poll.poll(0)

    async def send(self, data: bytes) -> None:
        self.busy = True
        try:
            await self._patiently(self._stream.send, data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise WireError("the connection broke while sending") from error

    async def send_chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    async def end_chunks(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def read_answer(self) -> Answer:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT:
                raise WireError("the answer's head is too long")
            await self._fill()
        lines = self._take(end + 4)[:-4].decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        if version != "HTTP/1.1" or not rest[:3].isdigit():
            raise WireError("the answer is not HTTP/1.1")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        if headers.get("connection", "").lower() == "close":
            self.usable = False
        return Answer(int(rest[:3]), headers)

    def body(self, answer: Answer) -> Body:
        chunked = answer.headers.get("transfer-encoding", "").lower() == "chunked"
        return Body(self, None if chunked else _whole(answer.headers.get("content-length", "0"), 10))

    async def read_all(self, answer: Answer, limit: int = JSON_LIMIT) -> bytes:
        data = bytearray()
        body = self.body(answer)
        while part := await body.read():
            data += part
            if len(data) > limit:
                raise WireError(f"an answer is longer than {limit} bytes")
        return bytes(data)

    async def aclose(self) -> None:
        self.usable = False
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await anyio.aclose_forcefully(self._stream)

    async def take_some(self, limit: int) -> bytes:
        if not self._buffer:
            await self._fill()
        return self._take(min(limit, len(self._buffer)))

    async def line(self) -> str:
        while (end := self._buffer.find(b"\r\n", 0, 64)) < 0:
            if len(self._buffer) > 64:
                raise WireError("a chunk has no length")
            await self._fill()
        return self._take(end + 2)[:-2].decode("latin-1")

    async def _fill(self) -> None:
        try:
            self._buffer += await self._patiently(self._stream.receive, _READ)
        except anyio.EndOfStream as error:
            raise WireError("the connection was closed from inside") from error
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise WireError("the connection broke while receiving") from error

    async def _patiently(self, operation: Callable[[A], Awaitable[R]], argument: A) -> R:
        if self.patience is None:
            return await operation(argument)
        with anyio.move_on_after(self.patience):
            return await operation(argument)
        raise WireError(f"it has been silent for {self.patience:g} s")

    def _take(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data


class Body:
    """An answer's body. Reading may be cancelled and taken up again: all state is kept between two reads."""

    def __init__(self, connection: Connection, length: int | None) -> None:
        self._connection = connection
        self._chunked = length is None
        self._left = length or 0
        self._between = False
        self._done = length == 0

    async def read(self) -> bytes:
        """The next piece, b"" at the end."""
        while not self._done:
            if self._left:
                part = await self._connection.take_some(self._left)
                self._left -= len(part)
                if not self._left:
                    self._between, self._done = True, not self._chunked
                return part
            if self._between:
                if await self._connection.line():
                    raise WireError("a chunk does not end where it said")
                self._between = False
            self._left = _whole(await self._connection.line(), 16)
            if not self._left:
                # No trailers: what follows the last length is one empty line.
                self._between, self._chunked, self._done = False, False, True
                if await self._connection.line():
                    raise WireError("an answer has trailers")
        self._connection.busy = False
        return b""


async def dial(endpoint: Endpoint) -> Connection:
    try:
        if endpoint.socket is not None:
            async with _reachable(endpoint.socket) as path:
                return Connection(await anyio.connect_unix(path))
        if endpoint.address is None:
            raise ValueError("an Endpoint has a socket or an address")
        host, port = endpoint.address
        return Connection(await anyio.connect_tcp(host, port))
    except OSError as error:
        raise WireError(f"no connection to its server: {error.strerror or error}") from error


@asynccontextmanager
async def _reachable(path: str) -> AsyncIterator[str]:
    """The path, or a short name for it where the kernel would refuse its length."""
    if len(os.fsencode(path)) <= _SOCKET_PATH:
        yield path
        return
    place = Path(path)
    directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{place.name}"
    finally:
        os.close(directory)


def _whole(text: str, base: int) -> int:
    digits = "0123456789abcdefABCDEF" if base == 16 else "0123456789"
    if not text or len(text) > 18 or text.strip(digits):
        raise WireError("a length is not a number")
    return int(text, base)
