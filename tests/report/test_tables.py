"""Tables are read apart from the page: what one file does to its reader does not touch the others."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.report.folders import workbook

from ale.report.tables import Table, read_tables


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "good.csv").write_text("a,b\n1,2\n")
    workbook(tmp_path / "good.xlsx", {f"S{number}": [["x"]] for number in range(6)})
    return tmp_path


def swollen(source: Path, target: Path, member: str, begin: bytes, filler: bytes, times: int, end: bytes) -> None:
    """The workbook with one part replaced by much of the same."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != member:
                new.writestr(name, old.read(name))
        new.writestr(member, begin + filler * times + end)


def test_rows_and_sheets_are_shown_up_to_a_bound(root: Path) -> None:
    (root / "long.csv").write_text("".join(f"{number},{'x' * 500}\n" for number in range(100)))
    found = read_tables(root, ["good.xlsx", "long.csv"])
    sheets = found["good.xlsx"]
    assert isinstance(sheets, tuple)
    assert [table.sheet for table in sheets] == ["S0", "S1", "S2", "S3"]
    assert sheets[-1].note == "2 more sheets are not shown"
    [long] = found["long.csv"]
    assert isinstance(long, Table)
    assert (len(long.rows), long.more_rows, len(long.rows[0][1][1])) == (30, True, 160)


STYLES = b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs>'


@pytest.mark.parametrize(
    ("member", "begin", "filler", "times", "end"),
    [
        ("xl/styles.xml", STYLES, b'<xf numFmtId="0"/>', 1_200_000, b"</cellXfs></styleSheet>"),
        ("xl/sharedStrings.xml", b"<sst>", b"<si><t>x</t></si>", 1_300_000, b"</sst>"),
        ("xl/workbook.xml", b"<!DOCTYPE w [<!ENTITY a 'b'>]><workbook>", b"&a;", 1000, b"</workbook>"),
    ],
    ids=["styles", "strings", "entities"],
)
def test_a_workbook_that_keeps_its_reader_busy_does_not_keep_the_next_from_being_read(
    root: Path, member: str, begin: bytes, filler: bytes, times: int, end: bytes
) -> None:
    swollen(root / "good.xlsx", root / "bad.xlsx", member, begin, filler, times, end)
    found = read_tables(root, ["bad.xlsx", "good.csv", "gone.csv"])
    assert found["bad.xlsx"]
    [good] = found["good.csv"]
    assert isinstance(good, Table)
    assert good.rows == ((1, ("a", "b")), (2, ("1", "2")))
    assert isinstance(found["gone.csv"], str)


def test_no_tables_start_no_process() -> None:
    assert read_tables(Path("/nowhere"), []) == {}
