"""The way to one machine: an endpoint, a small pool of connections, and the one place where a broken wire becomes
`SandboxLost`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

import anyio

from ale.computer import answers
from ale.computer.endpoint import Endpoint
from ale.computer.paths import User
from ale.computer.wire import JSON_LIMIT, Answer, Connection, WireError, dial
from ale.errors import SandboxLost

PATIENCE = 120.0
"""Seconds without a byte after which a machine counts as lost, where nothing else is said."""

_IDLE = 8
"""Connections that are kept for the next call; each is a process inside the machine."""

Query = Mapping[str, str | int | bool | None]


class Machine:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle: list[Connection] = []
        self._closed = False

    async def aclose(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().aclose()

    async def call(
        self,
        method: str,
        path: str,
        user: User,
        *,
        query: Query | None = None,
        body: bytes = b"",
        limit: int = JSON_LIMIT,
        patience: float | None = PATIENCE,
    ) -> bytes:
        """One request with a small body, and its whole answer. Raises what the server's typed error stands for."""
        async with self.connection(patience) as connection:
            head = self.head(method, path, user, query, f"Content-Length: {len(body)}")
            await connection.send(head + body)
            answer = await connection.read_answer()
            data = await connection.read_all(answer, limit)
        if answer.status >= 400:
            raise self._failure(answer, data)
        return data

    def head(self, method: str, path: str, user: User, query: Query | None, length: str) -> bytes:
        pairs = [
            f"{name}={quote(_text(value), safe='', encoding='utf-8', errors='surrogateescape')}"
            for name, value in (query or {}).items()
            if value is not None and value is not False
        ]
        target = path + ("?" + "&".join(pairs) if pairs else "")
        return (
            f"{method} {target} HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer {self.endpoint.token}\r\n"
            f"Ale-User: {user}\r\n{length}\r\n\r\n"
        ).encode("latin-1")

    @asynccontextmanager
    async def connection(self, patience: float | None = PATIENCE) -> AsyncIterator[Connection]:
        """A connection for one exchange; it goes back to the pool if that was completed, and is closed otherwise."""
        connection: Connection | None = None
        try:
            connection = await self._take(patience)
            connection.patience = patience
            yield connection
        except WireError as error:
            if connection is not None:
                await connection.aclose()
            raise SandboxLost(self.endpoint.sandbox, str(error)) from error
        finally:
            if connection is not None:
                await self._give_back(connection)

    async def check(self, connection: Connection, answer: Answer) -> None:
        """Raise what an answer with an error status stands for."""
        if answer.status >= 400:
            raise self._failure(answer, await connection.read_all(answer))

    def _failure(self, answer: Answer, body: bytes) -> Exception:
        try:
            return answers.as_exception(answer.status, body)
        except WireError as error:
            return SandboxLost(self.endpoint.sandbox, str(error))

    async def _take(self, patience: float | None) -> Connection:
        if self._closed:
            raise WireError("this Session is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.alive:
                return connection
            await connection.aclose()
        with anyio.move_on_after(patience):
            return await dial(self.endpoint)
        raise WireError(f"no connection to its server within {patience:g} s")

    async def _give_back(self, connection: Connection) -> None:
        if connection.usable and not connection.busy and not self._closed and len(self._idle) < _IDLE:
            self._idle.append(connection)
        elif connection.usable:
            await connection.aclose()


def _text(value: str | int | bool | None) -> str:
    if value is True:
        return "1"
    text = str(value)
    if "\0" in text:
        raise ValueError("a path holds no NUL character")
    return text
