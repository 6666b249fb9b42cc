"""What leads from a score to steps: steps that name a file, or a key that a grader found wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MOST = 100
"""Words that are looked for: each costs time in every step."""

_AT_MOST_SHOWN = 8
_FILE = re.compile(r"(?<![\w/.-])[\w][\w.+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w.-]\w)")


@dataclass(frozen=True)
class Links:
    """Steps by number: the first ones and the last ones, and how many there are between these."""

    first: tuple[int, ...] = ()
    between: int = 0
    last: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.first)


def links(steps: Sequence[int]) -> Links:
    if len(steps) <= _AT_MOST_SHOWN:
        return Links(tuple(steps))
    half = _AT_MOST_SHOWN // 2
    return Links(tuple(steps[:half]), len(steps) - 2 * half, tuple(steps[-half:]))


def file_names(text: str) -> list[str]:
    """What looks like the name of a file in a sentence, in order, once."""
    return list(dict.fromkeys(found[0].rstrip(".") for found in _FILE.finditer(text[:4000])))


@dataclass
class Words:
    """Words that matter to the score, and the steps that were seen to contain them."""

    _patterns: dict[str, re.Pattern[str]] = field(default_factory=dict)
    _steps: dict[str, list[int]] = field(default_factory=dict)
    _in_answers: set[str] = field(default_factory=set)

    def add(self, words: Iterable[str], *, in_answers: bool = False) -> None:
        """in_answers: a step contains it too if it was told it, not only if it said it."""
        for word in words:
            if 3 <= len(word) <= 200 and word not in self._patterns and len(self._patterns) < MOST:
                self._patterns[word] = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\w)")
                if in_answers:
                    self._in_answers.add(word)

    def look(self, step: int, did: str, seen: str) -> tuple[str, ...]:
        """The words that this step contains; they are remembered."""
        found = tuple(word for word in self._patterns if self._is_in(word, did, seen))
        for word in found:
            self._steps.setdefault(word, []).append(step)
        return found

    def _is_in(self, word: str, did: str, seen: str) -> bool:
        texts = (did, seen) if word in self._in_answers else (did,)
        return any(word in text and self._patterns[word].search(text) is not None for text in texts)

    def steps(self, *words: str) -> Links:
        return links(sorted({step for word in words for step in self._steps.get(word, ())}))
