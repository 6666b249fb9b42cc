"""The experiment file: which agents meet which tasks, where, and within which limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ale.documents import Document, read_document

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""Becomes a folder name; 63 characters at most."""

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|m|min|h)?$")
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration(value: Any) -> Any:
    """`90`, `90s`, `15m`, `5h` → seconds. Raises ValueError."""
    if not isinstance(value, str):
        return value
    match = _DURATION.match(value.strip())
    if match is None:
        raise ValueError(f"'{value}' is not a duration (write 90s, 15m or 5h)")
    return float(match[1]) * _SECONDS[match[2]]


Seconds = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]


class AgentSpec(Document):
    """harness + model + settings. `name` is what tables and folders show; it defaults to the harness.

    model: where answers come from (`script:PATH`). model_name: what the agent calls it.
    """

    harness: str
    name: Name = ""
    model: str | None = None
    model_name: str = "scripted-1"
    settings: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"harness": data}
        if isinstance(data, dict) and "harness" in data and "name" not in data:
            data = {**data, "name": data["harness"]}
        return data


class LimitSpec(Document):
    """Ceilings for every agent alike; a task's own time budget counts too, and the smaller one binds."""

    time: Seconds = 5 * 3600.0
    steps: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    start_time: Seconds = 600.0
    grading_time: Seconds = 900.0
    grading_memory_mb: int = Field(default=4096, gt=0)


class SandboxChoice(Document):
    provider: str = "local"
    image: str | None = None
    """Overrides the image that the task's card names."""


class RetrySpec(Document):
    infrastructure: int = Field(default=1, ge=0, le=10)
    harness: int = Field(default=1, ge=0, le=1)


class Experiment(Document):
    """One YAML file. Paths in it are relative to the file."""

    name: Name
    tasks: list[str] = Field(min_length=1)
    tasks_dir: Path = Path("tasks")
    agents: list[AgentSpec] = Field(min_length=1)
    attempts: int = Field(default=1, ge=1)
    sandbox: SandboxChoice = SandboxChoice()
    limits: LimitSpec = LimitSpec()
    concurrency: int = Field(default=2, ge=1)
    prompt_suffix: str = ""
    retries: RetrySpec = RetrySpec()
    output: Path = Path("results")

    @field_validator("agents")
    @classmethod
    def _names_differ(cls, agents: list[AgentSpec]) -> list[AgentSpec]:
        names = [agent.name for agent in agents]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two agents are called '{name}'; give one of them another name")
        return agents

    def resolved(self, base: Path) -> Experiment:
        """The same with every path absolute. `output` and `tasks_dir` are relative to `base`, like `script:` models."""
        return self.model_copy(
            update={
                "tasks_dir": (base / self.tasks_dir).resolve(),
                "output": (base / self.output).resolve(),
                "agents": [_resolved_agent(agent, base) for agent in self.agents],
            }
        )


def read_experiment(path: Path) -> Experiment:
    """Raises UsageError with file, line and the nearest valid key."""
    return read_document(path, Experiment).resolved(path.resolve().parent)


def _resolved_agent(agent: AgentSpec, base: Path) -> AgentSpec:
    if agent.model is None or not agent.model.startswith("script:"):
        return agent
    return agent.model_copy(update={"model": f"script:{(base / agent.model.removeprefix('script:')).resolve()}"})
