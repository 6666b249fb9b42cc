"""Tables are graded field by field, whatever dress they come in."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ale.errors import GraderError
from ale.grading import Score
from ale.grading.table import Field, compare_tables

EXPECTED = "id,city,amount,paid\nA-1,Köln,1234.50,yes\nA-2,Rome,-0.13,no\nA-3,Oslo,7,no\n"
FIELDS = [Field("city"), Field("amount", "number", absolute=0.005), Field("paid", "truth")]


def compare(tmp_path: Path, content: bytes | str, name: str = "found.csv", expected: str = EXPECTED) -> Score:
    (tmp_path / "expected.csv").write_text(expected, encoding="utf-8")
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return compare_tables(tmp_path / name, tmp_path / "expected.csv", key=["id"], fields=FIELDS)


def workbook(rows: list[list[object]], title: str = "Sheet") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(row)
    raw = io.BytesIO()
    book.save(raw)
    return raw.getvalue()


SAME = {
    "as it is": EXPECTED,
    "with a byte order mark": "\ufeff" + EXPECTED,
    "with CRLF": EXPECTED.replace("\n", "\r\n"),
    "with blank lines": "\n" + EXPECTED.replace("\n", "\n\n") + "\n\n",
    "with another order of rows": "id,city,amount,paid\nA-3,Oslo,7,no\nA-1,Köln,1234.50,yes\nA-2,Rome,-0.13,no\n",
    "with another order of columns": "paid,amount,id,city\nno,-0.13,A-2,Rome\nyes,1234.50,A-1,Köln\nno,7.00,A-3,Oslo\n",
    "with a further column": EXPECTED.replace("\n", ",x\n"),
    "with semicolons": EXPECTED.replace(",", ";"),
    "with tabs": EXPECTED.replace(",", "\t"),
    "with quotes": EXPECTED.replace("A-1,Köln", '"A-1","Köln"'),
    "with other number formats": EXPECTED.replace("1234.50", '"EUR 1,234.504"').replace("-0.13", "(0.13)"),
    "with other header spellings": EXPECTED.replace("id,city", "ID , City"),
    "with a ragged row": EXPECTED.replace("Oslo,7,no", "Oslo,7,no,,,"),
    "with a title above": "Amounts by city\n" + EXPECTED,
}


@pytest.mark.parametrize("content", SAME.values(), ids=SAME.keys())
def test_the_same_table_in_another_dress_has_full_marks(tmp_path: Path, content: str) -> None:
    score = compare(tmp_path, content)
    assert score.value == 1.0, score.to_json()


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    assert compare(tmp_path, EXPECTED.encode(encoding)).value == 1.0


def test_a_workbook_has_full_marks_too(tmp_path: Path) -> None:
    rows = [["Report"], [], ["id", "city", "amount", "paid"], ["A-1", "Köln", 1234.5, True]]
    rows += [["A-2", "Rome", "-0.13", "no"], ["A-3", "Oslo", 7, False]]
    assert compare(tmp_path, workbook(rows), "found.xlsx").value == 1.0


def test_partial_credit_says_what_was_found_expected_and_where(tmp_path: Path) -> None:
    score = compare(tmp_path, EXPECTED.replace("1234.50", "1234.51").replace("Rome", "Roma"))
    assert score.value == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    amount = next(part for part in score.parts if part.name == "amount")
    assert amount.sentence == "amount: 2 of 3 right; A-1 (row 2): found 1234.51, expected 1234.50 ± 0.005"
    assert amount.score.details["mistakes"][0]["where"] == {"key": "A-1", "row": 2, "column": "amount"}


def test_missing_rows_and_rows_too_many_cost_points(tmp_path: Path) -> None:
    missing = compare(tmp_path, "id,city,amount,paid\nA-1,Köln,1234.50,yes\n")
    assert missing.value == pytest.approx(1 / 3)
    assert "missing: A-2, A-3" in missing.sentence
    shotgun = compare(tmp_path, EXPECTED + "".join(f"B-{n},Köln,1,no\n" for n in range(97)))
    assert shotgun.value == pytest.approx(3 / 100)
    twice = compare(tmp_path, EXPECTED + "A-1,Bonn,9,no\n")
    assert twice.value == pytest.approx(3 / 4)
    assert "not expected: A-1 (row 5)" in twice.sentence


def test_a_missing_column_costs_its_weight_and_a_missing_key_everything(tmp_path: Path) -> None:
    assert compare(tmp_path, "id,city,amount\nA-1,Köln,1234.50\nA-2,Rome,-0.13\nA-3,Oslo,7\n").value == pytest.approx(
        2 / 3
    )
    no_key = compare(tmp_path, EXPECTED.replace("id,", "number,"))
    assert (no_key.value, no_key.reason) == (0.0, "wrong_shape")
    assert "no column id" in no_key.sentence


@pytest.mark.parametrize(
    ("found", "expected", "absolute", "relative", "right"),
    [
        ("0.00354", "0.004", 0.0, 0.10, False),  # a reference rounded too far makes right answers fail
        ("1.005", "1.00", 0.005, 0.0, True),
        ("1.0051", "1.00", 0.005, 0.0, False),
        ("-110", "-100", 0.0, 0.1, True),
        ("0", "0", 0.0, 0.5, True),
        ("0.0001", "0", 0.0, 0.5, False),
        ("", "0", 1.0, 0.0, False),
        ("0", "", 1.0, 0.0, False),
        ("nan", "0", 1.0, 0.0, False),
        ("", "", 0.0, 0.0, True),
    ],
)
def test_tolerances(tmp_path: Path, found: str, expected: str, absolute: float, relative: float, right: bool) -> None:
    (tmp_path / "e.csv").write_text(f"id,x\n1,{expected}\n")
    (tmp_path / "f.csv").write_text(f"id,x\n1,{found}\n")
    field = Field("x", "number", absolute=absolute, relative=relative)
    assert compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[field]).value == float(right)


def test_a_formula_that_was_never_calculated_counts_as_empty_and_is_named(tmp_path: Path) -> None:
    rows = [["id", "city", "amount", "paid"], ["A-1", "Köln", "=1200+34.5", "yes"], ["A-2", "Rome", -0.13, "no"]]
    score = compare(tmp_path, workbook([*rows, ["A-3", "Oslo", 7, "no"]]), "found.xlsx")
    assert score.value == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert "formulas without a calculated value count as empty: C2" in score.sentence


def test_the_sheet_is_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("id,x\n1,2\n")
    (tmp_path / "f.xlsx").write_bytes(workbook([["id", "x"], [1, 2]], "Result"))
    found = compare_tables(tmp_path / "f.xlsx", tmp_path / "e.csv", key=["id"], fields=[Field("x")], sheet=" result ")
    assert found.value == 1.0
    other = compare_tables(tmp_path / "f.xlsx", tmp_path / "e.csv", key=["id"], fields=[Field("x")], sheet="Total")
    assert (other.reason, other.sentence) == ("wrong_shape", "f.xlsx has no sheet 'Total'; its sheets are Result")


def test_a_missing_deliverable_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("id,x\n1,2\n")
    assert compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[Field("x")]).reason == "no_output"


@pytest.mark.parametrize("reference", [None, "", "id\n1\n", "x\n2\n", "id,x\n1,2\n1,3\n", "id,x\n1,nan\n"])
def test_an_unusable_reference_is_a_grader_error_and_never_a_zero(tmp_path: Path, reference: str | None) -> None:
    (tmp_path / "f.csv").write_text("id,x\n1,2\n")
    if reference is not None:
        (tmp_path / "e.csv").write_text(reference)
    with pytest.raises(GraderError, match=r"e\.csv"):
        compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[Field("x", "number")])


def test_a_kind_of_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(GraderError, match=r"Field\('n'\): there is no kind 'numbre' \(did you mean 'number'\?\)"):
        Field("n", "numbre")  # type: ignore[arg-type]


def test_no_rows_expected_and_none_found_is_right(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("id,x\n")
    (tmp_path / "f.csv").write_text("id,x\n")
    assert compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[Field("x")]).value == 1.0
    (tmp_path / "f.csv").write_text("id,x\n1,2\n")
    assert compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=[Field("x")]).value == 0.0


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
tables = st.lists(st.tuples(st.integers(0, 50), cells, st.floats(-1e6, 1e6)), max_size=8, unique_by=lambda row: row[0])
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def written(rows: list[tuple[int, str, float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "word", "amount"])
    writer.writerows(rows)
    return text.getvalue()


@relaxed
@given(tables, tables)
def test_identity_is_one_and_everything_else_is_between(
    tmp_path: Path, one: list[tuple[int, str, float]], other: list[tuple[int, str, float]]
) -> None:
    for name, rows in (("e.csv", one), ("f.csv", other)):
        (tmp_path / name).write_bytes(written(rows).encode())
    fields = [Field("word"), Field("amount", "number", relative=1e-9)]
    assert compare_tables(tmp_path / "e.csv", tmp_path / "e.csv", key=["id"], fields=fields).value == 1.0
    assert 0.0 <= compare_tables(tmp_path / "f.csv", tmp_path / "e.csv", key=["id"], fields=fields).value <= 1.0


@relaxed
@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_a_score(tmp_path: Path, content: bytes) -> None:
    for name in ("found.csv", "found.tsv", "found.xlsx"):
        assert 0.0 <= compare(tmp_path, content, name).value <= 1.0


@relaxed
@given(st.data())
def test_a_damaged_workbook_is_a_score(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(WORKBOOK)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content)))
    assert 0.0 <= compare(tmp_path, bytes(content[:cut]), "found.xlsx").value <= 1.0
    assert 0.0 <= compare(tmp_path, bytes(content), "found.xlsx").value <= 1.0


WORKBOOK = workbook([["id", "city", "amount", "paid"], ["A-1", "Köln", 1234.5, True]])
