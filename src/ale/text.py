"""Text from a machine, made safe for terminals and documents; and durations, as people read them."""

from __future__ import annotations

import re
from typing import Any

# bounded, so that an introducer without an end hides no more than a screenful
_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str, limit: int | None = None) -> str:
    """Without control and escape sequences and without marks that reorder text; cut at `limit` characters with `…`."""
    cleaned = _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")
    if limit is not None and len(cleaned) > limit:
        return cleaned[: limit - 1] + "…"
    return cleaned


def one_line(text: str, limit: int = 100) -> str:
    return plain(" ".join(text.split()), limit)


def shortened(text: str, characters: int) -> str:
    """At most about so many characters, and it says what was left out."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [... {len(text) - characters} more characters]"


def storable(text: str) -> str:
    """The same text for strict readers: a lone surrogate becomes U+FFFD, a NUL becomes U+2400 (the picture of one)."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
    return text


def storable_value(value: Any) -> Any:
    """A JSON value whose every string is storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): storable_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_value(item) for item in value]
    return value


def count(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seconds(value: float) -> str:
    """`4.2 s`, `3 min 20 s`, `2 h 05 min`."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
