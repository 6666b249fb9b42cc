"""What a cell says: numbers, dates, truth values and text as people and programs write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

Cell = str | int | float | Decimal | bool | date | None
"""datetime is a date here."""

MAX_NUMBER_TEXT = 64
"""Characters; longer digit strings are no amounts, and Python refuses to convert 4300 of them at all."""

_MAX_EXPONENT = 400
_BLANKS = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
_CURRENCY = re.compile(r"^(?:[A-Z]{3}|[$€£¥])\s*(?=[-+(.\d])|(?<=[\d.)])\s*(?:[A-Z]{3}|[$€£¥])$")
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[,' ]\d{3})+(?:\.\d*)?")
ISO_DATES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")


def is_empty(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def number(cell: Cell, *, decimal: Literal[".", ","] = ".", percent: bool = False) -> Decimal | None:
    """A finite number, or None. Text may have thousands separators, a currency symbol or code, brackets for negative.

    decimal: the decimal mark of text; the other one of `.` and `,` separates thousands. percent: `12.5 %` is 0.125;
    without it a percent sign is no number.
    """
    if isinstance(cell, bool) or cell is None or isinstance(cell, date):
        return None
    if isinstance(cell, int):
        return Decimal(cell) if abs(cell) < 10**_MAX_EXPONENT else None
    if isinstance(cell, float | Decimal):
        exact = Decimal(repr(cell)) if isinstance(cell, float) else cell
        return _bounded(exact) if exact.is_finite() else None
    return _number_in_text(cell, decimal, percent=percent)


def day(cell: Cell, formats: Sequence[str] = ISO_DATES) -> date | None:
    """A calendar day, or None. Text is read by `formats` alone: `03/04/2025` isn't the same day to everybody."""
    if isinstance(cell, datetime):
        return cell.date()
    if isinstance(cell, date):
        return cell
    if not isinstance(cell, str):
        return None
    for form in formats:
        try:
            return datetime.strptime(cell.strip()[:40], form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None


def truth(cell: Cell) -> bool | None:
    if isinstance(cell, bool):
        return cell
    word = text(cell)
    if word in {"true", "yes", "y", "1"}:
        return True
    return False if word in {"false", "no", "n", "0"} else None


def text(cell: Cell, *, exact: bool = False) -> str:
    """Text to compare: NFC, blanks at the ends gone and runs of them one space; without `exact` also case folded.

    An identifier that a spreadsheet turned into a number (1003.0) reads `1003`.
    """
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    if isinstance(cell, datetime):
        cell = cell.date().isoformat() if cell.time() == datetime.min.time() else cell.isoformat(" ")
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 10**MAX_NUMBER_TEXT:
        return "a very long number"
    words = unicodedata.normalize("NFC", _BLANKS.sub(" ", str(cell)).strip())
    return words if exact else words.casefold()


def _number_in_text(written: str, decimal: Literal[".", ","], *, percent: bool) -> Decimal | None:
    if len(written) > MAX_NUMBER_TEXT:
        return None
    digits = _BLANKS.sub(" ", written).strip().replace("\u2212", "-").replace("\u2019", "'")
    scale = Decimal(1)
    if digits.endswith("%"):
        if not percent:
            return None
        digits, scale = digits[:-1].rstrip(), Decimal("0.01")
    digits = _CURRENCY.sub("", digits).strip()
    if digits.startswith("(") and digits.endswith(")"):
        digits, scale = digits[1:-1].strip(), -scale
    digits = _CURRENCY.sub("", digits).strip()
    if digits[:1] in "+-" and digits[1:2] == " ":
        digits = digits[0] + digits[1:].lstrip()
    sign, unsigned = (digits[0], _CURRENCY.sub("", digits[1:])) if digits[:1] in ("+", "-") else ("", digits)
    digits = sign + unsigned
    if decimal == ",":
        digits = digits.translate({ord(","): ".", ord("."): ","})
    if _GROUPED.fullmatch(digits):
        digits = re.sub(r"[,' ]", "", digits)
    elif not _PLAIN.fullmatch(digits) or not digits.isascii():
        return None
    return _bounded(Decimal(digits) * scale)


def _bounded(value: Decimal) -> Decimal | None:
    return value if abs(value.adjusted()) <= _MAX_EXPONENT or value == 0 else None
