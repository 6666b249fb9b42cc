"""Steps of what acts without a model: the oracle's calls on its Session, recorded as they happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ale.trajectory.clock import Moment
from ale.trajectory.pictures import Gallery
from ale.trajectory.schema import Action, Observation, Step
from ale.trajectory.text import storable, storable_value
from ale.trajectory.tool_class import tool_class

MAX_TEXT = 256 * 2**10
"""Characters of each output that are kept; a longer one loses its middle and says so."""


class RecordedAction(BaseModel):
    """One call on a Session. kind: the Session's method. Can travel between processes as JSON (`image` as base64)."""

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


@dataclass
class Seen:
    """What an action showed; filled in by whoever carries it out."""

    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    text: str | None = None
    image: bytes | None = None
    error: str | None = None


@dataclass
class Recorder:
    """Keeps actions in the order in which they ended."""

    actions: list[RecordedAction] = field(default_factory=list)

    @contextmanager
    def action(self, kind: str, args: Mapping[str, Any] | None = None) -> Iterator[Seen]:
        """Record what the block does; what it raises is recorded too and goes on."""
        start, seen = Moment.now(), Seen()
        try:
            yield seen
        except BaseException as error:
            seen.error = seen.error or f"{type(error).__name__}: {error}"
            raise
        finally:
            end = Moment.now()
            self.actions.append(
                RecordedAction(
                    kind=kind,
                    args=storable_value({key: _bounded_value(value) for key, value in (args or {}).items()}),
                    start=start.utc,
                    start_monotonic=start.monotonic,
                    end=end.utc,
                    end_monotonic=end.monotonic,
                    stdout=_bounded(seen.stdout),
                    stderr=_bounded(seen.stderr),
                    exit_code=seen.exit_code,
                    text=_bounded(seen.text),
                    image=seen.image,
                    error=_bounded(seen.error),
                )
            )


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


def _bounded(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_TEXT:
        return None if text is None else storable(text)
    half = MAX_TEXT // 2
    return storable(f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}")


def _bounded_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, Path):
        return str(value)
    return _bounded(value) if isinstance(value, str) else value
