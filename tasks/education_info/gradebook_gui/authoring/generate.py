"""Make input/, scripts/<instance>/course.json and reference/ of every instance from a seed: `python generate.py`.

What the gradebook would answer is computed here once more, in fractions and from the rules in words, so that the
reference and the program check each other.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

TASK = Path(__file__).resolve().parent.parent
ASSIGNMENTS = (20, 20, 25, 25, 10)
PRACTICAL, EXAM = 40, 120
LETTERS = "ACDEFHJKLMNPRTUVWXY34679"

# instance: seed, course, candidates, weights in per cent, lowest marks of the grades
INSTANCES = {
    "instance1": (210, "BIO-210 Cell Biology", 8, (25, 30, 45), (72, 61, 50, 42)),
    "instance2": (305, "CHE-305 Physical Chemistry", 11, (30, 15, 55), (76, 64, 53, 40)),
}


@dataclass
class Candidate:
    """points: of each assignment, in halves; None for one that was not handed in. practical: None for an exemption."""

    number: str
    name: str
    points: list[Fraction | None]
    practical: Fraction | None
    exam: int
    resit: int | None
    withdrawn: bool
    moderation: Fraction
    typo: int | None = field(default=None)

    @property
    def coursework(self) -> Fraction:
        shares = [(points or Fraction(0)) * 100 / most for points, most in zip(self.points, ASSIGNMENTS, strict=True)]
        return tenths(sum(sorted(shares)[1:], Fraction(0)) / 4)

    @property
    def practical_share(self) -> Fraction | None:
        return None if self.practical is None else tenths(self.practical * 100 / PRACTICAL)

    @property
    def exam_share(self) -> Fraction:
        return tenths(Fraction(max(self.exam, self.resit or 0) * 100, EXAM))


def tenths(value: Fraction) -> Fraction:
    """Half up."""
    return Fraction(math.floor(value * 10 + Fraction(1, 2)), 10)


def main() -> None:
    for name, (seed, course, count, weights, lowest) in INSTANCES.items():
        rng = random.Random(seed)
        candidates = draw(rng, count)
        key = rng.randbytes(32)
        write_marks(TASK / "input" / name, rng, candidates)
        write_notes(TASK / "input" / name, course, candidates)
        write_course(TASK / "scripts" / name, course, candidates, weights, lowest, key)
        write_reference(TASK / "reference" / name, candidates, weights, lowest, key)


def draw(rng: random.Random, count: int) -> list[Candidate]:
    names = [
        "Abara",
        "Brandt",
        "Castellanos",
        "Dubois",
        "Eriksen",
        "Ferreira",
        "Gallagher",
        "Haddad",
        "Ivanova",
        "Jung",
        "Kowalczyk",
        "Lund",
    ]
    candidates = []
    for place, number in enumerate(sorted(rng.sample(range(40100, 40999), count))):
        points: list[Fraction | None] = [Fraction(rng.randrange(most, 2 * most + 1), 2) for most in ASSIGNMENTS]
        if place % 3 == 1:
            points[rng.randrange(5)] = None
        exam = rng.randrange(40, 116)
        candidates.append(
            Candidate(
                number=str(number),
                name=names[place],
                points=points,
                practical=None if place == 4 else Fraction(rng.randrange(30, 81), 2),
                exam=exam,
                resit={0: exam + 9, 5: exam - 7}.get(place),
                withdrawn=place == 3,
                moderation=Fraction(rng.randrange(-25, 26), 10),
            )
        )
    # One entry of the export is wrong, and the board's notes put it right.
    wrong = candidates[2]
    wrong.typo = next(n for n, points in enumerate(wrong.points) if points is not None and points > 10)
    return candidates


def write_marks(folder: Path, rng: random.Random, candidates: list[Candidate]) -> None:
    """Semicolons, decimal commas, a row of maxima, candidates in the order of their names or of nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(["Candidate", "Name", "A1", "A2", "A3", "A4", "A5", "Practical", "Exam", "Resit", "Remark"])
    writer.writerow(["max", "", *ASSIGNMENTS, PRACTICAL, EXAM, EXAM, ""])
    rows = list(candidates)
    rng.shuffle(rows)
    for each in rows:
        points = ["-" if value is None else number(value).replace(".", ",") for value in each.points]
        if each.typo is not None:
            points[each.typo] = number(Fraction(each.points[each.typo] or 0) / 10).replace(".", ",")
        practical = "exempt" if each.practical is None else number(each.practical).replace(".", ",")
        resit = "" if each.resit is None else each.resit
        writer.writerow(
            [each.number, each.name, *points, practical, each.exam, resit, "withdrawn" if each.withdrawn else ""]
        )
    (folder / "marks.csv").write_bytes(text.getvalue().encode("utf-8-sig"))


def write_notes(folder: Path, course: str, candidates: list[Candidate]) -> None:
    wrong = next(each for each in candidates if each.typo is not None)
    assert wrong.typo is not None
    (folder / "board_notes.md").write_text(
        f"""\
# {course}: notes of the examination board

1. The export of the marks has one slip of the decimal point: candidate {wrong.number} ({wrong.name}) has
   {number(wrong.points[wrong.typo])} points in A{wrong.typo + 1}.
2. Whoever has withdrawn gets no final mark and is not entered.
3. Weights and moderation were decided in the meeting of the board. They are in the gradebook and nowhere else.
""",
        encoding="utf-8",
    )


def write_course(
    folder: Path,
    course: str,
    candidates: list[Candidate],
    weights: tuple[int, ...],
    lowest: tuple[int, ...],
    key: bytes,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "title": course,
        "weights": {
            name: f"0.{weight:02d}" for name, weight in zip(("coursework", "practical", "exam"), weights, strict=True)
        },
        "moderation": {each.number: number(each.moderation) for each in candidates if not each.withdrawn},
        "grades": [*([str(mark), grade] for mark, grade in zip(lowest, "ABCD", strict=True)), ["0", "F"]],
        "key": key.hex(),
    }
    (folder / "course.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def write_reference(
    folder: Path, candidates: list[Candidate], weights: tuple[int, ...], lowest: tuple[int, ...], key: bytes
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["candidate", "coursework", "practical", "exam", "final_mark", "grade", "receipt"])
    for each in candidates:
        if each.withdrawn:
            continue
        shares = [each.coursework, each.practical_share, each.exam_share]
        parts = [(share if share is not None else each.exam_share) for share in shares]
        exact = sum((Fraction(w, 100) * part for w, part in zip(weights, parts, strict=True)), each.moderation)
        final = tenths(min(max(exact, Fraction(0)), Fraction(100)))
        grade = next((grade for mark, grade in zip(lowest, "ABCD", strict=True) if final >= mark), "F")
        shown = ["EX" if share is None else f"{float(share):.1f}" for share in shares]
        receipt = receipt_of(key, "|".join([each.number, *shown, f"{float(final):.1f}"]))
        typed = ["" if share == "EX" else share for share in shown]
        writer.writerow([each.number, *typed, f"{float(final):.1f}", grade, receipt])
    (folder / "final_marks.csv").write_text(text.getvalue(), encoding="utf-8")


def receipt_of(key: bytes, text: str) -> str:
    number = int(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), 16)
    letters = [LETTERS[number // len(LETTERS) ** place % len(LETTERS)] for place in range(6)]
    return "".join(letters[:3]) + "-" + "".join(letters[3:])


def number(value: Fraction | None) -> str:
    assert value is not None
    return f"{float(value):g}"


if __name__ == "__main__":
    main()
