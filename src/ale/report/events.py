"""A run's events as the page shows them: its phases as bars, its model calls as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ale.exam.events import PHASES, Event, read_events
from ale.report.shown import brief
from ale.trajectory.schema import Usage

MOST_CALLS = 3000


@dataclass(frozen=True)
class PhaseBar:
    """left, width: per cent of the whole run."""

    name: str
    seconds: float
    left: float
    width: float
    error: str = ""


@dataclass(frozen=True)
class CallView:
    number: int
    offset: float
    seconds: float
    status: int
    usage: Usage | None
    error: str


@dataclass
class Happened:
    """What the events tell. notes: what `<phase>.end` said beside its times."""

    phases: tuple[PhaseBar, ...] = ()
    calls: tuple[CallView, ...] = ()
    calls_left_out: int = 0
    limits: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    notes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    damage: str = ""

    @property
    def failed(self) -> list[PhaseBar]:
        return [phase for phase in self.phases if phase.error]


def read_happened(folder: Path) -> Happened:
    happened, events = Happened(), list[Event]()
    try:
        events.extend(read_events(folder / "events.jsonl"))
    except FileNotFoundError:
        happened.damage = "There is no events.jsonl."
    except (ValueError, OSError, RecursionError) as error:
        happened.damage = f"events.jsonl is damaged: {brief(error)}"
    ends = {event.event.removesuffix(".end"): event for event in events if event.event.endswith(".end")}
    happened.phases = tuple(_phases(events, ends))
    happened.notes = {name: event.data for name, event in ends.items()}
    begin = next((event.time for event in events if event.event == "agent.start"), None)
    calls = [_call(event, begin or event.time) for event in events if event.event == "model.call"]
    happened.calls_left_out = max(0, len(calls) - MOST_CALLS)
    if happened.calls_left_out:
        calls = [*calls[: MOST_CALLS // 2], *calls[-MOST_CALLS // 2 :]]
    happened.calls = tuple(calls)
    happened.limits = tuple(
        f"{event.data.get('limit')}: {event.data.get('value')} of {event.data.get('maximum')}"
        for event in events
        if event.event == "limit.reached"
    )
    happened.lost = tuple(brief(event.data.get("evidence"), 2000) for event in events if event.event == "sandbox.lost")
    return happened


def _phases(events: Iterable[Event], ends: Mapping[str, Event]) -> Iterable[PhaseBar]:
    starts = {event.event.removesuffix(".start"): event for event in events if event.event.endswith(".start")}
    if not starts:
        return
    begin = min(event.mono for event in starts.values())
    whole = max([*(event.mono for event in starts.values()), *(event.mono for event in ends.values())]) - begin
    scale = 100 / whole if whole > 0 else 0.0
    for name in PHASES:
        if name not in starts:
            continue
        start, end = starts[name], ends.get(name)
        seconds = end.mono - start.mono if end else 0.0
        yield PhaseBar(
            name=name,
            seconds=seconds,
            left=round(scale * (start.mono - begin), 2),
            width=round(scale * seconds, 2),
            error=brief(end.data.get("error", ""), 80) if end else "it did not end",
        )


def _call(event: Event, begin: datetime) -> CallView:
    data = event.data
    start = _moment(data.get("start"), event.time)
    end = _moment(data.get("end"), event.time)
    usage = data.get("usage")
    status = data.get("status")
    return CallView(
        number=int(data.get("n", 0)),
        offset=(start - begin).total_seconds(),
        seconds=(end - start).total_seconds(),
        status=status if isinstance(status, int) else 0,
        usage=Usage(**usage) if isinstance(usage, dict) else None,
        error=brief(data.get("error") or "", 300),
    )


def _moment(text: object, otherwise: datetime) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else otherwise
