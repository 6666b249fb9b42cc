"""What the conductor and the gateway say to each other: a run's door, its limits, its calls, its sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from ale.outcome import AgentEnd
from ale.trajectory.schema import Usage
from ale.trajectory.transcript import check_secrets

T = TypeVar("T")

Budget = Literal["steps", "tokens", "cost_usd"]

AGENT_END: dict[Budget, AgentEnd] = {
    "steps": AgentEnd.STEP_LIMIT,
    "tokens": AgentEnd.TOKEN_LIMIT,
    "cost_usd": AgentEnd.COST_LIMIT,
}

_SPOKEN: dict[Budget, str] = {"steps": "step", "tokens": "token", "cost_usd": "dollar"}


@dataclass(frozen=True)
class Limits:
    """What a run may use; None is no limit. steps: answered model calls. tokens: input (cached or not) plus output.
    A call is let through while less than the limit is used, so the last one may overshoot tokens and dollars."""

    steps: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("steps", self.steps), ("tokens", self.tokens), ("cost_usd", self.cost_usd)):
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"the limit {name} must be a positive number, not {value!r}")


@dataclass(frozen=True)
class DoorSpec:
    """One run's door. folder: the run folder; transcript.jsonl and blobs/ are written there and must not be there yet.
    model: the name by which the agent asks. backend: `script:PATH`. also: further model names that are served in the
    same way (a harness's small and fast model). secrets: texts that are masked in the transcript; the door's own token
    always is."""

    run: str
    workflow: str
    instance: str
    folder: Path
    model: str
    backend: str
    limits: Limits = Limits()
    also: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_secrets(self.secrets)

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model, *self.also)


@dataclass(frozen=True)
class CallEvent:
    """A model call that ended. n: its number in transcript.jsonl. Times are UTC, ISO 8601. usage is None for a call
    that was not answered."""

    n: int
    start: str
    end: str
    status: int
    usage: Usage | None
    error: str | None = None


@dataclass(frozen=True)
class LimitReached:
    """A call was refused because a budget was used up: `value` of `maximum`. call: the number of that call."""

    limit: Budget
    value: float
    maximum: float
    call: int
    time: str

    @property
    def agent_end(self) -> AgentEnd:
        return AGENT_END[self.limit]

    def __str__(self) -> str:
        return f"the {_SPOKEN[self.limit]} budget is used up ({self.value:g} of {self.maximum:g})"


@dataclass(frozen=True)
class DoorReport:
    """What went through a door, once it is closed.

    calls: model calls that came in, whatever became of them. answered: those that got a model's answer (the steps).
    usage: sum over the answered ones; its cost_usd is None if the model has no price. refused: requests that never
    were a model call (wrong token, unknown address, unreadable). backend_failures: calls that the model's provider, not
    the agent, made fail. first_error: the first thing that went wrong at the door, for a person.
    """

    calls: int
    answered: int
    refused: int
    usage: Usage
    limit: LimitReached | None
    backend_failures: int
    first_error: str | None

    @property
    def cost_usd(self) -> float | None:
        return self.usage.cost_usd


_ADAPTERS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (DoorSpec, CallEvent, LimitReached, DoorReport)
}


def to_json(value: Any) -> dict[str, Any]:
    """One of this module's values as it travels between conductor and gateway."""
    data: dict[str, Any] = _ADAPTERS[type(value)].dump_python(value, mode="json")
    return data


def from_json(kind: type[T], data: Any) -> T:
    value: T = _ADAPTERS[kind].validate_python(data)
    return value
