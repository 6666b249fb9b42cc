"""The oracle's first half: what has to be typed for each candidate, as JSON rows on stdout."""

import csv
import json
import re
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path


def percent(points, most):
    return points * 100 / most


def rounded(value):
    return str(value.quantize(Decimal("0.1"), ROUND_HALF_UP))


def points(text):
    return Decimal(0) if text in ("", "-") else Decimal(text.replace(",", "."))


def main(folder):
    with (folder / "marks.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = {row["Candidate"]: row for row in csv.DictReader(file, delimiter=";")}
    most = {name: points(text) for name, text in rows.pop("max").items() if name not in ("Candidate", "Name", "Remark")}
    notes = " ".join((folder / "board_notes.md").read_text(encoding="utf-8").split())
    for candidate, value, name in re.findall(r"candidate (\d+) \(\w+\) has ([\d.]+) points in (A\d)", notes):
        rows[candidate][name] = value
    typed = []
    for candidate in sorted(rows):
        row = rows[candidate]
        if row["Remark"] == "withdrawn":
            continue
        shares = sorted(percent(points(row[name]), most[name]) for name in ("A1", "A2", "A3", "A4", "A5"))
        practical = (
            "EX" if row["Practical"] == "exempt" else rounded(percent(points(row["Practical"]), most["Practical"]))
        )
        exam = percent(max(points(row["Exam"]), points(row["Resit"])), most["Exam"])
        typed.append([candidate, rounded(sum(shares[1:]) / 4), practical, rounded(exam)])
    json.dump(typed, sys.stdout)


main(Path(sys.argv[1]))
