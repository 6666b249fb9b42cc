"""The Provider and Sandbox contracts: where a run happens."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from ale.computer.endpoint import Endpoint
from ale.computer.paths import User
from ale.computer.session import Session
from ale.sandbox.layers import LayerIdentity, LayerRecipe

Say = Callable[[str], None]
"""Told, in one line each, what a build is doing."""


@dataclass(frozen=True)
class Size:
    vcpus: int = 2
    memory_mb: int = 4096
    disk_mb: int = 10240


@dataclass(frozen=True)
class Screen:
    width: int = 1280
    height: int = 800


@dataclass(frozen=True)
class SandboxSpec:
    """What is asked of a provider.

    label: the run this machine is for; carried by everything it leaves on the host, so that a sweep can find it.
    layers: digests of read-only layers above the image (a harness), lowest first.
    door: whether 127.0.0.1:7700 inside leads anywhere. A grading machine has none.
    keep: outlive this process, until `ale sandbox rm`.
    """

    label: str
    image: str
    layers: tuple[str, ...] = ()
    size: Size = Size()
    screen: Screen | None = None
    door: bool = False
    keep: bool = False
    hostname: str = "desk"


@dataclass(frozen=True)
class FreezeReport:
    """Proof that nothing of the agent runs any more. killed: processes ended by the freeze, as `pid name`;
    checked: how the emptiness was seen (`guest`, `host`); seconds: how long it took."""

    killed: tuple[str, ...]
    checked: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class SandboxInfo:
    id: str
    label: str
    image: str
    created: datetime
    state: Literal["running", "frozen", "dead"]
    kept: bool
    disk_bytes: int


@dataclass(frozen=True)
class ImageIdentity:
    """recipe: digest of the recipe; content: digest of what was built from it; name: as users write it."""

    name: str
    recipe: str
    content: str


@dataclass(frozen=True)
class Strength:
    """Which limit is enforced by what on this machine, for doctor and the record. Empty string: not enforced."""

    memory: str = ""
    processes: str = ""
    disk: str = ""
    network: str = ""
    users: str = ""
    details: Mapping[str, str] = field(default_factory=dict)


class Sandbox(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def endpoint(self) -> Endpoint: ...

    @property
    def image(self) -> ImageIdentity: ...

    @property
    def strength(self) -> Strength: ...

    def session(self, user: User = "root") -> Session:
        """A Session on this machine; all of them end with the machine."""

    def door(self) -> socket.socket:
        """The listening socket that stands behind 127.0.0.1:7700 inside; may be taken once. Raises ValueError when the
        spec had no door."""

    async def alive(self) -> bool:
        """Whether the machine answers now, asked from the host's side; within 5 s, never raises."""

    async def evidence(self) -> str:
        """What the host knows of how the machine ended (exit code, out of memory, last words), for a person."""

    async def freeze(self) -> FreezeReport:
        """Kill every process of the agent's user and check that none is left. Afterwards only the server, the display
        and the card's services run. Idempotent. Raises SandboxLost, or InfrastructureError if something survives."""

    async def fork(self, spec: SandboxSpec) -> Sandbox:
        """A new machine on a copy of this frozen one's disk; this one is stopped by it and can only be destroyed.
        Raises NotSupported where the provider can't."""

    async def destroy(self) -> None:
        """Nothing of the machine is left: no process, mount, file, socket or cgroup. Idempotent; shielded from
        cancellation."""


class NotSupported(Exception):
    """This provider can't do that; the message names one that can."""


class Provider(Protocol):
    @property
    def name(self) -> str: ...

    async def image(self, name: str) -> ImageIdentity:
        """The built image of that name. Raises SandboxUnavailable with the build command when it is not built."""

    async def build_image(self, name: str, say: Say) -> ImageIdentity:
        """Build the image of that name unless it is there. Raises UsageError for an unknown recipe,
        SandboxUnavailable with the mend when the build fails; nothing half-built is left."""

    async def build_layer(self, recipe: LayerRecipe, image: str, say: Say) -> LayerIdentity:
        """Build a layer on a built image unless it is there. Raises HarnessError when it can't be installed or its
        check fails."""

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """A running machine whose computer server answers. Raises SandboxUnavailable; then nothing is left."""

    async def list(self) -> Sequence[SandboxInfo]: ...

    async def attach(self, sandbox: str) -> Sandbox:
        """A machine made by another process (`--keep`). Raises UsageError for an unknown id."""

    async def remove(self, sandbox: str) -> None: ...

    async def sweep(self) -> Sequence[str]:
        """Remove what processes that no longer exist left behind; ids of what was removed. Never touches a machine
        whose maker lives, or a kept one."""
