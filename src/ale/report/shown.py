"""Text from a machine as a page may show it: nothing hidden in it, and never more of it than there is room for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import escape

# What a reader can't see or what reorders text: controls, soft hyphens, fillers, zero-width characters, direction
# marks, tags, selectors, lone surrogates. Joiners between letters that need them and one selector after a symbol stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
    "|[\ufe0e\ufe0f]{2,}"
)
_PILED = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{9,}")
"""More accents on one letter than any script has; they would be painted over what stands above and below."""


HEAD_LINES, TAIL_LINES = 300, 100
"""Lines of a long text that are shown at most: more of them are scrolled past, not read."""


def visible(text: str) -> str:
    """The same text with a name or a number in the place of whatever can't be seen. Idempotent."""
    text = _HIDDEN.sub(_spelled, text.replace("\r\n", "\n"))
    return _PILED.sub(lambda found: f"‹{len(found[0])} combining marks›", text)


def _spelled(found: re.Match[str]) -> str:
    return "".join(_name(ord(character)) for character in found[0])


_NAMES = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI", "DLE",
    "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)  # fmt: skip


def _name(code: int) -> str:
    name = _NAMES[code] if code < len(_NAMES) else "DEL" if code == 0x7F else f"U+{code:04X}"
    return f"‹{name}›"


def brief(value: object, limit: int = 300) -> str:
    """One visible line."""
    text = str(value)
    line = visible(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…"


@dataclass(frozen=True)
class Shown:
    """What is shown of a text. note: how much is left out between head and tail, and where all of it is; empty when
    the text is whole (then it is in head)."""

    head: str
    note: str = ""
    tail: str = ""

    def __bool__(self) -> bool:
        return bool(self.head or self.note)

    @property
    def text(self) -> str:
        return f"{self.head}\n{self.tail}" if self.tail else self.head


def fit(text: str, size: int, where: str) -> Shown:
    """`text`, or its beginning and its end, in at most `size` bytes of the page. where: a file that has all of it."""
    kept = min(len(text), size)
    while True:
        shown = _cut(text, kept, where)
        cost = page_bytes(shown.head) + page_bytes(shown.tail)
        if cost <= size:
            return shown
        kept = int(kept * size / cost * 0.95)


def _cut(text: str, kept: int, where: str) -> Shown:
    if not kept and text:
        return Shown("", f"Not shown, the page would become too large: {len(text):,} characters, {where}.")
    if kept >= len(text) and text.count("\n") < HEAD_LINES + TAIL_LINES:
        return Shown(visible(text))
    kept = min(kept, len(text))
    head = "".join(text[: kept - kept // 4].splitlines(keepends=True)[:HEAD_LINES])
    tail = "".join(text[max(len(head), len(text) - kept // 4) :].splitlines(keepends=True)[-TAIL_LINES:])
    left_out = len(text) - len(head) - len(tail)
    if not left_out:
        return Shown(visible(text))
    note = f"{left_out:,} of {len(text):,} characters are left out here; all of them: {where}."
    return Shown(visible(head), note, visible(tail))


def page_bytes(text: str) -> int:
    """What a visible text takes up in the page."""
    return len(str(escape(text)).encode())


class Space:
    """Bytes of the page that are left for texts of one sort, shared fairly among those that are still to come."""

    def __init__(self, size: int, sharers: int, most: int) -> None:
        self._left = size
        self._sharers = max(sharers, 1)
        self._most = most

    def show(self, texts: Sequence[tuple[str, str]]) -> list[Shown]:
        """The texts (each with where all of it is) of one sharer. Short ones leave their room to the long ones."""
        allowed = max(0, min(self._most, self._left // self._sharers))
        self._sharers = max(self._sharers - 1, 1)
        found: dict[int, Shown] = {}
        order = sorted(range(len(texts)), key=lambda index: len(texts[index][0]))
        for done, index in enumerate(order):
            shown = fit(texts[index][0], allowed // (len(order) - done), texts[index][1])
            cost = page_bytes(shown.head) + page_bytes(shown.tail)
            allowed -= cost
            self._left -= cost
            found[index] = shown
        return [found[index] for index in range(len(texts))]
