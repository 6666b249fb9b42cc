"""The gateway process: takes orders from its conductor on file descriptor 0 and keeps one door for each run.

It ends when the conductor closes the line or dies, so none is ever left behind.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections import deque
from typing import Any

from ale.gateway.backend import Backend
from ale.gateway.control import Receiver, line
from ale.gateway.door import Door
from ale.gateway.models import open_backend
from ale.gateway.spec import DoorSpec, from_json, to_json


class Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._receiver = Receiver(control)
        self._doors: dict[str, Door] = {}
        self._outgoing: deque[bytes] = deque()
        self._to_send = asyncio.Event()
        self._orders: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Until the conductor hangs up; then every door is closed and every transcript is on disk."""
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)
        loop.add_reader(self._control, self._receive)
        sender = asyncio.create_task(self._send())
        self._tell({"event": "ready"})
        await self._ended.wait()
        loop.remove_reader(self._control)
        sender.cancel()
        for order in self._orders:
            order.cancel()
        await asyncio.gather(*self._orders, return_exceptions=True)
        await asyncio.gather(*(door.close() for door in self._doors.values()), return_exceptions=True)

    def _receive(self) -> None:
        try:
            for message in self._receiver.receive():
                listener = self._receiver.sockets.popleft() if message["order"] == "open" else None
                order = asyncio.create_task(self._obey(message, listener))
                self._orders.add(order)
                order.add_done_callback(self._orders.discard)
        except BlockingIOError:
            return
        except (EOFError, OSError):
            self._ended.set()

    async def _obey(self, message: dict[str, Any], listener: socket.socket | None) -> None:
        answer: dict[str, Any] = {"answer": message["id"]}
        try:
            if listener is not None:
                answer["token"] = await self._open(message["door"], from_json(DoorSpec, message["spec"]), listener)
            else:
                answer["report"] = to_json(await self._doors.pop(message["door"]).close())
        except Exception as error:  # noqa: BLE001 - the boundary: whatever went wrong, the conductor must hear of it
            answer["error"] = {"kind": type(error).__name__, "message": str(error)}
            if listener is not None:
                listener.close()
        self._tell(answer)

    async def _open(self, name: str, spec: DoorSpec, listener: socket.socket) -> str:
        backend: Backend = await asyncio.to_thread(open_backend, spec.backend)
        door = Door(spec, backend, lambda event: self._tell({**event, "door": name}))
        try:
            await door.open(listener)
        except BaseException:
            await door.close()
            raise
        self._doors[name] = door
        return door.token

    def _tell(self, message: dict[str, Any]) -> None:
        self._outgoing.append(line(message))
        self._to_send.set()

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._to_send.wait()
                self._to_send.clear()
                while self._outgoing:
                    await loop.sock_sendall(self._control, self._outgoing.popleft())
        except OSError:
            self._ended.set()


def serve(control: socket.socket) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def main() -> None:
        await Server(control).run()

    asyncio.run(main())
