"""A small task, and a way to let test agents take it in real sandboxes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import ale.harness
from ale.exam.conductor import carry_out
from ale.exam.events import Event
from ale.exam.experiment import Experiment
from ale.exam.planning import Plan, make_plan
from ale.exam.result import RunResult

CARD = """
id: sums
title: Add two numbers
cluster: computing_math
subdomain: "9.4"
occupation: {code: 15-2021.00, title: Mathematicians}
tier: near-term
time_budget_s: 60
outputs: [{path: answer.txt, kind: file, max_mb: 1}]
criteria: [{text: the sum is right, weight: 1.0}]
authors: [tests]
licence: Apache-2.0
canary: 7d1c1f5e-tests
"""

MAIN = """
from ale.score import Score
from ale.task import Task


def load():
    return [Task(description="Write the sum of the numbers in /task/input to /task/output/answer.txt", instance="one")]


async def start(task, session):
    await session.write_file("/home/agent/started", "yes")


async def evaluate(task, session):
    expected = int((task.reference_dir / "sum.txt").read_text().split()[-1])
    found = (task.output_dir / "answer.txt").read_text().strip()
    if found == str(expected):
        return Score(1.0, sentence=f"found {found}")
    return Score(0.5 if found == "41" else 0.0, sentence=f"found {found[:40]}, expected {expected}")


async def solve(task, session):
    program = "print(sum(map(int, open('/task/input/numbers.txt'))))"
    await session.run_command(f'python3 -c "{program}" > /task/output/answer.txt')
"""


class Bench:
    """One folder of tasks, and runs on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks = folder / "tasks"
        self.workflow = self.tasks / "computing_math" / "sums"
        self.events: list[Event] = []
        self.said: list[str] = []
        (self.workflow / "input").mkdir(parents=True)
        (self.workflow / "reference").mkdir()
        self.write("task.yaml", CARD)
        self.write("main.py", MAIN)
        self.write("input/numbers.txt", "20\n22\n")
        self.write("reference/sum.txt", "the-key-is 42\n")

    def write(self, name: str, text: str) -> None:
        (self.workflow / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.workflow / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def grade_by(self, body: str) -> None:
        """Put `body` in place of what evaluate() does."""
        main = (self.workflow / "main.py").read_text(encoding="utf-8")
        begin, end = main.index("    expected = int"), main.index("async def solve")
        self.write("main.py", f"{main[:begin]}    {body}\n\n\n{main[end:]}")

    def experiment(self, *agents: object, **changes: object) -> Experiment:
        data = {"name": "bench", "tasks": ["computing_math/sums"], "agents": list(agents), "concurrency": 1}
        data |= {"retries": {"infrastructure": 0, "harness": 0}}
        return Experiment.model_validate(data | changes).resolved(self.folder)

    async def plan(self, *agents: object, again: bool = False, **changes: object) -> Plan:
        return await make_plan(self.experiment(*agents, **changes), again=again)

    async def carry_out(self, plan: Plan, **options: bool) -> list[RunResult]:
        results: list[RunResult] = []
        await carry_out(plan, observer=self.events.append, finished=results.append, say=self.said.append, **options)
        return results

    async def run(self, *agents: object, **changes: object) -> list[RunResult]:
        return await self.carry_out(await self.plan(*agents, **changes))

    async def one(self, agent: object, **changes: object) -> tuple[RunResult, Path]:
        plan = await self.plan(agent, **changes)
        [result] = await self.carry_out(plan)
        return result, plan.runs[0].folder


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    from tests.exam.agents import AGENTS

    known = ale.harness.open_harness
    for module in ("ale.harness", "ale.exam.planning"):
        monkeypatch.setattr(f"{module}.open_harness", lambda name: AGENTS.get(name) or known(name))
    return Bench(tmp_path)
