"""The gradebook of the examinations office: type a candidate's percentages, press Compute, read what the board awards.

Usage: python3 gradebook.py COURSE.json. Only the office may read the course's file: it holds the board's weights, the
moderation of each candidate, and the key of the receipts.
"""

import hashlib
import hmac
import json
import re
import sys
import tkinter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

SIZE = (600, 400)
FIELDS = ("candidate", "coursework", "practical", "exam")
LETTERS = "ACDEFHJKLMNPRTUVWXY34679"  # none that can be taken for another
INK, GROUND, RED = "#1c2733", "#eef1f4", "#a11d1d"
FONT, LARGE = ("DejaVu Sans", -15), ("DejaVu Sans Mono", -22, "bold")


class Course:
    def __init__(self, data):
        self.title = data["title"]
        self.weights = {name: Decimal(weight) for name, weight in data["weights"].items()}
        self.moderation = {name: Decimal(points) for name, points in data["moderation"].items()}
        self.grades = [(Decimal(mark), grade) for mark, grade in data["grades"]]
        self.key = bytes.fromhex(data["key"])

    def award(self, entry):
        """Final mark, grade and receipt of one candidate. Raises ValueError with a sentence for the person typing."""
        candidate = entry["candidate"]
        if candidate not in self.moderation:
            raise ValueError(f"There is no candidate {candidate or '(empty)'} on this course.")
        marks = {name: percentage(name, entry[name]) for name in FIELDS[1:]}
        weights = dict(self.weights)
        if marks["practical"] is None:
            weights["exam"] += weights.pop("practical")
        total = sum(weight * marks[name] for name, weight in weights.items()) + self.moderation[candidate]
        final = min(max(total, Decimal(0)), Decimal(100)).quantize(Decimal("0.1"), ROUND_HALF_UP)
        grade = next(grade for mark, grade in self.grades if final >= mark)
        return final, grade, self.receipt(candidate, marks, final)

    def receipt(self, candidate, marks, final):
        text = "|".join(
            [candidate, *(f"{mark:.1f}" if mark is not None else "EX" for mark in marks.values()), str(final)]
        )
        number = int.from_bytes(hmac.digest(self.key, text.encode(), hashlib.sha256), "big")
        letters = ""
        for _ in range(6):
            number, rest = divmod(number, len(LETTERS))
            letters += LETTERS[rest]
        return f"{letters[:3]}-{letters[3:]}"


def percentage(name, text):
    if name == "practical" and text.upper() == "EX":
        return None
    if not re.fullmatch(r"\d{1,3}(\.\d)?", text) or Decimal(text) > 100:
        raise ValueError(f"{name.capitalize()} must be a percentage such as 71.5, not {text[:20] or '(empty)'}.")
    return Decimal(text)


class Window:
    """Everything stands at fixed places, so that people who know the program work it blindly."""

    def __init__(self, course):
        self.course = course
        self.root = root = tkinter.Tk(className="Gradebook")
        # Any program on the screen may talk to this one, and it reads what they can't: no scripts from others.
        root.tk.call("rename", "send", "")
        root.title(f"Gradebook - {course.title}")
        root.geometry("{}x{}+160+120".format(*SIZE))
        root.resizable(False, False)
        root.configure(background=GROUND, menu="")
        root.protocol("WM_DELETE_WINDOW", lambda: self.say("The gradebook stays open while marks are entered."))
        self.label(course.title, 24, 16, font=("DejaVu Sans", -20, "bold"))
        self.entries = {}
        for row, name in enumerate(FIELDS):
            hint = {"candidate": "number", "practical": "% or EX"}.get(name, "%")
            self.label(f"{name.capitalize()} ({hint})", 24, 68 + 44 * row)
            entry = tkinter.Entry(
                root,
                font=FONT,
                background="white",
                foreground=INK,
                xscrollcommand="",
                validatecommand="",
                invalidcommand="",
            )
            entry.place(x=220, y=64 + 44 * row, width=180, height=32)
            entry.bind("<Return>", lambda event: self.compute())
            self.entries[name] = entry
        for x, text, command in (
            (24, "Clear", self.clear),
            (220, "Compute", self.compute),
            (420, "Copy result", self.copy),
        ):
            button = tkinter.Button(root, text=text, command=command, font=FONT, foreground=INK, background="#d5dbe1")
            button.place(x=x, y=244, width=150, height=38)
        self.result = self.label("", 24, 306, font=LARGE)
        self.message = self.label("Enter a candidate's percentages.", 24, 352)
        self.row = None
        self.entries["candidate"].focus_set()

    def label(self, text, x, y, font=FONT):
        label = tkinter.Label(self.root, text=text, font=font, background=GROUND, foreground=INK, anchor="w")
        label.place(x=x, y=y)
        return label

    def say(self, text, colour=INK):
        self.message.configure(text=text, foreground=colour)

    def clear(self):
        for entry in self.entries.values():
            entry.delete(0, "end")
        self.forget()
        self.say("Enter a candidate's percentages.")
        self.entries["candidate"].focus_set()

    def forget(self):
        self.row = None
        self.result.configure(text="")

    def compute(self):
        self.forget()
        entry = {name: field.get().strip() for name, field in self.entries.items()}
        try:
            final, grade, receipt = self.course.award(entry)
        except ValueError as error:
            self.say(str(error), RED)
            return
        self.row = f"{entry['candidate']}\t{final}\t{grade}\t{receipt}"
        self.result.configure(text=f"{final}  {grade}   {receipt}")
        self.say(f"Final mark, grade and receipt of candidate {entry['candidate']}")

    def copy(self):
        if self.row is None:
            self.say("There is no result to copy.", RED)
            return
        self.root.clipboard_clear()
        self.root.clipboard_append(self.row)
        self.say("Copied: candidate, final mark, grade, receipt")


def main(path):
    try:
        course = Course(json.loads(Path(path).read_text(encoding="utf-8")))
    except FileNotFoundError:
        print(f"{path} is not there: no course is open on this machine")
        return
    Window(course).root.mainloop()


if __name__ == "__main__":
    main(sys.argv[1])
