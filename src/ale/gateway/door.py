"""One run's door: it serves the run's agent on one listening socket, from `open` to `close`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from aiohttp import web

from ale.errors import InfrastructureError
from ale.gateway.backend import Backend
from ale.gateway.exchange import MAX_BODY, DoorState, Exchange
from ale.gateway.spec import DoorReport, DoorSpec

MAX_CONNECTIONS = 128
"""Open connections of one run, to within the hundred that are accepted in one go. Further ones are closed at once, so
that no run can use up the gateway's descriptors."""

LAST_WORDS = 5.0
"""Seconds that calls which are broken off at the close may take to be recorded."""


class Door:
    """tell: sends an event to the conductor; never waits.

    Raises UsageError when the backend has nothing for this run, FileExistsError when the folder has a transcript."""

    def __init__(self, spec: DoorSpec, backend: Backend, tell: Callable[[dict[str, Any]], None]) -> None:
        self._state = DoorState(spec, backend, tell)
        self._active: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._server: asyncio.Server | None = None

    @property
    def token(self) -> str:
        return self._state.token

    async def open(self, listener: socket.socket) -> None:
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app,
            handle_signals=False,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=3600,
            max_line_size=8190,
            max_field_size=16_384,
        )
        await self._runner.setup()
        serve = self._runner.server
        assert serve is not None

        def accept() -> asyncio.Protocol:
            return serve() if len(serve.connections) < MAX_CONNECTIONS else _TurnedAway()

        listener.setblocking(False)
        self._server = await asyncio.get_running_loop().create_server(accept, sock=listener)

    async def close(self) -> DoorReport:
        """Calls under way are broken off and recorded; the transcript is on disk when this returns.

        Raises InfrastructureError if the record could not be written."""
        if self._server is not None:
            self._server.close()
        for task in self._active:
            task.cancel()
        if self._active:
            await asyncio.wait(self._active, timeout=LAST_WORDS)
        if self._runner is not None:
            await self._runner.cleanup()
        self._state.writer.close()
        if self._state.broken:
            raise InfrastructureError(self._state.broken)
        return self._state.report()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/" and request.method in ("GET", "HEAD"):
            return web.Response(text="ok\n")
        task = asyncio.current_task()
        assert task is not None
        self._active.add(task)
        exchange = Exchange(self._state, request)
        try:
            return await exchange.serve()
        finally:
            self._active.discard(task)
            exchange.record()


class _TurnedAway(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
