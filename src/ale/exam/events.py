"""Lifecycle events: what happened in a run and when, one JSON object a line, flushed as it happens."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from ale.text import storable_value

Phase = Literal[
    "plan", "provision", "stage", "start", "agent", "freeze", "collect", "reference", "evaluate", "record", "release"
]
PHASES: tuple[Phase, ...] = get_args(Phase)


class Event(BaseModel):
    """One line of events.jsonl. time: UTC by the host's clock; mono: seconds of the host's monotonic clock, which only
    differences of the same run may be taken of; data: what the kind of event adds (docs/run-folder.md lists it)."""

    model_config = ConfigDict(frozen=True)

    event: str = Field(
        pattern=rf"^(({'|'.join(PHASES)})\.(start|end)|limit\.reached|model\.call|sandbox\.lost|run\.retry)$"
    )
    run: str
    time: datetime
    mono: float
    data: dict[str, Any] = Field(default_factory=dict)


Observer = Callable[[Event], None]
"""Called for every event, in the conductor's own task; must return at once."""


class EventLog:
    """Appends to events.jsonl and tells the observer. One owner, the run."""

    def __init__(self, path: Path, run: str, observer: Observer) -> None:
        self._file = path.open("ab")
        self._run = run
        self._observer = observer
        self.phases: dict[str, dict[str, Any]] = {}
        self.current: Phase | None = None

    def emit(self, event: str, **data: Any) -> None:
        """Whatever the data's texts hold, they can be written: some of them a machine has said."""
        data = storable_value(data)
        record = Event(event=event, run=self._run, time=datetime.now(UTC), mono=time.monotonic(), data=data)
        self._file.write(record.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self._file.flush()
        self._observer(record)

    @contextmanager
    def phase(self, name: Phase) -> Iterator[dict[str, Any]]:
        """Emit `<name>.start` and, whatever happens, `<name>.end` with what the block put into the mapping."""
        started, mono = datetime.now(UTC), time.monotonic()
        self.current = name
        self.emit(f"{name}.start")
        notes: dict[str, Any] = {}
        try:
            yield notes
        except BaseException as error:
            notes.setdefault("error", type(error).__name__)
            raise
        finally:
            seconds = time.monotonic() - mono
            self.phases[name] = {"start": started, "end": datetime.now(UTC), "seconds": round(seconds, 6)}
            self.emit(f"{name}.end", **notes | {"seconds": round(seconds, 6)})

    def close(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()


def read_events(path: Path) -> Iterator[Event]:
    """The whole lines of a log; a line that a crash cut short is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield Event.model_validate(json.loads(line))
