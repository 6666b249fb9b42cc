"""The Harness contract: the program under examination, minus its model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ale.computer.session import Session
from ale.sandbox.layers import LayerRecipe


@dataclass(frozen=True)
class ModelEndpoint:
    """The model as the agent sees it: a name, an address inside the machine, and this run's own token."""

    name: str
    base_url: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class AgentContext:
    """All that a harness may use. session acts as the agent; logs is the host directory for the harness's own logs;
    solve plays the task's solve() (the oracle's privilege)."""

    session: Session
    instruction: str
    workflow: str
    instance: str
    model: ModelEndpoint | None
    logs: Path
    settings: Mapping[str, Any]
    solve: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class AgentResult:
    """How the harness ended by its own account. status: `finished`, `crashed` or `gave_up`."""

    status: Literal["finished", "crashed", "gave_up"]
    exit_code: int | None = None
    last_message: str = ""
    detail: str = ""


class Harness(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def uses_model(self) -> bool: ...

    @property
    def settings(self) -> tuple[str, ...]:
        """The keys that an experiment may set under `settings:`; any other is refused when planning."""

    def layer(self) -> LayerRecipe | None: ...

    async def run(self, context: AgentContext) -> AgentResult:
        """Let the agent work until it says that it is done. Cancelled at a limit: must then stop at once, the freeze
        does the rest. Raises HarnessError if it could not be started, SandboxLost if the machine went away."""
