"""The fake provider: machines of `ale.computer.fake`, made in a moment and scripted by whoever tests with them."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio

from ale.computer.client import MachineSession
from ale.computer.endpoint import Endpoint
from ale.computer.fake import FakeCommand, FakeMachine
from ale.computer.machine import Machine
from ale.computer.paths import User
from ale.computer.session import Session
from ale.errors import SandboxLost, SandboxUnavailable, UsageError
from ale.sandbox.layers import LayerIdentity, LayerRecipe
from ale.sandbox.protocol import FreezeReport, ImageIdentity, Sandbox, SandboxInfo, SandboxSpec, Say, Strength


class FakeSandbox:
    def __init__(self, provider: FakeProvider, spec: SandboxSpec, number: int) -> None:
        self.spec = spec
        self.created = datetime.now(UTC)
        self._provider = provider
        self._place = Path(tempfile.mkdtemp(prefix="ale-fake-"))
        self._listener = _listen() if spec.door else None
        self._door_taken = False
        self._frozen: FreezeReport | None = None
        self._evidence = ""
        (self._place / "root").mkdir()
        self.machine = FakeMachine(
            root=self._place / "root",
            socket_path=self._place / "control.sock",
            sandbox=f"fake-{number}",
            commands=provider.commands,
            screen=None if spec.screen is None else (spec.screen.width, spec.screen.height),
            door=None if self._listener is None else self._listener.getsockname(),
        )
        self._session = MachineSession(Machine(self.machine.endpoint), "root")

    @property
    def id(self) -> str:
        return self.machine.sandbox

    @property
    def endpoint(self) -> Endpoint:
        return self.machine.endpoint

    @property
    def image(self) -> ImageIdentity:
        return self._provider.identity(self.spec.image)

    @property
    def strength(self) -> Strength:
        return Strength(details={"fake": "nothing is enforced: no process is ever run"})

    @property
    def files(self) -> Path:
        """The host's directory that is the machine's `/`."""
        return self.machine.root

    def session(self, user: User = "root") -> Session:
        return self._session.as_user(user)

    def door(self) -> socket.socket:
        if self._listener is None or self._door_taken:
            raise ValueError(f"sandbox {self.id} has no door to give: the spec asked for none, or it was taken already")
        self._door_taken = True
        return self._listener

    async def alive(self) -> bool:
        if not self.machine.running:
            return False
        with anyio.move_on_after(5), suppress(SandboxLost):
            await self._session.status()
            return True
        return False

    async def evidence(self) -> str:
        return self._evidence or ("it is running" if self.machine.running else "it was stopped")

    async def freeze(self) -> FreezeReport:
        if self._frozen is None:
            found = await self._session.freeze()
            self._frozen = FreezeReport(found.killed, ("guest",), found.seconds)
        return self._frozen

    async def fork(self, spec: SandboxSpec) -> Sandbox:
        if self._frozen is None and self.machine.running:
            raise ValueError(f"sandbox {self.id} must be frozen before it is forked")
        self.machine.stop()
        new = self._provider.make(spec)
        await anyio.to_thread.run_sync(_copy_tree, self.machine.root, new.machine.root)
        new.machine.start()
        return new

    async def destroy(self) -> None:
        with anyio.CancelScope(shield=True):
            self.machine.stop()
            await self._session.aclose()
            if self._listener is not None and not self._door_taken:
                self._listener.close()
            self._provider.forget(self.id)
            await anyio.to_thread.run_sync(_remove, self._place)

    def lose(self, evidence: str) -> None:
        """For tests: the machine is gone from one moment to the next."""
        self._evidence = evidence
        self.machine.stop()


@dataclass
class FakeProvider:
    """commands: what the machines' programs do (see FakeMachine). refuse: why create() fails, if it shall."""

    commands: Mapping[str, FakeCommand] = field(default_factory=dict)
    images: tuple[str, ...] = ("base",)
    refuse: str | None = None
    machines: dict[str, FakeSandbox] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._made = 0

    @property
    def name(self) -> str:
        return "fake"

    def identity(self, name: str) -> ImageIdentity:
        return ImageIdentity(name=name, recipe="fake", content=f"fake {name}")

    async def image(self, name: str) -> ImageIdentity:
        if name not in self.images:
            raise SandboxUnavailable(f"there is no fake image {name}; there are: {', '.join(self.images)}")
        return self.identity(name)

    async def build_image(self, name: str, say: Say) -> ImageIdentity:
        return await self.image(name)

    async def build_layer(self, recipe: LayerRecipe, image: str, say: Say) -> LayerIdentity:
        return LayerIdentity(recipe.name, recipe.digest((await self.image(image)).content), "fake")

    async def create(self, spec: SandboxSpec) -> Sandbox:
        await self.image(spec.image)
        if self.refuse is not None:
            raise SandboxUnavailable(self.refuse)
        sandbox = self.make(spec)
        sandbox.machine.start()
        return sandbox

    async def list(self) -> Sequence[SandboxInfo]:
        return [self._info(sandbox) for sandbox in self.machines.values()]

    async def attach(self, sandbox: str) -> Sandbox:
        found = self.machines.get(sandbox)
        if found is None:
            raise UsageError(f"there is no sandbox {sandbox}")
        return found

    async def remove(self, sandbox: str) -> None:
        await (await self.attach(sandbox)).destroy()

    async def sweep(self) -> Sequence[str]:
        """Fake machines live in this process, so nobody else can have left any behind."""
        return []

    def make(self, spec: SandboxSpec) -> FakeSandbox:
        self._made += 1
        sandbox = FakeSandbox(self, spec, self._made)
        self.machines[sandbox.id] = sandbox
        return sandbox

    def forget(self, sandbox: str) -> None:
        self.machines.pop(sandbox, None)

    def _info(self, sandbox: FakeSandbox) -> SandboxInfo:
        machine = sandbox.machine
        return SandboxInfo(
            id=sandbox.id,
            label=sandbox.spec.label,
            image=sandbox.spec.image,
            created=sandbox.created,
            state="frozen" if machine.frozen and machine.running else "running" if machine.running else "dead",
            kept=sandbox.spec.keep,
            disk_bytes=sum(path.stat().st_size for path in sandbox.files.rglob("*") if path.is_file()),
        )


def _listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    return listener


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _remove(place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
