"""What is known of a run so far; whatever ends the run, its result is written from this."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ale import __version__
from ale.exam.attribution import Attribution
from ale.exam.events import EventLog
from ale.exam.plan import RunPlan
from ale.exam.result import AgentRecord, Integrity, LimitRecord, PhaseTime, RunResult, ScoreRecord, UsageRecord
from ale.outcome import AgentEnd, Outcome
from ale.score import Score


@dataclass
class Ledger:
    """One owner: the run's lifecycle. Fields are filled in as the phases end."""

    plan: RunPlan
    limits: LimitRecord
    started: datetime
    tries: int
    agent_version: str | None = None
    instruction: str = ""
    agent_end: AgentEnd | None = None
    score: Score | None = None
    failure: Attribution | None = None
    cancelled: bool = False
    usage: UsageRecord = field(default_factory=UsageRecord)
    integrity: Integrity = field(default_factory=Integrity)
    digests: dict[str, Any] = field(default_factory=dict)
    sandboxes: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome:
        if self.cancelled:
            return Outcome.CANCELLED
        if self.failure is not None:
            return self.failure.outcome
        return Outcome.SCORED

    def note_integrity(self, **changes: Any) -> None:
        self.integrity = self.integrity.model_copy(update=changes)

    def result(self, log: EventLog, ended: datetime) -> RunResult:
        plan, outcome = self.plan, self.outcome
        scored = outcome is Outcome.SCORED and self.score is not None
        return RunResult(
            id=plan.id,
            experiment=plan.experiment,
            workflow=plan.case.workflow.name,
            instance=plan.case.instance,
            attempt=plan.attempt,
            agent=AgentRecord(
                name=plan.agent.name,
                harness=plan.agent.harness,
                version=self.agent_version,
                model=plan.agent.model,
                model_name=plan.agent.model_name if plan.agent.model else None,
                settings=plan.agent.settings,
            ),
            outcome=outcome,
            score=ScoreRecord(value=self.score.value, reason=self.score.reason) if scored and self.score else None,
            agent_end=self.agent_end,
            error=self.failure.error if self.failure and not self.cancelled else None,
            started=self.started,
            ended=ended,
            phases={name: PhaseTime(**times) for name, times in log.phases.items()},
            limits=self.limits,
            usage=self.usage,
            integrity=self.integrity,
            versions={
                "ale": __version__,
                "python": platform.python_version(),
                "host": f"{platform.system()} {platform.release()} {platform.machine()}",
                "implementation": sys.implementation.name,
            },
            digests=self.digests,
            sandboxes=self.sandboxes,
            tries=self.tries,
        )
