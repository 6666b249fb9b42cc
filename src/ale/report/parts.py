"""The grader's tree of parts as the page shows it: what each part is worth, what it cost, what was found in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ale.report.mentions import file_names
from ale.report.shown import Shown, brief, fit
from ale.score import Part, Score

WHERE = "debug/eval/result.json"
MOST_PARTS = 1000
_DEPTH = 12
_SENTENCE = 3000
_MISTAKES = 30
_COSTS = 6
_LEAST_COST = 0.0005

Mark = Literal["full", "some", "none"]


@dataclass(frozen=True)
class Mistake:
    """where: as the grader wrote it. word: what to look for in the steps."""

    where: str
    found: str
    expected: str
    tolerance: str
    word: str


@dataclass
class PartView:
    """place: its name after those of the parts that it belongs to. share: points of weight, where it has one.
    cost: what of the final score it lost, None where that can't be said."""

    number: int
    name: str
    place: str
    value: str
    fraction: float
    mark: Mark
    share: str
    cost: float | None
    reason: str | None
    sentence: Shown
    gate: bool
    mistakes: tuple[Mistake, ...] = ()
    more_mistakes: int = 0
    details: tuple[tuple[str, str], ...] = ()
    parts: list[PartView] = field(default_factory=list)
    left_out: int = 0
    names: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """The beginning of its sentence, without its name in front."""
        return brief(self.sentence.text.removeprefix(f"{self.name}: "), 260)

    def walk(self) -> Iterator[PartView]:
        yield self
        for part in self.parts:
            yield from part.walk()


def score_view(score: Score) -> PartView:
    """The whole score as the root of its parts."""
    return _Views().view(Part("the whole", 0.0, score), 1.0, weighted=True, depth=0)


def costliest(root: PartView) -> list[PartView]:
    """The smallest parts that cost the most, and conditions that were not met."""
    leaves = [part for part in root.walk() if part is not root and not any(_counted(each) for each in part.parts)]
    failed = [part for part in leaves if part.gate and part.mark != "full"]
    losses = [part for part in leaves if not part.gate and part.cost is not None and part.cost >= _LEAST_COST]
    return [*failed, *sorted(losses, key=lambda part: -(part.cost or 0.0))][:_COSTS]


def number(value: float) -> str:
    """Three digits, but never 1.000 for less than 1 or 0.000 for more than 0."""
    text = f"{value:.3f}"
    return text if (text == "1.000") == (value == 1) and (text == "0.000") == (value == 0) else f"{value:.6g}"


def mark(value: float) -> Mark:
    return "full" if value == 1 else "none" if value == 0 else "some"


class _Views:
    def __init__(self) -> None:
        self._count = 0

    def view(self, part: Part, worth: float | None, *, weighted: bool, depth: int, place: str = "") -> PartView:
        score = part.score
        self._count += 1
        mistakes, more, details = _details(score.details)
        view = PartView(
            number=self._count,
            name=brief(part.name),
            place=brief(f"{place} › {part.name}" if place else part.name, 400),
            value=number(score.value),
            fraction=score.value,
            mark=mark(score.value),
            share=f"{part.points:.3g} of {part.weight:.3g}" if part.weight else "",
            cost=None if worth is None else worth * (1 - score.value),
            reason=score.reason,
            sentence=fit(score.sentence, _SENTENCE, WHERE),
            gate=not weighted,
            mistakes=mistakes,
            more_mistakes=more,
            details=details,
            names=tuple(file_names(f"{part.name}\n{score.sentence}")),
        )
        shares = _worths(score, worth)
        for inner, share in zip(score.parts, shares, strict=True):
            if self._count >= MOST_PARTS or depth >= _DEPTH:
                view.left_out += 1
            else:
                within = view.place if depth else ""
                view.parts.append(self.view(inner, share, weighted=inner.weight > 0, depth=depth + 1, place=within))
        return view


def _counted(part: PartView) -> bool:
    return part.gate or part.cost is not None


def _worths(score: Score, worth: float | None) -> list[float | None]:
    """What of the final score each part carries; unknown unless the value is the weighted mean of the parts."""
    total = math.fsum(part.weight for part in score.parts)
    if worth is None or not total or not math.isfinite(total):
        return [None] * len(score.parts)
    mean = math.fsum(part.weight / total * part.score.value for part in score.parts)
    if abs(mean - score.value) > 1e-6:
        return [None] * len(score.parts)
    return [worth * part.weight / total if part.weight else None for part in score.parts]


def _details(details: Mapping[str, Any]) -> tuple[tuple[Mistake, ...], int, tuple[tuple[str, str], ...]]:
    mistakes: list[Mistake] = []
    more = 0
    others: list[tuple[str, str]] = []
    for name, value in list(details.items())[:50]:
        if _are_mistakes(value):
            mistakes += [_mistake(item) for item in value[:_MISTAKES]]
            more += max(0, len(value) - _MISTAKES)
        elif value not in ([], {}, None):
            others.append((brief(name, 60), brief(_json(value), 1000)))
    return tuple(mistakes), more, tuple(others)


def _are_mistakes(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(item, Mapping) and {"found", "expected"} <= item.keys() for item in value)
    )


def _mistake(item: Mapping[str, Any]) -> Mistake:
    where = item.get("where", "")
    if isinstance(where, Mapping):
        key = str(where.get("key", ""))
        where = ", ".join(f"{name} {value}" if name != "key" else str(value) for name, value in where.items())
    else:
        where = key = str(where)
    tolerance = item.get("tolerance")
    return Mistake(
        where=brief(where, 120),
        found=brief(item["found"]),
        expected=brief(item["expected"]),
        tolerance=f"{tolerance:g}" if isinstance(tolerance, int | float) and tolerance else "",
        word=brief(max(key.split("/"), key=len), 120),
    )


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)[:8000]
