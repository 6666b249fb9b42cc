"""How checks become one score: gate, weighted mean, checklist. The parts are kept, so that a value explains itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ale.errors import GraderError
from ale.score import Part, Reason, Score


def gate(conditions: Mapping[str, Score | bool], then: Score) -> Score:
    """`then` if every condition is fully met, else 0 with `gate_failed` and the conditions that were not."""
    met = {name: _as_score(condition) for name, condition in conditions.items()}
    failed = [name for name, score in met.items() if score.value < 1]
    gates = tuple(Part(name, 0.0, score) for name, score in met.items())
    if not failed:
        return Score(then.value, then.reason, (*gates, *then.parts), then.details, then.sentence)
    because = "; ".join(f"{name}: {met[name].sentence}" if met[name].sentence else name for name in failed)
    return Score(0.0, "gate_failed", gates, {"failed": failed}, f"not met: {because}")


def weighted(checks: Mapping[str, tuple[float, Score]]) -> Score:
    """The mean of the checks' values by their weights. Raises GraderError if the weights sum to 0."""
    parts = tuple(Part(name, weight, score) for name, (weight, score) in checks.items())
    total = math.fsum(part.weight for part in parts)
    if total <= 0:
        raise GraderError("the weights of a weighted score must sum to more than 0")
    # Weights such as 0.1 and 0.7 don't sum to 1 exactly; full marks must still be 1.0 exactly, and no more.
    value = 1.0 if all(part.score.value == 1 for part in parts) else math.fsum(part.points for part in parts) / total
    return Score(min(value, 1.0), _common_reason(parts), parts)


def checklist(items: Mapping[str, Score | bool]) -> Score:
    """The share of the items that are met, each counting the same."""
    if not items:
        raise GraderError("a checklist needs at least one item")
    return weighted({name: (1.0, _as_score(item)) for name, item in items.items()})


def _as_score(item: Score | bool) -> Score:
    return item if isinstance(item, Score) else Score(1.0 if item else 0.0)


def _common_reason(parts: tuple[Part, ...]) -> Reason | None:
    reasons = {part.score.reason for part in parts if part.weight > 0 and part.score.reason}
    return reasons.pop() if len(reasons) == 1 else None
