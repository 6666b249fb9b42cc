"""Steps of what acts without a model: the oracle's calls on its Session, recorded as they happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ale.trajectory.pictures import Gallery
from ale.trajectory.schema import Action, Observation, Step
from ale.trajectory.tool_class import tool_class


class RecordedAction(BaseModel):
    """One call on a Session, as `ale.computer.recording` reports it. kind: the Session's method; `image` is base64."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    kind: str
    args: dict[str, Any] = Field(default_factory=dict)
    start: datetime
    start_monotonic: float
    end: datetime
    end_monotonic: float
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    text: str | None = None
    image: bytes | None = None
    error: str | None = None


def steps_from_actions(folder: Path, actions: Iterable[RecordedAction], actor: str = "oracle") -> Iterator[Step]:
    """One step an action; pictures are kept in `traj/screenshots/` on the way."""
    gallery = Gallery(folder)
    for number, done in enumerate(actions, start=1):
        observation = Observation(
            timestamp=done.end,
            monotonic=done.end_monotonic,
            stdout=done.stdout,
            stderr=done.stderr,
            exit_code=done.exit_code,
            text=done.text,
            image_path=gallery.keep(number, done.image) if done.image is not None else None,
            error=done.error,
        )
        action = Action(type=tool_class(done.kind), tool=done.kind, args=done.args)
        yield Step(
            step=number,
            timestamp=done.start,
            monotonic=done.start_monotonic,
            actor=actor,
            action=action,
            observation=observation,
        )
