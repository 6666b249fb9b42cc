"""One local machine, as the process that made it, or attached to it, sees it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio

from ale.computer.client import MachineSession
from ale.computer.endpoint import Endpoint
from ale.computer.paths import User
from ale.computer.session import Session
from ale.errors import InfrastructureError, SandboxUnavailable
from ale.sandbox.local import cgroups, processes
from ale.sandbox.local.machine import last_words
from ale.sandbox.local.record import Record, Shelf, stop
from ale.sandbox.protocol import FreezeReport, ImageIdentity, Sandbox, SandboxSpec, Strength

FREEZE_BOUND = 30.0
ANSWER_BOUND = 5.0

_SURVIVAL_BOUND = 3.0
"""Seconds in which a killed process may still be seen from the host while the kernel takes it apart."""


@dataclass
class Grip:
    """What only the maker of a machine holds: its lock, bubblewrap as a child process, the door."""

    lock: int
    process: subprocess.Popen[bytes]
    door: socket.socket | None


@dataclass(frozen=True)
class Surroundings:
    """What a machine needs of its provider."""

    shelf: Shelf
    strength: Strength
    agent_uid: int
    fork: Callable[[Record, SandboxSpec], Awaitable[Sandbox]]
    release: Callable[[Record], Awaitable[None]]
    verdict: Callable[[str], str]


class LocalSandbox:
    def __init__(self, record: Record, session: MachineSession, around: Surroundings, grip: Grip | None = None) -> None:
        self._record = record
        self._session = session
        self._around = around
        self._grip = grip
        self._frozen: FreezeReport | None = None
        self._released = False

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def endpoint(self) -> Endpoint:
        return self._around.shelf.endpoint(self._record)

    @property
    def image(self) -> ImageIdentity:
        return self._record.image

    @property
    def strength(self) -> Strength:
        return self._around.strength

    def session(self, user: User = "root") -> Session:
        return self._session.as_user(user)

    def door(self) -> socket.socket:
        if self._grip is None or self._grip.door is None:
            raise ValueError(f"sandbox {self.id} has no door to give: the spec asked for none, or it was taken already")
        door, self._grip.door = self._grip.door, None
        return door

    async def alive(self) -> bool:
        if not self._runs():
            return False
        with anyio.move_on_after(ANSWER_BOUND):
            try:
                await self._session.status()
            except (InfrastructureError, OSError):
                return False
            return True
        return False

    async def evidence(self) -> str:
        parts = [self._around.verdict(self.id)] if self._around.verdict(self.id) else []
        if self._runs():
            parts.append("its first process is still running")
        elif self._grip is not None:
            code = await anyio.to_thread.run_sync(self._exit_code)
            parts.append(f"its first process ended with code {code}")
        else:
            parts.append("its first process has ended")
        kills = cgroups.out_of_memory_kills(self._groups())
        if kills:
            parts.append(f"{kills} processes were ended because {self._record.spec.size.memory_mb} MB were used up")
        parts.append(f"log: {last_words(self._log())}")
        return "; ".join(parts)

    async def freeze(self) -> FreezeReport:
        """Where the server no longer answers, or something survives it, the whole machine is stopped: then certainly
        nothing of the agent runs, and its disk can still be forked."""
        if self._frozen is None:
            begin = time.monotonic()
            killed, checked = await self._end_agent()
            self._record = await anyio.to_thread.run_sync(self._mark_frozen)
            self._frozen = FreezeReport(killed, checked, time.monotonic() - begin)
        return self._frozen

    async def _end_agent(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not self._runs():
            return ("everything (the machine had ended)",), ("host",)
        killed = await anyio.to_thread.run_sync(
            processes.end_members, self._groups(), self._around.agent_uid, FREEZE_BOUND
        )
        left: list[str] = []
        with anyio.move_on_after(FREEZE_BOUND) as scope:
            try:
                killed += (await self._session.freeze()).killed
            except InfrastructureError as error:
                left = [str(error)]
        if scope.cancelled_caught:
            left = [f"its server gave no answer in {FREEZE_BOUND:g} s"]
        checked = ["guest"]
        if not left:
            try:
                left = await self._survivors()
                checked.append("host")
            except PermissionError:
                return tuple(killed), tuple(checked)
        if left:
            await self._stop()
            return (*killed, f"everything ({', '.join(left[:20])})"), ("host",)
        return tuple(killed), tuple(checked)

    async def _survivors(self) -> list[str]:
        init = self._record.init
        assert init is not None, "a started machine has a first process"
        with anyio.move_on_after(_SURVIVAL_BOUND):
            for attempt in range(1000):
                try:
                    left = await anyio.to_thread.run_sync(processes.running_as, self._around.agent_uid, init.pid)
                except ProcessLookupError:
                    return []
                if not left:
                    return []
                await anyio.sleep(min(0.2, 0.005 * 2**attempt))
        return left

    async def fork(self, spec: SandboxSpec) -> Sandbox:
        await self._stop()
        return await self._around.fork(self._record, spec)

    async def destroy(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._released:
                return
            await self._session.aclose()
            if self._grip is not None and self._grip.door is not None:
                self._grip.door.close()
                self._grip.door = None
            await self._stop()
            await self._around.release(self._record)
            if self._grip is not None:
                os.close(self._grip.lock)
            self._released = True

    async def _stop(self) -> None:
        if not await anyio.to_thread.run_sync(stop, self._record):
            raise SandboxUnavailable(
                f"sandbox {self.id} can't be stopped: process {self._record.init} ignores SIGKILL; "
                "the kernel waits for a disk or a device"
            )
        if self._grip is not None:
            await anyio.to_thread.run_sync(self._exit_code)

    def _exit_code(self) -> int:
        """bubblewrap's own, which repeats that of the machine's first process; waits for it, it has ended."""
        assert self._grip is not None
        return self._grip.process.wait(timeout=30)

    def _runs(self) -> bool:
        return not self._released and self._record.init is not None and self._record.init.alive()

    def _groups(self) -> tuple[Path, ...]:
        return tuple(Path(path) for path in self._record.cgroups)

    def _mark_frozen(self) -> Record:
        return self._around.shelf.update(self._record, frozen=True)

    def _log(self) -> Path:
        return self._around.shelf.folder(self.id) / "log"
