"""The conductor's side: starts the gateway process, opens doors in it, and notices its death."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import Process, TaskGroup

import ale
from ale.errors import AleError, GatewayLost, InfrastructureError, UsageError
from ale.gateway.control import Receiver, line
from ale.gateway.spec import CallEvent, DoorReport, DoorSpec, LimitReached, Limits, from_json, to_json

__all__ = ["CallEvent", "Door", "DoorReport", "DoorSpec", "Gateway", "LimitReached", "Limits"]

START_SECONDS = 60.0
"""How long the process may take to answer; half a second is normal."""

STOP_SECONDS = 10.0
"""How long it may take to close its doors before it is killed."""

_LAST_WORDS = 4096


class Gateway:
    """The gateway process for as long as the block lasts. All doors are closed at its end.

    Entering raises GatewayLost when the process can't be started. Once the process has ended by itself, everything that
    waits for it, and every later call, raises GatewayLost with what it said last.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._tasks: TaskGroup = anyio.create_task_group()
        self._listening = anyio.CancelScope(shield=True)
        self._doors: dict[str, Door] = {}
        self._answers: dict[int, _Answer] = {}
        self._ready = anyio.Event()
        self._gone = anyio.Event()
        self._stderr = b""
        self._sending = anyio.Lock()
        self._opened = 0
        self._asked = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def __aenter__(self) -> Self:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._control = ours
        with theirs:
            self._process = await anyio.open_process(
                [sys.executable, "-P", "-m", "ale.gateway"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env=_clean_environment(),
                start_new_session=True,  # a Ctrl-C at the terminal is the conductor's to handle
            )
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._listen)
        try:
            with anyio.fail_after(START_SECONDS):
                await self._ready.wait()
            self._check()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            if isinstance(error, TimeoutError):
                raise GatewayLost(f"the gateway did not start within {START_SECONDS:g} s") from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        process = self._process
        assert process is not None
        with anyio.CancelScope(shield=True):
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
            with anyio.move_on_after(STOP_SECONDS):
                await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()
        self._listening.cancel()
        try:
            # The block's own exception goes on by itself; the task group would wrap it.
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._control.close()
            with anyio.CancelScope(shield=True):
                await process.aclose()

    async def open(self, spec: DoorSpec, listener: socket.socket) -> Door:
        """Serve a run's agent on `listener`, which belongs to the gateway from now on and is closed here.

        Raises UsageError (no such backend, or it has nothing for this run), InfrastructureError (the folder can't be
        written, or has a transcript already), GatewayLost.
        """
        self._opened += 1
        name = str(self._opened)
        door = self._doors[name] = Door(self, name, spec)
        try:
            # Not broken off half-way: the caller would have no door to close.
            with listener, anyio.fail_after(START_SECONDS, shield=True):
                answer = await self._ask({"order": "open", "door": name, "spec": to_json(spec)}, listener)
        except TimeoutError:
            del self._doors[name]
            raise InfrastructureError(f"the gateway opened no door within {START_SECONDS:g} s") from None
        except BaseException:
            del self._doors[name]
            raise
        door.token = answer["token"]
        return door

    async def _close(self, door: Door) -> DoorReport:
        answer = await self._ask({"order": "close", "door": door.name})
        self._doors.pop(door.name, None)
        return from_json(DoorReport, answer["report"])

    async def _ask(self, message: dict[str, Any], listener: socket.socket | None = None) -> dict[str, Any]:
        self._check()
        self._asked += 1
        number = self._asked
        waiting = self._answers[number] = _Answer()
        try:
            await self._send(line({**message, "id": number}), listener)
            await waiting.arrived.wait()
        finally:
            del self._answers[number]
        if waiting.content is None:
            self._check()
            raise GatewayLost("the gateway ended without an answer")
        if problem := waiting.content.get("error"):
            kind: type[AleError] = UsageError if problem["kind"] == "UsageError" else InfrastructureError
            raise kind(problem["message"])
        return waiting.content

    async def _send(self, data: bytes, listener: socket.socket | None) -> None:
        """Whole or not at all: a message cut off by a cancellation would spoil the line for everybody."""
        async with self._sending:
            with anyio.CancelScope(shield=True):
                fds = [listener.fileno()] if listener is not None else []
                try:
                    while data and not self._gone.is_set():
                        try:
                            sent = socket.send_fds(self._control, [data], fds)
                        except BlockingIOError:
                            await anyio.wait_writable(self._control)
                        else:
                            data, fds = data[sent:], []
                except OSError:
                    await self._gone.wait()
        self._check()

    def _check(self) -> None:
        if self._gone.is_set():
            said = self._stderr.decode("utf-8", errors="replace").strip()
            code = self._process.returncode if self._process else None
            raise GatewayLost(f"the gateway process ended (exit code {code}){': ' + said[-500:] if said else ''}")

    async def _listen(self) -> None:
        """Runs as long as the process; wakes everybody up when it is over. A cancelled block still hears the answers to
        what it asks while it records and tidies up, hence the shield; only `__aexit__` ends this."""
        with self._listening:
            await self._listen_to_the_end()

    async def _listen_to_the_end(self) -> None:
        process = self._process
        assert process is not None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_last_words)
                receiver = Receiver(self._control)
                while True:
                    await anyio.wait_readable(self._control)
                    for message in receiver.receive():
                        self._take(message)
        except* (EOFError, OSError):
            pass
        if process.returncode is None:
            with anyio.move_on_after(STOP_SECONDS):
                await process.wait()
        self._gone.set()
        self._ready.set()
        for answer in self._answers.values():
            answer.arrived.set()
        for door in self._doors.values():
            door.changed()

    def _take(self, message: dict[str, Any]) -> None:
        if "answer" in message:
            if waiting := self._answers.get(message["answer"]):
                waiting.content = message
                waiting.arrived.set()
        elif message["event"] == "ready":
            self._ready.set()
        elif door := self._doors.get(message["door"]):
            door.take(message)

    async def _keep_last_words(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for chunk in self._process.stderr:
            self._stderr = (self._stderr + chunk)[-_LAST_WORDS:]


class Door:
    """A run's way to its model. `token` is the API key that the agent must send."""

    def __init__(self, gateway: Gateway, name: str, spec: DoorSpec) -> None:
        self.name = name
        self.spec = spec
        self.token = ""
        self._gateway = gateway
        self._calls: list[CallEvent] = []
        self._limit: LimitReached | None = None
        self._broken: str | None = None
        self._closed = False
        self._report: DoorReport | None = None
        self._changed = anyio.Event()

    async def limit_reached(self) -> LimitReached:
        """Waits until a call has been refused because a budget was used up; for ever if none is.

        Raises GatewayLost, and InfrastructureError when the run can't be recorded any more: in both cases the agent
        must be stopped."""
        while self._limit is None:
            self._gateway._check()
            if self._broken:
                raise InfrastructureError(self._broken)
            await self._changed.wait()
        return self._limit

    async def calls(self) -> AsyncIterator[CallEvent]:
        """Every answered (or failed) model call, from the first one on, as they end; ends when the door is closed.
        Raises GatewayLost."""
        at = 0
        while True:
            while at < len(self._calls):
                yield self._calls[at]
                at += 1
            if self._closed:
                return
            self._gateway._check()
            await self._changed.wait()

    async def close(self) -> DoorReport:
        """No call is answered any more, and the transcript is on disk, when this returns. Idempotent.

        Raises GatewayLost, InfrastructureError (the transcript is incomplete)."""
        if self._report is not None:
            return self._report
        try:
            self._report = await self._gateway._close(self)
            return self._report
        finally:
            self._closed = True
            self.changed()

    def take(self, message: dict[str, Any]) -> None:
        """An event from the gateway."""
        if message["event"] == "call":
            self._calls.append(from_json(CallEvent, message["call"]))
        elif message["event"] == "limit":
            self._limit = from_json(LimitReached, message["limit"])
        else:
            self._broken = message["error"]
        self.changed()

    def changed(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class _Answer:
    def __init__(self) -> None:
        self.arrived = anyio.Event()
        self.content: dict[str, Any] | None = None


def _clean_environment() -> dict[str, str]:
    """No keys, no proxies, nothing of the user's; only what finds this package again."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    package = str(Path(ale.__file__).parents[1])
    return {**kept, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
