"""What a whole run costs, from plan to released machines, and whether it stays the same with many of them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from ale.exam.conductor import carry_out
from ale.exam.experiment import Experiment
from ale.exam.planning import make_plan
from ale.exam.result import RunResult
from bench.measure import Series

_CARD = """
id: trivial
title: Write one word
cluster: computing_math
subdomain: "9.1"
occupation: {code: 15-1252.00, title: Software Developers}
tier: near-term
time_budget_s: 60
outputs: [{path: word.txt}]
criteria: [{text: the word is there, weight: 1.0}]
authors: [bench]
licence: Apache-2.0
canary: bench-trivial
"""

_MAIN = """
from ale.task import Task


def load():
    return [Task(description="Write 'word' to /task/output/word.txt", instance="one")]


async def start(task, session):
    pass


async def evaluate(task, session):
    return 1.0 if (task.output_dir / "word.txt").read_text() == "word" else 0.0


async def solve(task, session):
    await session.write_file("/task/output/word.txt", "word")
"""


async def measure(samples: int) -> AsyncIterator[Series]:
    for runs, at_once in ((1, 1), (10, 1), (10, 2), (10, 4), (max(20, samples * 10), 2)):
        series = Series(
            f"whole run, trivial task, two sandboxes: {runs} runs, {at_once} at once, per run",
            wanted_wall=0.8 if at_once == 1 else None,
            wanted_cpu=0.3,
        )
        for _ in range(samples if runs == 1 else 1):
            with tempfile.TemporaryDirectory() as folder:
                await _carry_out(Path(folder), runs, at_once, series)
        yield series


async def _carry_out(folder: Path, runs: int, at_once: int, series: Series) -> None:
    workflow = folder / "tasks" / "computing_math" / "trivial"
    for name in ("input", "reference"):
        (workflow / name).mkdir(parents=True)
        (workflow / name / f"{name}.txt").write_text(name, encoding="utf-8")
    (workflow / "task.yaml").write_text(_CARD, encoding="utf-8")
    (workflow / "main.py").write_text(_MAIN, encoding="utf-8")
    data = {"name": "bench", "tasks": ["computing_math/trivial"], "agents": ["oracle"]}
    experiment = Experiment.model_validate(data | {"attempts": runs, "concurrency": at_once}).resolved(folder)
    results: list[RunResult] = []
    with series.sample(units=runs):
        plan = await make_plan(experiment)
        await carry_out(plan, observer=lambda event: None, finished=results.append, say=lambda line: None)
    if [result.score.value for result in results if result.score] != [1.0] * runs:
        raise SystemExit("the benchmark's own runs did not all score 1.0; its figures would mean nothing")
