"""Read a delivered CSV, TSV or XLSX file that may be anything: bounded, and unreadable is an answer, not a crash."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ale.grading.values import Cell, is_empty


class TableError(Exception):
    """The file is no such table; the message is one sentence about what was found."""


@dataclass(frozen=True)
class TableLimits:
    bytes: int = 64 * 2**20
    unpacked_bytes: int = 128 * 2**20
    rows: int = 200_000
    columns: int = 512


@dataclass(frozen=True)
class Rows:
    """cells: every row that is not blank, with its number in the file (from 1).

    unsaved: places of formulas without a value, since the program that wrote the file never calculated them.
    note: how the file was read, if unusually. sheets: the names of a workbook's sheets.
    """

    cells: tuple[tuple[int, tuple[Cell, ...]], ...]
    unsaved: tuple[str, ...] = ()
    note: str = ""
    sheets: tuple[str, ...] = ()


def read_rows(
    path: Path,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    limits: TableLimits | None = None,
    first: int | None = None,
) -> Rows:
    """The rows of a text table, or of one sheet of a workbook (the first one when `sheet` is None).

    first: read no more than so many rows.
    Raises TableError; FileNotFoundError when there is no such file.
    """
    limits = limits or TableLimits()
    if path.is_dir():
        raise TableError(f"{path.name} is a directory")
    size = path.stat().st_size
    if size == 0:
        raise TableError(f"{path.name} is empty")
    if size > limits.bytes:
        raise TableError(f"{path.name} has {size / 2**20:.0f} MB; tables are read up to {limits.bytes // 2**20} MB")
    content = path.read_bytes()
    is_workbook = content.startswith(b"PK\x03\x04")
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        if not is_workbook:
            old = content.startswith(b"\xd0\xcf\x11\xe0")
            raise TableError(f"{path.name} is {'an encrypted or old .xls' if old else 'no Excel'} workbook")
        return _workbook_rows(path.name, content, sheet, limits, first)
    if is_workbook:
        raise TableError(f"{path.name} is a zip archive or workbook, not a text table")
    delimiter = delimiter or ("\t" if path.suffix.lower() == ".tsv" else None)
    return _text_rows(path.name, content, delimiter, limits, first)


def _text_rows(name: str, content: bytes, delimiter: str | None, limits: TableLimits, first: int | None) -> Rows:
    text, encoding = _decode(name, content)
    chosen = delimiter or _sniff(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=chosen)
    rows: list[tuple[int, tuple[Cell, ...]]] = []
    try:
        for number, row in enumerate(islice(reader, first), start=1):
            _check_size(name, number, len(row), limits)
            if any(cell.strip() for cell in row):
                rows.append((number, tuple(row)))
    except csv.Error as error:
        raise TableError(f"{name} is no delimited text: {error} (line {reader.line_num})") from None
    unusual = [note for note in (encoding, "" if chosen == "," else f"delimiter {chosen!r}") if note]
    return Rows(tuple(rows), note=", ".join(unusual))


def _decode(name: str, content: bytes) -> tuple[str, str]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\x00" in content[:4096]:
        raise TableError(f"{name} is binary data, not text")
    else:
        encoding = "utf-8-sig"
    try:
        return content.decode(encoding), "" if encoding == "utf-8-sig" else encoding
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "windows-1252"


def _sniff(text: str) -> str:
    """The separator that the first non-blank line has most of, outside quotes; a comma when there is none."""
    first = next((line for line in io.StringIO(text[:65536]) if line.strip()), "")
    outside = "".join(first.split('"')[::2])
    return max((",", ";", "\t", "|"), key=outside.count)


def _workbook_rows(name: str, content: bytes, sheet: str | None, limits: TableLimits, first: int | None) -> Rows:
    import openpyxl

    _check_archive(name, content, limits)
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        values = _grid(book, name, sheet, limits, first)
        formulas = _grid(openpyxl.load_workbook(io.BytesIO(content), read_only=True), name, sheet, limits, first)
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - a hostile workbook can make its reader raise anything; it becomes the verdict
        raise TableError(f"{name} can't be read as a workbook: {type(error).__name__}: {str(error)[:200]}") from None
    unsaved = _unsaved(values, formulas)
    rows = [(number, row) for number, row in enumerate(values, start=1) if not all(is_empty(cell) for cell in row)]
    return Rows(tuple(rows), unsaved, sheets=tuple(map(str, book.sheetnames)))


def _check_archive(name: str, content: bytes, limits: TableLimits) -> None:
    """Sizes as declared bound what can be unpacked (zipfile cuts there); document types are how XML bombs begin."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > 5000:
                raise TableError(f"{name} has {len(members)} parts; that is no workbook")
            if sum(member.file_size for member in members) > limits.unpacked_bytes:
                raise TableError(f"{name} unpacks to more than {limits.unpacked_bytes // 2**20} MB")
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                    with archive.open(member) as part:
                        _refuse_document_type(name, part)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise TableError(f"{name} is a damaged workbook: {str(error)[:200]}") from None


def _refuse_document_type(name: str, part: Any) -> None:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise TableError(f"{name} holds an XML document type, which no spreadsheet program writes")

    parser.StartDoctypeDeclHandler = refuse
    parser.ParseFile(part)


def _grid(book: Any, name: str, sheet: str | None, limits: TableLimits, first: int | None) -> list[tuple[Cell, ...]]:
    """Cells of one sheet. What the sheet says of its own size is not believed."""
    names = list(book.sheetnames)
    if not names:
        raise TableError(f"{name} has no sheet")
    chosen = names[0] if sheet is None else next((each for each in names if _same_name(each, sheet)), None)
    if chosen is None:
        raise TableError(f"{name} has no sheet '{sheet}'; its sheets are {', '.join(names[:10])[:200]}")
    worksheet = book[chosen]
    if not hasattr(worksheet, "reset_dimensions"):
        raise TableError(f"sheet '{chosen}' of {name} holds no cells")
    worksheet.reset_dimensions()
    grid: list[tuple[Cell, ...]] = []
    for number, row in enumerate(islice(worksheet.iter_rows(values_only=True), first), start=1):
        _check_size(name, number, len(row), limits)
        grid.append(tuple(_cell(value) for value in row))
    return grid


def _same_name(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _check_size(name: str, row: int, columns: int, limits: TableLimits) -> None:
    if row > limits.rows:
        raise TableError(f"{name} has more than {limits.rows} rows")
    if columns > limits.columns:
        raise TableError(f"{name} has {columns} columns in row {row}; tables are read up to {limits.columns}")


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, str | int | float | Decimal | bool | date):
        return value
    return str(value)


def _unsaved(values: Sequence[Sequence[Cell]], formulas: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    from openpyxl.utils import get_column_letter

    def places() -> Iterator[str]:
        for row, (shown, written) in enumerate(zip(values, formulas, strict=False), start=1):
            for column, formula in enumerate(written, start=1):
                missing = column > len(shown) or shown[column - 1] is None
                if missing and isinstance(formula, str) and formula.startswith("="):
                    yield f"{get_column_letter(column)}{row}"

    return tuple(islice(places(), 1000))
