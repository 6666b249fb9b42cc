"""Work out candidates' percentages, enter them in a program with windows, and report what only that program knows."""

import csv
import io
import json
import re
from pathlib import Path

import anyio

from ale.computer.paths import INPUT, OUTPUT, SOFTWARE
from ale.grading.table import Field, compare_tables
from ale.task import Task

HERE = Path(__file__).parent
COURSE = "/var/lib/gradebook/course.json"
"""What the gradebook knows. Its service runs as the display's user, which the agent can't become; see task.yaml."""

VARIANTS = [
    ("instance1", {"course": "BIO-210 Cell Biology"}),
    ("instance2", {"course": "CHE-305 Physical Chemistry"}),
]

PROMPT = """\
You work in an examinations office. Determine the final marks of {course} with the gradebook, the program whose window
is open on this machine's screen (display :0).

You find in {input}:
- marks.csv: the export of the points (semicolons, UTF-8, decimal commas). The second row has the most that can be had.
- board_notes.md: what the examination board has decided.

For each candidate who has not withdrawn, work out three percentages, each rounded half up to one decimal (82.25 becomes
82.3), and round nothing before that:
- coursework: the mean of the percentages of the four best of the five assignments A1 to A5 (each assignment counts the
  same, whatever its points); one that was not handed in (-) has 0 points.
- practical: points in per cent of the most; a candidate who is exempt has none, and EX is entered in the gradebook.
- exam: the better one of Exam and Resit, in per cent.

Enter the candidate's number and the three percentages in the gradebook and press Compute. It shows the final mark, the
grade and a receipt of six letters or digits (such as K7A-Q4M), which depends on everything that was entered. "Copy
result" puts candidate, final mark, grade and receipt on the clipboard, separated by tabs. The program is
{software}/gradebook.py; its data is the office's, and it can be asked through the window only.

Deliver {output}/final_marks.csv: comma-separated, UTF-8, one row for each candidate who has not withdrawn, with the
header candidate,coursework,practical,exam,final_mark,grade,receipt. Percentages and marks have one decimal and a
decimal point; practical is empty for who is exempt.
"""


def load():
    return [
        Task(
            description=PROMPT.format(input=INPUT, output=OUTPUT, software=SOFTWARE, **settings),
            instance=name,
            metadata=settings,
        )
        for name, settings in VARIANTS
    ]


async def start(task, session):
    """Give the gradebook its course, for its own eyes; the card's service then opens the window."""
    folder = COURSE.rpartition("/")[0]
    await session.run_command(["install", "-d", "-o", "display", "-g", "display", "-m", "0700", folder])
    data = (HERE / "scripts" / task.instance / "course.json").read_text("utf-8")
    await session.write_file(COURSE, data)
    await session.run_command(["chown", "display:display", COURSE])
    await session.run_command(["chmod", "0400", COURSE])


# The gradebook has everything at fixed places; these are the middles, counted from the window's top left.
CANDIDATE, CLEAR, COMPUTE, COPY = (310, 80), (99, 263), (295, 263), (495, 263)


async def solve(task, session):
    await session.write_file("/home/agent/prepare.py", (HERE / "scripts" / "prepare.py").read_text("utf-8"))
    prepared = json.loads((await session.run_command(["python3", "/home/agent/prepare.py", INPUT])).stdout)
    left, top = await window(session, f"Gradebook - {task.metadata['course']}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["candidate", "coursework", "practical", "exam", "final_mark", "grade", "receipt"])
    for candidate, coursework, practical, exam in prepared:
        await session.click(left + CLEAR[0], top + CLEAR[1])
        await session.click(left + CANDIDATE[0], top + CANDIDATE[1])
        await session.type(f"{candidate}\t{coursework}\t{practical}\t{exam}")
        await session.click(left + COMPUTE[0], top + COMPUTE[1])
        await session.click(left + COPY[0], top + COPY[1])
        award = await copied(session, candidate)
        writer.writerow([candidate, coursework, "" if practical == "EX" else practical, exam, *award])
    await session.write_file(f"{OUTPUT}/final_marks.csv", text.getvalue())


async def window(session, title):
    """Where the program's window is, once it is there and has the keyboard."""
    with anyio.fail_after(60):
        while True:
            found = await session.run_command(["xwininfo", "-name", title], check=False)
            if found.success and "IsViewable" in found.stdout:
                break
            await anyio.sleep(0.1)
        left, top = (int(re.search(rf"Absolute upper-left {axis}: +(-?\d+)", found.stdout)[1]) for axis in "XY")
        number = int(re.search(r"Window id: (0x[0-9a-f]+)", found.stdout)[1], 16)
        await session.click(left + CANDIDATE[0], top + CANDIDATE[1])
        while True:
            active = (await session.run_command(["xprop", "-root", "_NET_ACTIVE_WINDOW"])).stdout
            if int(active.split()[-1], 16) == number:
                return left, top
            await anyio.sleep(0.05)


async def copied(session, candidate):
    """Final mark, grade and receipt from the clipboard, which still holds the candidate before until the program is
    through with the click."""
    with anyio.fail_after(20):
        while True:
            clipboard = await session.run_command(["xclip", "-o", "-selection", "clipboard"], check=False)
            row = clipboard.stdout.strip().split("\t")
            if row[0] == candidate:
                return row[1:]
            await anyio.sleep(0.05)


async def evaluate(task, session):
    tenth = {"kind": "number", "absolute": 0.01}
    return compare_tables(
        task.output_dir / "final_marks.csv",
        task.reference_dir / "final_marks.csv",
        key=["candidate"],
        fields=[
            # The first three can be had without the screen.
            Field("coursework", weight=0.4, **tenth),
            Field("practical", weight=0.3, **tenth),
            Field("exam", weight=0.3, **tenth),
            Field("final_mark", weight=3, **tenth),
            Field("grade", weight=1),
            Field("receipt", weight=5),
        ],
    )
