"""The unified trajectory: one schema for every harness. The JSON Schema file is made from this module."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal["ale.trajectory/1"] = "ale.trajectory/1"

ActionType = Literal["Bash", "File", "GUI", "Web", "Planning", "Other", "message"]
"""The class of the tool that was called (`ale.trajectory.tool_class`), or `message` for an answer without a call."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Usage(_Strict):
    """Tokens of one or more model calls. `input_tokens` is everything the model read, cached or not; the cache counts
    are parts of it. `output_tokens` includes reasoning. `cost_usd` is null when the model has no known price."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cache_read_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = None


class Action(_Strict):
    """What the agent did. `tool` is the raw name that the harness gave the tool; `args` are its raw arguments (an
    unparsable argument text is kept as `{"raw": text}`). A `message` has no tool and the args `{"text": ...}`."""

    type: ActionType
    tool: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)


class TextRegion(_Strict):
    """A piece of text on a picture, in pixels from the top left."""

    text: str
    x: int
    y: int
    width: int
    height: int


class Observation(_Strict):
    """What came back. Where only the wire was seen, the result is in `text` (or in `error`, if the tool said that it
    failed) and stdout, stderr and exit_code are null. `image_path` is relative to the run folder."""

    timestamp: datetime | None = None
    monotonic: float | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    text: str | None = None
    image_path: str | None = None
    text_regions: list[TextRegion] | None = None
    error: str | None = None


class Step(_Strict):
    """One tool call, or one answer without any.

    step: counted from 1. timestamp, monotonic: when the action was decided (the end of the model's answer), by the
    host's clocks. call_id: the model call it came from (`n` in transcript.jsonl); parallel calls share it, and only the
    first of them carries `usage`. reasoning: the model's thinking, then what it said beside its calls.
    """

    step: int = Field(ge=1)
    timestamp: datetime
    monotonic: float | None = None
    actor: str = "agent"
    call_id: int | None = None
    action: Action
    observation: Observation | None = None
    reasoning: str | None = None
    usage: Usage | None = None


class Agent(_Strict):
    name: str
    harness: str | None = None
    harness_version: str | None = None
    model: str | None = None


class TaskRef(_Strict):
    workflow: str
    instance: str
    digest: str | None = None


class Artifact(_Strict):
    """A file that the agent delivered; `path` is relative to `output/`."""

    path: str
    size: int
    sha256: str


class Totals(_Strict):
    """steps: entries of `steps`. calls: answered model calls. seconds: first action to last action or observation."""

    steps: int = 0
    calls: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0


class Trajectory(_Strict):
    """The whole document, as `trajectory.json` holds it. Long runs are read step by step instead: `iter_steps`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Literal["ale.trajectory/1"] = Field(default=SCHEMA, alias="schema")
    run: str
    agent: Agent
    task: TaskRef
    instruction: str
    steps: list[Step]
    final_score: float | None = None
    outcome: str | None = None
    artifacts: list[Artifact] = Field(default_factory=list)
    totals: Totals = Totals()


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `trajectory.json`; kept in docs/schemas/trajectory.schema.json."""
    document = Trajectory.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **document}
