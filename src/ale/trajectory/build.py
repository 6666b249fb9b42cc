"""The unified trajectory's steps, built from a run's transcript while it is read.

Steps are made from the model's answers alone and results are looked for among what is new in later requests, so a
history that a harness shortened, rewrote or repeated never makes a step twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ale.text import storable, storable_value
from ale.trajectory.clock import Moment
from ale.trajectory.pictures import Gallery
from ale.trajectory.readers import readers
from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse
from ale.trajectory.schema import Action, Observation, Step, Usage
from ale.trajectory.tool_class import tool_class
from ale.trajectory.transcript import Call, read_transcript

WINDOW = 4096
"""Steps held back at most while an earlier one still waits for its result; then that one goes out without."""

ABORTED = "the harness broke the answer off before it had all of it"


@dataclass
class _Draft:
    number: int
    call: Call
    action: Action
    reasoning: str | None
    usage: Usage | None
    waits: bool
    observed: Moment | None = None
    texts: list[str] = field(default_factory=list)
    image: str | None = None
    failed: bool = False

    def step(self) -> Step:
        return Step(
            step=self.number,
            timestamp=self.call.end.utc,
            monotonic=self.call.end.monotonic,
            call_id=self.call.n,
            action=self.action,
            observation=self._observation(),
            reasoning=self.reasoning,
            usage=self.usage,
        )

    def _observation(self) -> Observation | None:
        if self.observed is None:
            return Observation(error=ABORTED) if self.call.aborted else None
        text = storable("\n".join(text for text in self.texts if text)) or None
        return Observation(
            timestamp=self.observed.utc,
            monotonic=self.observed.monotonic,
            text=None if self.failed else text,
            image_path=self.image,
            error=(text or "the tool failed and said nothing") if self.failed else None,
        )


def steps_from_transcript(folder: Path) -> Iterator[Step]:
    """The steps of a run in order, one at a time; pictures are kept in `traj/screenshots/` on the way.

    Raises FileNotFoundError when there is no transcript, TranscriptError when it is damaged."""
    by_dialect, gallery = readers(), Gallery(folder)
    pending: deque[_Draft] = deque()
    waiting: dict[str, _Draft] = {}
    latest: list[tuple[str, _Draft]] = []
    last: _Draft | None = None
    count = 0
    for record in read_transcript(folder):
        call = record.call
        reader = by_dialect.get(call.dialect or "")
        if call.kind != "model" or reader is None:
            continue
        for result in reader.results(record.fresh()):
            if result.call is not None:
                last = waiting.pop(result.call or _unnamed(result, latest, waiting), None)
            if last is not None:
                _observe(last, result, call.start, gallery)
        last = None
        if call.status == 200:
            latest = [(key, draft) for draft, key in _drafts(call, reader.answer(call.response), count)]
            for key, draft in latest:
                count += 1
                pending.append(draft)
                if key:
                    waiting[key] = draft
        while pending and (not pending[0].waits or len(pending) > WINDOW):
            yield pending.popleft().step()
    for draft in pending:
        yield draft.step()


def _unnamed(result: ToolResult, latest: list[tuple[str, _Draft]], waiting: dict[str, _Draft]) -> str:
    """The id of the first of the latest calls that a result without an id can belong to."""
    tool = storable(result.tool)
    return next((key for key, draft in latest if draft.action.tool == tool and key in waiting), "")


def _drafts(call: Call, answer: Answer, count: int) -> Iterator[tuple[_Draft, str]]:
    """One for each tool call, or one for the message; each with the id of the result that it waits for."""
    if not answer.calls:
        action = Action(type="message", args={"text": storable(answer.text)})
        yield _Draft(count + 1, call, action, storable(answer.reasoning) or None, call.usage, waits=False), ""
        return
    said = storable("\n\n".join(part for part in (answer.reasoning, answer.text) if part)) or None
    for number, use in enumerate(answer.calls):
        first = number == 0
        yield (
            _Draft(
                count + 1 + number,
                call,
                _action(use),
                said if first else None,
                call.usage if first else None,
                waits=bool(use.id),
            ),
            use.id,
        )


def _action(use: ToolUse) -> Action:
    return Action(type=tool_class(use.name), tool=storable(use.name), args=storable_value(use.args))


def _observe(draft: _Draft, result: ToolResult, when: Moment, gallery: Gallery) -> None:
    draft.waits = False
    draft.observed = draft.observed or when
    draft.failed = draft.failed or result.is_error
    draft.texts.append(result.text)
    for picture in result.pictures:
        kept = gallery.keep(draft.number, picture)
        if kept is None:
            where = picture[:200] if picture.startswith("http") else "damaged or of an unknown kind"
            draft.texts.append(f"[a picture that is not kept: {where}]")
        elif draft.image is None:
            draft.image = kept
        else:
            draft.texts.append(f"[picture: {kept}]")
