"""Repair a broken pipeline; graded by running what was delivered on data that the agent has never seen."""

from pathlib import Path

from ale.computer.paths import INPUT, OUTPUT
from ale.grading import weighted
from ale.grading.executable import Case, run_cases
from ale.grading.table import Field, compare_tables
from ale.task import Task

HERE = Path(__file__).parent

VARIANTS = [
    ("instance1", {"purpose": "sums up yesterday's web shop orders by day and category"}),
    ("instance2", {"purpose": "turns meter readings into hourly consumption by site"}),
]

PROMPT = """\
A nightly data pipeline {purpose}. It crashes, and on days when it ran its numbers were wrong. Repair it.

You find in {input}:
- pipeline/: the program as it runs today (Python 3.11, standard library only). It is started as
  python3 pipeline/run.py INPUT_DIR OUTPUT_DIR
- SPEC.md: what it has to do. Where program and specification differ, the specification is right.
- nightly.log: what last night's run left.
- sample/: one day's input files to try it with.

Deliver the repaired program in {output}/pipeline, with {output}/pipeline/run.py started in the same way. Deliver
all files that it needs. It must use nothing but Python's standard library, and finish in 20 seconds on a few
thousand lines.

The program will be judged by running it on other input files of the same kind, without network, and by comparing each
field of its output files with what SPEC.md asks for.
"""

LIMIT_SECONDS = 20.0

OUTPUTS = {
    "instance1": {
        "daily_revenue.csv": (
            0.75,
            ["date", "category"],
            [
                Field("orders", "number"),
                Field("units", "number"),
                Field("revenue_eur", "number", weight=2, absolute=0.001),
            ],
        ),
        "rejects.csv": (0.25, ["order_id", "line"], [Field("reason")]),
    },
    "instance2": {
        "hourly.csv": (
            0.75,
            ["site", "hour_utc"],
            [Field("kwh", "number", weight=3, absolute=0.00101), Field("estimated", "number")],
        ),
        "unusable.csv": (0.25, ["meter_id", "from_utc"], [Field("to_utc"), Field("reason")]),
    },
}
"""file: (weight, key columns, fields). The tolerance for kwh allows for sums of binary floating-point numbers."""


def load():
    return [
        Task(
            description=PROMPT.format(input=INPUT, output=OUTPUT, **settings),
            instance=name,
            metadata=settings,
        )
        for name, settings in VARIANTS
    ]


async def start(task, session):
    """The input files are all there is to this machine."""


async def solve(task, session):
    await session.upload(HERE / "scripts" / "fixed" / task.instance, f"{OUTPUT}/pipeline")
    # The oracle, too, tries what it delivers.
    await session.create_dir("/home/agent/trial")
    await session.run_command(["python3", f"{OUTPUT}/pipeline/run.py", f"{INPUT}/sample", "/home/agent/trial"])


async def evaluate(task, session):
    cases = [
        Case(folder.name, inputs={"data": folder / "input"}, empty=("out",))
        for folder in sorted(task.reference_dir.iterdir())
    ]

    def judge(case, left):
        return weighted(
            {
                name: (
                    weight,
                    compare_tables(
                        left / "out" / name,
                        task.reference_dir / case.name / "expected" / name,
                        key=key,
                        fields=fields,
                    ),
                )
                for name, (weight, key, fields) in OUTPUTS[task.instance].items()
            }
        )

    return await run_cases(
        session,
        program={"pipeline": f"{OUTPUT}/pipeline"},
        command=["python3", "pipeline/run.py", "data", "out"],
        cases=cases,
        judge=judge,
        timeout=LIMIT_SECONDS,
    )
