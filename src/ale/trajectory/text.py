"""Text from a machine, made safe for documents and terminals."""

from __future__ import annotations

import re
from typing import Any

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC: titles, links, clipboard
    r"|\x1b[P^_X][^\x1b]{0,4096}(?:\x1b\\)?"  # DCS, PM, APC, SOS
    r"|[\x1b\x9b]\[?[0-?]{0,64}[ -/]{0,16}[@-~]"  # CSI and two-character escapes
    r"|\x1b"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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


def printable(text: str) -> str:
    """Without terminal escapes and control characters (no machine may write on its reader's terminal)."""
    return _CONTROL.sub("", _ESCAPES.sub("", text))


def shortened(text: str, characters: int) -> str:
    """At most about so many characters, and it says what was left out."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [... {len(text) - characters} more characters]"
