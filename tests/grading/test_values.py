"""Cells are read as people mean them, or not at all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.grading.values import Cell, day, number, text, truth


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("1", "1"),
        ("1.0", "1"),
        (" 1,234.50 ", "1234.5"),
        ("1'234.50", "1234.5"),
        ("1’234.50", "1234.5"),
        ("1 234.50", "1234.5"),
        ("\u00a01\u202f234.50\u00a0", "1234.5"),
        ("(3.14)", "-3.14"),
        ("-3.14", "-3.14"),
        ("\u22123.14", "-3.14"),
        ("€ 12.50", "12.5"),
        ("12.50 EUR", "12.5"),
        ("$1,000", "1000"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("($5.00)", "-5"),
        ("+7", "7"),
        ("1e3", "1000"),
        (".5", "0.5"),
        ("5.", "5"),
        (3, "3"),
        (0.1, "0.1"),
        (Decimal("2.50"), "2.5"),
    ],
)
def test_numbers_as_people_write_them(cell: Cell, expected: str) -> None:
    assert number(cell) == Decimal(expected)


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1,23",
        "12,34.5",
        "1.2.3",
        "1,234,5",
        "12 %",
        "0x10",
        "1_000",
        "٣",
        "twelve",
        "1e999",
        "9" * 4300,
        "()",
        "$",
        "EUR",
        "--1",
        10**4300,
        float("nan"),
        float("inf"),
        True,
        None,
        datetime(2025, 1, 1, tzinfo=UTC),
    ],
    ids=lambda cell: repr(cell)[:20] if not isinstance(cell, int) or cell is True else "long",
)
def test_what_is_no_number(cell: Cell) -> None:
    assert number(cell) is None


def test_the_decimal_mark_is_declared_not_guessed() -> None:
    assert number("1.234,50", decimal=",") == Decimal("1234.5")
    assert number("1,5", decimal=",") == Decimal("1.5")
    assert number("1.234", decimal=",") == 1234
    assert number("1.234") == Decimal("1.234")


def test_percent_counts_only_where_it_is_declared() -> None:
    assert number("12.5 %", percent=True) == Decimal("0.125")
    assert number("0.125", percent=True) == Decimal("0.125")


def test_days() -> None:
    assert (
        day("2025-03-04") == day(datetime(2025, 3, 4, 17, 0, tzinfo=UTC)) == day(date(2025, 3, 4)) == date(2025, 3, 4)
    )
    assert day("04.03.2025") is None
    assert day("04.03.2025", ("%d.%m.%Y",)) == date(2025, 3, 4)
    assert day("2025-02-30") is None
    assert day(45000) is None


def test_text_and_truth() -> None:
    assert text("  Straße \n 1 ") == text("STRASSE 1")
    assert text("e\u0301") == text("é")
    assert text(1003.0) == "1003"
    assert text("A", exact=True) == "A"
    assert truth("Yes") is True
    assert truth(0) is False
    assert truth("perhaps") is None


@given(st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.datetimes() | st.decimals())
def test_reading_never_raises(cell: Cell) -> None:
    for decimal in (".", ","):
        found = number(cell, decimal=decimal, percent=True)  # type: ignore[arg-type]
        assert found is None or found.is_finite()
    day(cell)
    text(cell)
    truth(cell)
