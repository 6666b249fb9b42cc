"""How deliverables are judged: one module an artifact mode, and the ways to put checks together."""

from __future__ import annotations

from ale.grading.compose import checklist, gate, weighted
from ale.score import Part, Reason, Score

__all__ = ["Part", "Reason", "Score", "checklist", "gate", "weighted"]
