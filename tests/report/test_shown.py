"""Nothing hidden, and never more than there is room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.report.shown import Space, brief, fit, page_bytes, visible

HOSTILE = st.text(st.characters(exclude_categories=()), max_size=400)
"""Lone surrogates, controls and unassigned code points too."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "‹ESC›[31mred"),
        ("a\x00b\x07\x7f\x85", "a‹NUL›b‹BEL›‹DEL›‹U+0085›"),
        ("invoice_\u202efdp.exe", "invoice_‹U+202E›fdp.exe"),
        ("zero\u200bwidth\ufeff", "zero‹U+200B›width‹U+FEFF›"),
        ("hidden\U000e0041\U000e0042", "hidden‹U+E0041›‹U+E0042›"),
        ("50%\r100%\r\ndone", "50%‹CR›100%\ndone"),
        ("\ud800 alone", "‹U+D800› alone"),
        ("x" + "\u0301" * 30, "x‹30 combining marks›"),
        ("soft\u00adhyphen, a\u200db", "soft‹U+00AD›hyphen, a‹U+200D›b"),
        ("tab\there\nnew line", "tab\there\nnew line"),
        ("naïve, Ünicode, 日本, نص, é́", "naïve, Ünicode, 日本, نص, é́"),
        ("می\u200cخواهم, 👩\u200d💻, ✔\ufe0f", "می\u200cخواهم, 👩\u200d💻, ✔\ufe0f"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(HOSTILE)
def test_visible_text_stays_as_it_is_and_can_be_written_to_a_file(text: str) -> None:
    once = visible(text)
    once.encode("utf-8")
    assert visible(once) == once


@given(HOSTILE, st.integers(0, 300))
def test_a_text_never_takes_more_bytes_of_the_page_than_it_was_given(text: str, size: int) -> None:
    shown = fit(text, size, "a file")
    assert page_bytes(shown.head) + page_bytes(shown.tail) <= size
    if not shown.note:
        assert shown.head == visible(text)


def test_a_cut_text_says_how_much_is_missing_and_where_all_of_it_is() -> None:
    shown = fit("begin" + "x" * 20_000_000 + "end", 1000, "trajectory.json, step 7")
    assert shown.head.startswith("begin")
    assert shown.tail.endswith("end")
    kept = len(shown.head) + len(shown.tail)
    assert shown.note == (
        f"{20_000_008 - kept:,} of 20,000,008 characters are left out here; all of them: trajectory.json, step 7."
    )


def test_short_texts_leave_their_room_to_the_long_ones() -> None:
    space = Space(size=10_000, sharers=2, most=10_000)
    short, long = space.show([("ab", "f"), ("y" * 100_000, "f")])
    assert short.head == "ab"
    assert 4_900 <= len(long.head) + len(long.tail) <= 4_998
    [rest] = space.show([("z" * 100_000, "f")])
    assert 4_900 <= len(rest.head) + len(rest.tail) <= 5_100


@given(st.lists(HOSTILE, max_size=12), st.integers(0, 500))
def test_all_texts_together_stay_within_their_space(texts: list[str], size: int) -> None:
    space = Space(size, len(texts), size)
    shown = [each for text in texts for each in space.show([(text, "f")])]
    assert sum(page_bytes(each.head) + page_bytes(each.tail) for each in shown) <= size


@given(HOSTILE, st.integers(2, 60))
def test_a_brief_text_is_one_visible_line_within_its_limit(text: str, limit: int) -> None:
    line = brief(text, limit)
    assert len(line) <= limit
    assert not set(line) & {"\n", "\r", "\x1b"}


def test_of_very_many_lines_the_first_and_the_last_are_shown() -> None:
    shown = fit("".join(f"{number}\n" for number in range(10_000)), 100_000, "f")
    assert shown.head.splitlines() == [str(number) for number in range(300)]
    assert shown.tail.splitlines() == [str(number) for number in range(9_900, 10_000)]
    assert shown.note.startswith("47,300 of 48,890 characters are left out here")
