"""The Backend contract: where a model's answers come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

    @property
    def digest(self) -> str:
        """What names the model beyond doubt, for the record."""

    def converse(self, asker: Asker) -> Conversation:
        """Raises UsageError when the backend has nothing for this run."""
