"""The first rows of delivered tables, read in a process of its own: what a hostile workbook costs is bounded there."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale.task.confine import ENVIRONMENT, confined, interpreter_paths, module_paths

SUFFIXES = (".csv", ".tsv", ".xlsx", ".xlsm")
ROWS, COLUMNS, CELL = 30, 24, 160
_SHEETS = 4
_SECONDS_EACH = 3.0
_SECONDS = 15
_MEMORY = 2 * 2**30
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from ale.report.tables import main; main()"


@dataclass(frozen=True)
class Table:
    """rows: number in the file, cells as text. more_rows, more_columns: there are others that are not shown."""

    sheet: str
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    columns: int
    more_rows: bool
    more_columns: bool
    note: str


def read_tables(root: Path, names: Sequence[str]) -> dict[str, tuple[Table, ...] | str]:
    """The sheets of each file that could be read, or the sentence that says why it was not."""
    if not names:
        return {}
    command = [sys.executable, "-I", "-B", "-c", _START, json.dumps(module_paths())]
    request = json.dumps({"root": str(root), "names": list(names)}).encode()
    try:
        done = subprocess.run(
            confined(command, readable=[*interpreter_paths(), root]),
            input=request,
            capture_output=True,
            timeout=_SECONDS,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            check=False,
        )
        output, missing = done.stdout, "reading it ended in a crash"
    except subprocess.TimeoutExpired as late:
        output, missing = late.stdout or b"", "there was no time left to read it"
    found: dict[str, tuple[Table, ...] | str] = dict.fromkeys(names, missing)
    for line in output.split(b"\n")[:-1]:
        answer = json.loads(line)
        tables = answer["tables"]
        found[answer["name"]] = tables if isinstance(tables, str) else tuple(map(_table, tables))
    return found


def _table(data: dict[str, Any]) -> Table:
    rows = tuple((number, tuple(cells)) for number, cells in data["rows"])
    return Table(**{**data, "rows": rows})


class _TooLong(BaseException):
    """Not an Exception, so that no reader takes it for a fault of the file."""


def main() -> None:
    """The child: names on stdin, one JSON line a file on stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGALRM, _stop)
    request = json.loads(sys.stdin.buffer.read())
    for name in request["names"]:
        tables: object
        try:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_EACH)
            tables = _read(Path(request["root"], name))
            signal.setitimer(signal.ITIMER_REAL, 0)
        except _TooLong:
            tables = f"reading it took longer than {_SECONDS_EACH:g} s"
        except MemoryError:
            tables = "reading it took too much memory"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(json.dumps({"name": name, "tables": tables}).encode() + b"\n")
        sys.stdout.buffer.flush()


def _stop(*_: object) -> None:
    raise _TooLong


def _read(path: Path) -> object:
    from ale.grading.reading import TableError, TableLimits, read_rows

    limits = TableLimits(bytes=16 * 2**20, unpacked_bytes=24 * 2**20)
    try:
        rows = read_rows(path, limits=limits, first=ROWS + 1)
    except (TableError, OSError) as error:
        return str(error)[:400]
    found = [_shown(rows.cells, rows.sheets[0] if rows.sheets else "", rows.note)]
    for sheet in rows.sheets[1:_SHEETS]:
        try:
            found.append(_shown(read_rows(path, sheet=sheet, limits=limits, first=ROWS + 1).cells, sheet, ""))
        except TableError as error:
            found.append(_shown((), sheet, str(error)))
    if len(rows.sheets) > _SHEETS:
        found[-1]["note"] = f"{len(rows.sheets) - _SHEETS} more sheets are not shown"
    return found


def _shown(cells: Sequence[tuple[int, Sequence[object]]], sheet: str, note: str) -> dict[str, Any]:
    shown = cells[:ROWS]
    widest = max((_width(row) for _, row in shown), default=0)
    columns = min(widest, COLUMNS)
    padding = [None] * columns
    return {
        "sheet": sheet[:100],
        "rows": [(number, [_text(cell) for cell in [*row, *padding][:columns]]) for number, row in shown],
        "columns": columns,
        "more_rows": len(cells) > ROWS,
        "more_columns": widest > COLUMNS,
        "note": note[:200],
    }


def _width(row: Sequence[object]) -> int:
    return max((position for position, cell in enumerate(row, start=1) if cell not in (None, "")), default=0)


def _text(cell: object) -> str:
    try:
        text = "" if cell is None else str(cell)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = "(an integer of thousands of digits)"
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"
