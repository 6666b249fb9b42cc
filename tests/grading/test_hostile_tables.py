"""Files that are made to hurt a grader are a 0 with a sentence, within bounded memory."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest

from ale.grading.reading import TableError, TableLimits, read_rows
from ale.grading.table import Field, compare_tables


def base_workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "x"])
    sheet.append([1, 2])
    raw = io.BytesIO()
    book.save(raw)
    return raw.getvalue()


def with_part(name: str, content: bytes) -> bytes:
    """The base workbook with one part replaced."""
    raw = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(base_workbook())) as old, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            if member.filename != name:
                new.writestr(member, old.read(member))
        new.writestr(name, content)
    return raw.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
NS = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def sheet(rows: bytes) -> bytes:
    return b"<worksheet " + NS + b"><sheetData>" + rows + b"</sheetData></worksheet>"


LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><worksheet "
    + NS
    + b"><sheetData><row><c t='inlineStr'><is><t>&j;</t></is></c></row></sheetData></worksheet>"
)
OUTSIDE = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet ' + NS + b">&a;</worksheet>"
)

HOSTILE = {
    "zip bomb": with_part(SHEET, b"\x00" * (300 * 2**20)),
    "entity bomb": with_part(SHEET, LAUGHS),
    "entity bomb in UTF-16": with_part(
        SHEET, LAUGHS.decode().replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16")
    ),
    "file entity": with_part(SHEET, OUTSIDE),
    "row number without end": with_part(SHEET, sheet(b'<row r="999999999999"><c r="A999999999999"><v>1</v></c></row>')),
    "column far out": with_part(SHEET, sheet(b'<row r="1"><c r="ZZZ1"><v>1</v></c></row>')),
    "column that is none": with_part(SHEET, sheet(b'<row r="1"><c r="ZZZZZZZZ1"><v>1</v></c></row>')),
    "integer of 5000 digits": with_part(SHEET, sheet(b'<row r="1"><c r="A1"><v>' + b"9" * 5000 + b"</v></c></row>")),
    "shared string that is not there": with_part(SHEET, sheet(b'<row r="1"><c r="A1" t="s"><v>77777</v></c></row>')),
    "deeply nested": with_part(SHEET, b"<a>" * 200_000),
    "truncated": base_workbook()[:-200],
    "no workbook at all": b"PK\x03\x04" + b"\x00" * 100,
    "no sheet part": with_part("xl/workbook.xml", b"<workbook " + NS + b"><sheets/></workbook>"),
    "plain text": b"id,x\n1,2\n",
    "old format": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600,
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_workbook_is_zero_with_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "e.csv").write_text("id,x\n1,2\n")
    (tmp_path / "f.xlsx").write_bytes(HOSTILE[name])
    score = compare_tables(tmp_path / "f.xlsx", tmp_path / "e.csv", key=["id"], fields=[Field("x", "number")])
    assert score.value == 0.0
    assert score.reason == "wrong_shape"
    assert score.sentence.startswith("f.xlsx ")
    assert len(score.sentence) < 500


TEXTS = {
    "NUL bytes": b"id,x\n\x00\x00\x00\n",
    "one endless field": b'id,x\n1,"' + b"a" * 2_000_000,
    "too many columns": b"id,x" + b",y" * 5000 + b"\n",
    "integer of 5000 digits": b"id,x\n1," + b"9" * 5000 + b"\n",
    "only separators": b",,,,\n;;;;\n",
    "binary": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_table_is_zero(tmp_path: Path, name: str) -> None:
    (tmp_path / "e.csv").write_text("id,x\n1,2\n")
    (tmp_path / "f.csv").write_bytes(TEXTS[name])
    score = compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[Field("x", "number")])
    assert score.value == 0.0
    assert score.sentence


def test_a_large_honest_table_is_read_and_one_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("id,x\n" + "".join(f"{n},{n}\n" for n in range(100_000)))
    assert len(read_rows(tmp_path / "f.csv").cells) == 100_001
    with pytest.raises(TableError, match="more than 1000 rows"):
        read_rows(tmp_path / "f.csv", limits=TableLimits(rows=1000))
    with pytest.raises(TableError, match="MB"):
        read_rows(tmp_path / "f.csv", limits=TableLimits(bytes=1000))


def test_a_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(TableError, match="directory"):
        read_rows(tmp_path / "f.csv")
