"""Writing and reading trajectory.json and interaction_log.json, a step at a time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel

from ale.replacing import replacing
from ale.text import storable
from ale.trajectory import interaction_log
from ale.trajectory.schema import SCHEMA, Agent, Artifact, Step, TaskRef, Totals, Trajectory, Usage

FILE = "trajectory.json"
LOG_FILE = "interaction_log.json"

_STEPS_BEGIN = '"steps":['
_STEPS_END = "],"


@dataclass(frozen=True)
class Meta:
    """What the document says beside its steps."""

    run: str
    agent: Agent
    task: TaskRef
    instruction: str
    final_score: float | None = None
    outcome: str | None = None
    artifacts: tuple[Artifact, ...] = field(default=())


def write_trajectory(folder: Path, meta: Meta, steps: Iterable[Step]) -> Totals:
    """Write both documents of a run; either is there whole or not at all. Steps are not gathered in memory.

    Raises what `steps` raises; nothing is left then."""
    sums = _Sums()
    with _written(folder / FILE) as document, _written(folder / LOG_FILE) as log:
        head = {
            "schema": SCHEMA,
            "run": meta.run,
            "agent": meta.agent.model_dump(),
            "task": meta.task.model_dump(),
            "instruction": storable(meta.instruction),
        }
        document.write(_text(head)[:-1] + ",\n" + _STEPS_BEGIN)
        log.write(_text({"schema": interaction_log.SCHEMA, "run": meta.run})[:-1] + ',\n"entries":[')
        for step in steps:
            comma = "," if sums.steps else ""
            document.write(f"{comma}\n{_text(step)}")
            log.write(f"{comma}\n{_text(interaction_log.entry(step))}")
            sums.add(step)
        totals = sums.totals()
        tail = {
            "final_score": meta.final_score,
            "outcome": meta.outcome,
            "artifacts": [artifact.model_dump() for artifact in meta.artifacts],
            "totals": totals.model_dump(),
        }
        document.write(f"\n{_STEPS_END}\n{_text(tail)[1:]}\n")
        log.write("\n]}\n")
    return totals


def read_trajectory(path: Path) -> Trajectory:
    """The whole document. Raises FileNotFoundError, ValueError (pydantic's, saying what does not fit)."""
    return Trajectory.model_validate_json(path.read_bytes())


def read_head(path: Path) -> dict[str, Any]:
    """What a document that `write_trajectory` wrote says before its steps: run, agent, task, instruction.

    Raises FileNotFoundError, ValueError."""
    with path.open(encoding="utf-8") as file:
        head = json.loads(file.readline().rstrip("\n").removesuffix(",") + "}")
    if not isinstance(head, dict):
        raise ValueError(f"{path} is no trajectory")  # noqa: TRY004 - what is wrong is the file
    return head


def iter_steps(path: Path) -> Iterator[Step]:
    """The steps of a document that `write_trajectory` wrote, without loading it whole."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.rstrip("\n") == _STEPS_BEGIN:
                break
        for line in file:
            if line.rstrip("\n") == _STEPS_END:
                return
            yield Step.model_validate_json(line.rstrip("\n").removesuffix(","))


class _Sums:
    def __init__(self) -> None:
        self.steps = 0
        self._calls = 0
        self._last_call: int | None = None
        self._tokens = dict.fromkeys(("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), 0)
        self._cost: float | None = None
        self._times: list[float] = []

    def add(self, step: Step) -> None:
        self.steps += 1
        if step.call_id is not None and step.call_id != self._last_call:
            self._calls += 1
            self._last_call = step.call_id
        if step.usage is not None:
            for name in self._tokens:
                self._tokens[name] += getattr(step.usage, name)
            if step.usage.cost_usd is not None:
                self._cost = (self._cost or 0.0) + step.usage.cost_usd
        seen = step.observation.timestamp if step.observation else None
        times = [moment.timestamp() for moment in (step.timestamp, seen) if moment]
        self._times = [min([*self._times[:1], *times]), max([*self._times[1:], *times])]

    def totals(self) -> Totals:
        cost = round(self._cost, 10) if self._cost is not None else None
        seconds = round(self._times[1] - self._times[0], 6) if self._times else 0.0
        return Totals(steps=self.steps, calls=self._calls, usage=Usage(**self._tokens, cost_usd=cost), seconds=seconds)


@contextmanager
def _written(path: Path) -> Iterator[TextIO]:
    with replacing(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        try:
            yield file
        finally:
            file.detach()


def _text(value: Any) -> str:
    """One line of JSON."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
