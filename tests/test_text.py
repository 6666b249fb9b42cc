"""Nothing from a sandbox drives the operator's terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.text import one_line, plain, seconds

HOSTILE = [
    "\x1b[2Jgone", "\x1b]0;title\x07gone", "\x1b]52;c;cm0gLXJm\x1b\\gone", "\x1bPq#0\x1b\\gone", "\x9b31mgone",
    "\u202egone\u202c", "go\x00ne", "gone\r", "\x1b(0gone", "\x1b7gone",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_control_and_escape_sequences_vanish(text: str) -> None:
    assert "gone" in plain(text)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in plain(text))


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_the_limit_holds_and_the_result_can_be_encoded(text: str, limit: int) -> None:
    assert len(plain(text, limit)) <= limit
    one_line(text, limit).encode()


@pytest.mark.parametrize(("value", "text"), [(4.23, "4.2 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_durations_read_naturally(value: float, text: str) -> None:
    assert seconds(value) == text
