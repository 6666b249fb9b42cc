"""Grade a delivered table against the expected one, row by key and field by field, each within its tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

from ale.documents import nearest
from ale.errors import GraderError
from ale.grading.compose import weighted
from ale.grading.reading import Rows, TableError, TableLimits, read_rows
from ale.grading.values import ISO_DATES, Cell, day, is_empty, number, text, truth
from ale.score import Score

Kind = Literal["text", "exact_text", "number", "percent", "date", "truth"]

_SHOWN = 5
"""Mistakes that a sentence spells out; the count of all is always there."""

_HEADER_SEARCH = 20
"""Rows at the top among which the header is looked for."""


@dataclass(frozen=True)
class Field:
    """One column and what counts as equal in it.

    absolute, relative: a number may differ by the larger of `absolute` and `relative` × |expected|, bounds included.
    Header names are compared without case, and with blanks, `_` and `-` alike; aliases are as good as the name.
    """

    column: str
    kind: Kind = "text"
    weight: float = 1.0
    absolute: float = 0.0
    relative: float = 0.0
    aliases: tuple[str, ...] = ()
    dates: tuple[str, ...] = ISO_DATES
    decimal: Literal[".", ","] = "."

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            kinds = nearest(self.kind, get_args(Kind))
            raise GraderError(f"Field('{self.column}'): there is no kind '{self.kind}'{kinds}")

    def value(self, cell: Cell) -> object:
        """What the cell says, read as this field's kind; None for an empty cell, `unreadable` for nonsense."""
        if is_empty(cell):
            return None
        read: object
        if self.kind in ("number", "percent"):
            read = number(cell, decimal=self.decimal, percent=self.kind == "percent")
        elif self.kind == "date":
            read = day(cell, self.dates)
        elif self.kind == "truth":
            read = truth(cell)
        else:
            read = text(cell, exact=self.kind == "exact_text")
        return _UNREADABLE if read is None else read

    def equal(self, found: object, expected: object) -> bool:
        if isinstance(found, Decimal) and isinstance(expected, Decimal):
            return abs(found - expected) <= self.tolerance(expected)
        return type(found) is type(expected) and found == expected

    def tolerance(self, expected: object) -> Decimal:
        if not isinstance(expected, Decimal):
            return Decimal(0)
        return max(Decimal(repr(self.absolute)), Decimal(repr(self.relative)) * abs(expected))


class _Unreadable:
    def __repr__(self) -> str:
        return "unreadable"


_UNREADABLE = _Unreadable()

Key = tuple[object, ...]


@dataclass(frozen=True)
class _Keyed:
    """Rows by key. extra: line and label of rows whose key was there before. columns: wanted name → position, for those
    that exist. labels: keys as they are written in the file."""

    rows: Mapping[Key, tuple[int, tuple[Cell, ...]]]
    extra: tuple[tuple[int, str], ...]
    columns: Mapping[str, int]
    labels: Mapping[Key, str]


def compare_tables(
    found: Path,
    expected: Path,
    *,
    key: Sequence[Field | str],
    fields: Sequence[Field],
    sheet: str | None = None,
    expected_sheet: str | None = None,
    limits: TableLimits | None = None,
) -> Score:
    """The share of expected cells that are right. Order of rows and columns and further columns don't matter.

    Every row too many (unknown key, or a key a second time) makes the whole larger, so listing everything earns
    nothing. Whatever `found` is, the answer is a Score. Raises GraderError if `expected` itself is unusable.
    """
    keys = tuple(Field(each) if isinstance(each, str) else each for each in key)
    wanted = _expected(expected, keys, fields, expected_sheet)
    try:
        rows = read_rows(found, sheet=sheet, limits=limits)
        given = _keyed(rows, keys, fields, found.name)
    except FileNotFoundError:
        return Score(0.0, "no_output", sentence=f"{found.name} was not delivered")
    except TableError as error:
        return Score(0.0, "wrong_shape", sentence=str(error))
    return _compare(given, wanted, fields, rows, found.name)


def _expected(path: Path, keys: Sequence[Field], fields: Sequence[Field], sheet: str | None) -> _Keyed:
    try:
        keyed = _keyed(read_rows(path, sheet=sheet), keys, fields, path.name)
    except FileNotFoundError:
        raise GraderError(f"the reference table {path} does not exist") from None
    except TableError as error:
        raise GraderError(f"the reference table {path} can't be used: {error}") from None
    missing = [field.column for field in fields if field.column not in keyed.columns]
    if missing or keyed.extra:
        problem = f"lacks {', '.join(missing)}" if missing else f"has the key {keyed.extra[0][1]} twice"
        raise GraderError(f"the reference table {path} {problem}")
    for line, cells in keyed.rows.values():
        for field in fields:
            if field.value(_at(cells, keyed.columns[field.column])) is _UNREADABLE:
                raise GraderError(
                    f"the reference table {path} has no {field.kind} in column {field.column}, row {line}"
                )
    return keyed


