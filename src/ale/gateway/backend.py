"""Where answers come from. A backend is one module; `script:PATH` is the first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ale.errors import UsageError
from ale.gateway.neutral import Failure, ModelRequest, Reply
from ale.gateway.prices import Price


@dataclass(frozen=True)
class Asker:
    """Which run asks; backends may hold state per run, never per process."""

    run: str
    workflow: str
    instance: str


class Conversation(Protocol):
    """The answers to one run's calls, several of which may be asked for at once."""

    async def answer(self, request: ModelRequest) -> Reply | Failure:
        """Cancelled when the client goes away. A Failure is what the provider said; it is passed on as it is."""


class Backend(Protocol):
    @property
    def price(self) -> Price | None:
        """The price that this backend states for its answers, or None to use the model's list price."""

    def converse(self, asker: Asker) -> Conversation:
        """Raises UsageError when the backend has nothing for this run."""


def open_backend(address: str) -> Backend:
    """Raises UsageError for an unknown kind, and whatever the kind's own check finds."""
    kind, _, target = address.partition(":")
    if kind == "script" and target:
        from ale.gateway.scripted import ScriptedBackend

        return ScriptedBackend(Path(target))
    raise UsageError(f"model '{address}' names no known backend; write `script:FILE.yaml`")
