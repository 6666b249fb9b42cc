"""run_result.json and agent_result.json: how a run ended, whole and traceable."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ale.outcome import AgentEnd, Outcome
from ale.text import storable_value


class Record(BaseModel):
    """Base of what is written to disk: unknown keys of a newer version are kept out with an error, not dropped, and
    whatever its texts hold, it can be written: some of them a machine, an agent or a grader has said."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _is_storable(cls, data: Any) -> Any:
        return storable_value(data)


class PhaseTime(Record):
    start: datetime
    end: datetime
    seconds: float


class ScoreRecord(Record):
    """value in [0, 1]; reason as the grader gave it (`no_output`, `wrong`, ...). The parts: debug/eval/result.json."""

    value: float
    reason: str | None = None


class ErrorRecord(Record):
    """Why a run has no score: whose fault (kind), in which phase, in one sentence, with the host's evidence."""

    kind: str
    phase: str
    message: str
    evidence: str = ""


class AgentRecord(Record):
    name: str
    harness: str
    version: str | None = None
    model: str | None = None
    model_name: str | None = None
    settings: dict[str, Any] = {}


class LimitRecord(Record):
    """time: seconds that the agent had; time_set_by: whose limit that was (`task` or `experiment`)."""

    time: float
    time_set_by: Literal["task", "experiment"]
    steps: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    reached: str | None = None


class UsageRecord(Record):
    """model_calls: answered ones. cost_usd is None when no price is known, never 0 for that reason."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    agent_seconds: float = 0.0


class Integrity(Record):
    """What separated the agent from its grading: the grading machine, the proof of the freeze, the limits' strength."""

    graded_on: Literal["fresh", "fork", "same", "none"] = "none"
    freeze: dict[str, Any] | None = None
    strength: dict[str, Any] = {}
    reference_absent: bool | None = None


class RunResult(Record):
    schema_: Literal["ale.run/1"] = Field(default="ale.run/1", alias="schema")
    id: str
    experiment: str
    workflow: str
    instance: str
    attempt: int
    agent: AgentRecord
    outcome: Outcome
    score: ScoreRecord | None = None
    agent_end: AgentEnd | None = None
    error: ErrorRecord | None = None
    started: datetime
    ended: datetime
    phases: dict[str, PhaseTime] = {}
    limits: LimitRecord
    usage: UsageRecord = UsageRecord()
    integrity: Integrity = Integrity()
    versions: dict[str, str] = {}
    digests: dict[str, Any] = {}
    sandboxes: list[str] = []
    tries: int = 1


class AgentResultRecord(Record):
    schema_: Literal["ale.agent/1"] = Field(default="ale.agent/1", alias="schema")
    status: str
    agent_end: AgentEnd
    exit_code: int | None = None
    last_message: str = ""
    detail: str = ""
    started: datetime
    ended: datetime
