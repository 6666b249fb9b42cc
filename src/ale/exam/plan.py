"""From the experiment to its runs: every id is made from content, so the same plan has the same ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ale.exam.experiment import AgentSpec, Experiment
from ale.task.discover import Workflow


@dataclass(frozen=True)
class Case:
    """One instance of a workflow."""

    workflow: Workflow
    instance: str


@dataclass(frozen=True)
class RunPlan:
    id: str
    experiment: str
    agent: AgentSpec
    case: Case
    attempt: int
    folder: Path

    @property
    def title(self) -> str:
        return f"{self.agent.name} {self.case.workflow.name}:{self.case.instance} #{self.attempt}"


def run_id(experiment: str, agent: str, workflow: str, instance: str, attempt: int) -> str:
    """16 hex digits of the SHA-256 over the five parts, which may hold no NUL."""
    parts = "\0".join((experiment, agent, workflow, instance, str(attempt)))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def plan_runs(experiment: Experiment, cases: tuple[Case, ...], attempts: range) -> Iterator[RunPlan]:
    """Attempts outermost, so that a stopped experiment has compared all agents on something."""
    for attempt in attempts:
        for case in cases:
            for agent in experiment.agents:
                name, instance = case.workflow.name, case.instance
                yield RunPlan(
                    id=run_id(experiment.name, agent.name, name, instance, attempt),
                    experiment=experiment.name,
                    agent=agent,
                    case=case,
                    attempt=attempt,
                    folder=experiment.output / experiment.name / agent.name / name / instance / str(attempt),
                )
