"""`Score` under the name of the room that makes it; it is defined at the bottom, since tasks hand it around too."""

from __future__ import annotations

from ale.score import Part, Reason, Score

__all__ = ["Part", "Reason", "Score"]
