"""Text for terminals: what came out of a sandbox must not drive the operator's screen."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
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


def seconds(value: float) -> str:
    """`4.2 s`, `3 min 20 s`, `2 h 05 min`."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
