"""Whose fault it was: the one place where an exception becomes an outcome. The class decides, never the text."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from ale.errors import GraderError, HarnessError, InfrastructureError, JudgeError, SandboxLost, TaskError, UsageError
from ale.exam.result import ErrorRecord
from ale.outcome import Outcome

_TABLE: tuple[tuple[type[Exception], Outcome], ...] = (
    (InfrastructureError, Outcome.UNSCORED_INFRASTRUCTURE),
    (HarnessError, Outcome.UNSCORED_HARNESS),
    (JudgeError, Outcome.UNSCORED_JUDGE),
    (GraderError, Outcome.UNSCORED_GRADER),
    (TaskError, Outcome.UNSCORED_GRADER),
)


@dataclass(frozen=True)
class Attribution:
    outcome: Outcome
    error: ErrorRecord


def attribute(error: Exception, phase: str) -> Attribution:
    """What is not in the table is a fault of this framework or of the host: infrastructure, with its traceback."""
    kind = type(error).__name__
    for cls, outcome in _TABLE:
        if isinstance(error, cls):
            evidence = error.evidence if isinstance(error, SandboxLost) else ""
            return Attribution(outcome, ErrorRecord(kind=kind, phase=phase, message=str(error), evidence=evidence))
    outcome = Outcome.UNSCORED_HARNESS if isinstance(error, UsageError) else Outcome.UNSCORED_INFRASTRUCTURE
    return Attribution(
        outcome,
        ErrorRecord(
            kind=kind,
            phase=phase,
            message=str(error) or kind,
            evidence="".join(traceback.format_exception(error))[-8000:],
        ),
    )
