"""From what an experiment names as its model to what answers: a kind of backend is a module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ale.documents import nearest
from ale.errors import UsageError
from ale.gateway.backend import Asker, Backend
from ale.gateway.prices import Price, listed_price
from ale.gateway.scripted import ScriptedBackend

BACKENDS: dict[str, Callable[[str], Backend]] = {"script": lambda target: ScriptedBackend(Path(target))}


def open_backend(address: str) -> Backend:
    """Raises UsageError for an unknown kind, and whatever the kind's own check finds."""
    kind, _, target = address.partition(":")
    if kind not in BACKENDS or not target:
        raise UsageError(f"model '{address}' is not known: write script:FILE.yaml{nearest(kind, list(BACKENDS))}")
    return BACKENDS[kind](target)


def check_backend(address: str, cases: Iterable[tuple[str, str]]) -> None:
    """For planning: raises UsageError if the model is unknown, or has nothing for a case (workflow, instance)."""
    backend = open_backend(address)
    for workflow, instance in cases:
        backend.converse(Asker("", workflow, instance))


def check_price(model: str, address: str) -> Price:
    """The price by which calls of `model` would be metered; for planning a run with a dollar cap.

    Raises UsageError when there is none, or when the backend does not exist."""
    price = open_backend(address).price or listed_price(model)
    if price is None:
        raise UsageError(
            f"model '{model}' has no known price, so a dollar cap on it can't be kept: "
            f"add `price:` to {address.removeprefix('script:')} or limit steps or tokens instead"
        )
    return price