def _keyed(rows: Rows, keys: Sequence[Field], fields: Sequence[Field], name: str) -> _Keyed:
    """Raises TableError when no row near the top has all key columns."""
    if not rows.cells:
        raise TableError(f"{name} has no rows")
    wanted = (*keys, *fields)
    candidates = [_positions(cells, wanted) for _, cells in rows.cells[:_HEADER_SEARCH]]
    best = max(range(len(candidates)), key=lambda index: (len(candidates[index]), -index))
    columns = candidates[best]
    missing = [field.column for field in keys if field.column not in columns]
    if missing:
        header = ", ".join(text(cell, exact=True) for cell in rows.cells[0][1][:12])[:200]
        raise TableError(f"{name} has no column {' or '.join(missing)}; its first row is: {header}")
    keyed: dict[Key, tuple[int, tuple[Cell, ...]]] = {}
    extra: list[tuple[int, str]] = []
    labels: dict[Key, str] = {}
    for line, cells in rows.cells[best + 1 :]:
        identity = tuple(field.value(_at(cells, columns[field.column])) for field in keys)
        label = "/".join(_brief(text(_at(cells, columns[field.column]), exact=True)) or "(empty)" for field in keys)
        if identity in keyed:
            extra.append((line, label))
        else:
            keyed[identity] = (line, cells)
            labels[identity] = label
    return _Keyed(keyed, tuple(extra), columns, labels)


def _positions(cells: Sequence[Cell], wanted: Sequence[Field]) -> dict[str, int]:
    titles = [_title(text(cell)) for cell in cells]
    found: dict[str, int] = {}
    for field in wanted:
        for name in (field.column, *field.aliases):
            if _title(name) in titles:
                found[field.column] = titles.index(_title(name))
                break
    return found


def _title(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _compare(given: _Keyed, wanted: _Keyed, fields: Sequence[Field], rows: Rows, name: str) -> Score:
    missing = [wanted.labels[identity] for identity in wanted.rows if identity not in given.rows]
    unknown = [(line, given.labels[key]) for key, (line, _) in given.rows.items() if key not in wanted.rows]
    surplus = sorted([*unknown, *given.extra])
    whole = len(wanted.rows) + len(surplus)
    parts = {field.column: (field.weight, _column(field, given, wanted, whole, name)) for field in fields}
    total = weighted(parts)
    sentences = [f"{len(wanted.rows) - len(missing)} of {len(wanted.rows)} expected rows are in {name}"]
    if missing:
        sentences.append(f"missing: {_some(missing)}")
    if surplus:
        sentences.append(f"not expected: {_some([f'{label} (row {line})' for line, label in surplus])}")
    if rows.unsaved:
        sentences.append(f"formulas without a calculated value count as empty: {_some(list(rows.unsaved))}")
    if rows.note:
        sentences.append(f"read as {rows.note}")
    details = {"expected_rows": len(wanted.rows), "missing": len(missing), "not_expected": len(surplus)}
    return Score(total.value, total.reason, total.parts, details, "; ".join(sentences))


def _column(field: Field, given: _Keyed, wanted: _Keyed, whole: int, name: str) -> Score:
    if field.column not in given.columns:
        if whole == 0:
            return Score(1.0, sentence=f"no rows are expected in {name}, and there are none")
        return Score(0.0, "wrong_shape", sentence=f"{name} has no column {field.column}")
    right, mistakes = 0, []
    for identity, (_, cells) in wanted.rows.items():
        if identity not in given.rows:
            continue
        line, delivered = given.rows[identity]
        expected = field.value(_at(cells, wanted.columns[field.column]))
        cell = _at(delivered, given.columns[field.column])
        found = field.value(cell)
        if field.equal(found, expected):
            right += 1
        else:
            mistakes.append(
                _mistake(field, wanted.labels[identity], line=line, cell=cell, found=found, expected=expected)
            )
    sentence = f"{field.column}: {right} of {whole} right"
    if mistakes:
        sentence += "; " + _some([mistake["sentence"] for mistake in mistakes], "; ")
    recorded = [{key: value for key, value in mistake.items() if key != "sentence"} for mistake in mistakes[:100]]
    return Score(right / whole if whole else 1.0, details={"mistakes": recorded, "of": whole}, sentence=sentence)


def _mistake(field: Field, label: str, *, line: int, cell: Cell, found: object, expected: object) -> dict[str, Any]:
    tolerance = field.tolerance(expected)
    shown = "nothing" if found is None else _brief(text(cell, exact=True))
    within = f" ± {tolerance.normalize():f}" if tolerance else ""
    wanted = "nothing" if expected is None else _brief(expected)
    return {
        "where": {"key": label, "row": line, "column": field.column},
        "found": shown,
        "expected": wanted,
        "tolerance": float(tolerance),
        "sentence": f"{label} (row {line}): found {shown}, expected {wanted}{within}",
    }


def _at(cells: Sequence[Cell], position: int) -> Cell:
    return cells[position] if position < len(cells) else None


def _brief(value: object) -> str:
    shown = value.isoformat() if isinstance(value, date) else f"{value:f}" if isinstance(value, Decimal) else str(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _some(items: Sequence[str], separator: str = ", ") -> str:
    more = f"{separator}and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return separator.join(items[:_SHOWN]) + more
