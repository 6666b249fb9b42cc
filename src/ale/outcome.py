"""How a run ended, and the one table that says what each ending means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Outcome(StrEnum):
    SCORED = "scored"
    UNSCORED_GRADER = "unscored.grader"
    UNSCORED_JUDGE = "unscored.judge"
    UNSCORED_INFRASTRUCTURE = "unscored.infrastructure"
    UNSCORED_HARNESS = "unscored.harness"
    CANCELLED = "cancelled"


class AgentEnd(StrEnum):
    """How the agent stopped working; independent of the outcome."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    COST_LIMIT = "cost_limit"
    TOKEN_LIMIT = "token_limit"
    STEP_LIMIT = "step_limit"
    CRASHED = "crashed"
    GAVE_UP = "gave_up"


@dataclass(frozen=True)
class Meaning:
    """retry: what the conductor repeats by itself. strict_zero: a 0 in the strict mean. lenient: in the lenient one."""

    retry: Literal["never", "run", "run_once", "grading"]
    strict_zero: bool
    lenient: bool


MEANING: dict[Outcome, Meaning] = {
    Outcome.SCORED: Meaning(retry="never", strict_zero=False, lenient=True),
    Outcome.UNSCORED_GRADER: Meaning(retry="never", strict_zero=True, lenient=False),
    Outcome.UNSCORED_JUDGE: Meaning(retry="grading", strict_zero=True, lenient=False),
    Outcome.UNSCORED_INFRASTRUCTURE: Meaning(retry="run", strict_zero=False, lenient=False),
    Outcome.UNSCORED_HARNESS: Meaning(retry="run_once", strict_zero=True, lenient=False),
    Outcome.CANCELLED: Meaning(retry="never", strict_zero=False, lenient=False),
}
"""`cancelled` is repeated when the same command is given again."""
