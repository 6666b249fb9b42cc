"""What evaluate() returns: a value in [0, 1] and the tree of reasons behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from ale.errors import GraderError

Reason = Literal["no_output", "wrong_shape", "gate_failed", "wrong"]
"""Why a score is 0."""

_REASONS = get_args(Reason)
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Score:
    """A grader's verdict.

    value: in [0, 1]; anything else is a GraderError.
    reason: set exactly when value is 0 (`wrong` when the grader names none).
    sentence: what was found and what was expected, within which tolerance, for a person.
    parts: what the value is made of.
    details: JSON values for machines, such as found, expected, tolerance, where.
    """

    value: float
    reason: Reason | None = None
    parts: tuple[Part, ...] = ()
    details: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    sentence: str = ""

    def __post_init__(self) -> None:
        value = _number(self.value)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        if self.reason is not None and self.reason not in _REASONS:
            raise GraderError(f"a score's reason is one of {', '.join(_REASONS)}, not {self.reason!r}")
        object.__setattr__(self, "reason", (self.reason or "wrong") if value == 0 else None)

    @classmethod
    def of(cls, result: object) -> Score:
        """A Score from what a grader returned: a Score, a number, or a list of numbers (their equal-weight mean).

        Raises GraderError for an empty list, a bool, NaN, infinity, a value outside [0, 1] and anything else.
        """
        if isinstance(result, Score):
            return result
        if isinstance(result, Sequence) and not isinstance(result, str | bytes | bytearray):
            if not result:
                raise GraderError("evaluate() returned an empty list; return one value for each thing that was checked")
            scores = [cls.of(item) for item in result]
            if len(scores) == 1:
                return scores[0]
            parts = tuple(Part(str(n), 1.0, score) for n, score in enumerate(scores, start=1))
            return cls(math.fsum(score.value for score in scores) / len(scores), parts=parts)
        return cls(_number(result))

    def to_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "reason": self.reason,
            "sentence": self.sentence,
            "parts": [part.to_json() for part in self.parts],
            "details": dict(self.details),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Score:
        """The inverse of to_json(). Raises GraderError for what is not a Score."""
        try:
            return cls(
                value=data["value"],
                reason=data.get("reason"),
                parts=tuple(Part.from_json(part) for part in data.get("parts", ())),
                details=data.get("details", {}),
                sentence=str(data.get("sentence", "")),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise GraderError(f"this is not a recorded score: {error!r}") from None


@dataclass(frozen=True)
class Part:
    """One named share of a Score. weight: relative to its siblings. points: weight × value."""

    name: str
    weight: float
    score: Score

    def __post_init__(self) -> None:
        weight = _finite(self.weight)
        if weight is None or weight < 0:
            raise GraderError(f"the weight of part '{self.name}' is {self.weight!r}; it must be a number from 0 up")
        object.__setattr__(self, "weight", weight)

    @property
    def points(self) -> float:
        return self.weight * self.score.value

    @property
    def sentence(self) -> str:
        return self.score.sentence

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "weight": self.weight, "points": self.points, **self.score.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Part:
        return cls(str(data["name"]), data["weight"], Score.from_json(data))


def _number(value: object) -> float:
    number = _finite(value)
    if number is None:
        raise GraderError(f"a score is a number in [0, 1], not {str(value)[:80]} ({type(value).__name__})")
    if not 0.0 <= number <= 1.0:
        raise GraderError(f"a score lies in [0, 1]; the grader returned {number!r}")
    return number


def _finite(value: object) -> float | None:
    """bool is refused: `True` in place of a score is nearly always a check that forgot its weight. numpy's numbers pass
    through their `__float__`."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError, TypeError):
        return None
    return number if math.isfinite(number) else None
