"""The gradebook: the program and the reference agree, and only who works at the window gets what it knows."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from PIL import Image
from tests.cli.commands import ale
from tests.task.grading import ROOT, graded, module_of, part, workflow

from ale.computer.paths import INPUT, OUTPUT
from ale.exam.staging import check_reference_absent, stage_inputs, start_services
from ale.sandbox import open_provider
from ale.sandbox.fake import FakeProvider
from ale.sandbox.protocol import Sandbox, SandboxSpec, Screen
from ale.task.instances import list_instances
from ale.task.run import TaskRun

NAME = "education_info/gradebook_gui"
FOLDER = ROOT / "tasks" / NAME
INSTANCES = ("instance1", "instance2")
EVERY_INSTANCE = pytest.mark.parametrize("instance", INSTANCES)
COURSES = {"instance1": "BIO-210 Cell Biology", "instance2": "CHE-305 Physical Chemistry"}


def reference(instance: str) -> list[dict[str, str]]:
    text = (FOLDER / "reference" / instance / "final_marks.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def deliver(rows: list[dict[str, str]], output: Path) -> Path:
    output.mkdir()
    with (output / "final_marks.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return output


async def test_the_instances_and_their_prompts() -> None:
    found = await list_instances(workflow(NAME))
    assert tuple(instance.name for instance in found) == INSTANCES
    for instance in found:
        assert INPUT in instance.description
        assert OUTPUT in instance.description
        assert "{" not in instance.description


def test_everything_is_what_the_generator_makes(tmp_path: Path) -> None:
    (tmp_path / "authoring").mkdir()
    shutil.copy(FOLDER / "authoring" / "generate.py", tmp_path / "authoring")
    subprocess.run([sys.executable, tmp_path / "authoring" / "generate.py"], check=True, timeout=60)
    made = [path for kind in ("input", "scripts", "reference") for path in (tmp_path / kind).rglob("*.*")]
    assert len(made) == 8
    for path in made:
        assert path.read_bytes() == (FOLDER / path.relative_to(tmp_path)).read_bytes(), path


@EVERY_INSTANCE
def test_the_program_awards_what_the_reference_says(instance: str) -> None:
    pytest.importorskip("tkinter")
    program = module_of(FOLDER / "software" / "gradebook.py")
    course = program.Course(json.loads((FOLDER / "scripts" / instance / "course.json").read_text(encoding="utf-8")))
    for row in reference(instance):
        entry = {name: row[name] or "EX" for name in ("candidate", "coursework", "practical", "exam")}
        final, grade, receipt = course.award(entry)
        assert (str(final), grade, receipt) == (row["final_mark"], row["grade"], row["receipt"])
        assert course.award(entry | {"exam": "12.3"})[2] != receipt
    for wrong in ({"candidate": "1"}, {"exam": "101"}, {"exam": ""}, {"exam": "5e1"}, {"coursework": "EX"}):
        with pytest.raises(ValueError, match=r"candidate|percentage"):
            course.award(entry | wrong)


@EVERY_INSTANCE
def test_what_the_oracle_types_follows_from_the_inputs(instance: str) -> None:
    command = [sys.executable, FOLDER / "scripts" / "prepare.py", FOLDER / "input" / instance]
    typed = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    assert typed == [
        [row["candidate"], row["coursework"], row["practical"] or "EX", row["exam"]] for row in reference(instance)
    ]


@EVERY_INSTANCE
async def test_the_reference_has_full_marks_and_work_without_the_window_few(instance: str, tmp_path: Path) -> None:
    rows = reference(instance)
    whole = await graded(FakeProvider(), NAME, instance, deliver(rows, tmp_path / "whole"), tmp_path / "log")
    assert whole.value == 1.0
    guessed = [row | {"final_mark": row["exam"], "grade": "B", "receipt": "K7A-Q4M"} for row in rows]
    blind = await graded(FakeProvider(), NAME, instance, deliver(guessed, tmp_path / "blind"), tmp_path / "log")
    assert 0.1 <= blind.value < 0.25
    assert part(blind, "receipt").value == 0
    assert f"expected {rows[0]['receipt'].casefold()}" in part(blind, "receipt").sentence.casefold()


async def test_half_the_candidates_are_half_the_points_and_a_slip_costs_its_row(tmp_path: Path) -> None:
    rows = reference("instance2")
    half = await graded(FakeProvider(), NAME, "instance2", deliver(rows[:5], tmp_path / "half"), tmp_path / "log")
    assert half.value == pytest.approx(0.5)
    slip = [rows[0] | {"receipt": rows[1]["receipt"]}, *rows[1:]]
    score = await graded(FakeProvider(), NAME, "instance2", deliver(slip, tmp_path / "slip"), tmp_path / "log")
    assert score.value == pytest.approx(0.95)


async def test_the_export_handed_back_is_worth_nothing(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    shutil.copy(FOLDER / "input" / "instance1" / "marks.csv", tmp_path / "output" / "final_marks.csv")
    score = await graded(FakeProvider(), NAME, "instance1", tmp_path / "output", tmp_path / "log")
    assert score.value == 0.0


@asynccontextmanager
async def office(instance: str, tmp_path: Path) -> AsyncIterator[Sandbox]:
    """The agent's machine as it finds it."""
    task = workflow(NAME)
    display = task.card.display
    assert display is not None
    spec = SandboxSpec(label="test-gradebook", image=task.card.image, screen=Screen(display.width, display.height))
    machine = await open_provider("local").create(spec)
    try:
        await stage_inputs(machine.session("root"), task, instance)
        await TaskRun(task, instance, scratch=tmp_path / "task").stage_and_start(machine.endpoint)
        await start_services(machine, task.card)
        yield machine
    finally:
        await machine.destroy()


SHORTCUTS = """\
cat /var/lib/gradebook/course.json
ls /var/lib/gradebook
cat /proc/$(pgrep -of gradebook.py)/environ
head -c1 /proc/$(pgrep -of gradebook.py)/mem
ls /proc/$(pgrep -of gradebook.py)/fd
ls /proc/$(pgrep -of gradebook.py)/root/
kill $(pgrep -of gradebook.py)
echo >> /task/software/gradebook.py
python3 -c 'import tkinter; tkinter.Tk().tk.call("send", "gradebook", "exit")'
python3 -c 'import tkinter; assert len(tkinter.Tk().tk.call("winfo", "interps")) > 1'
"""


@pytest.mark.sandbox
async def test_the_window_answers_and_nothing_else_does(tmp_path: Path, studio_image: str) -> None:
    assert studio_image
    task: Any = module_of(FOLDER / "main.py")
    row = reference("instance1")[2]
    with anyio.fail_after(120):
        async with office("instance1", tmp_path) as machine:
            agent = machine.session("agent")
            left, top = await task.window(agent, f"Gradebook - {COURSES['instance1']}")
            before = Image.open(io.BytesIO(await agent.screenshot())).convert("RGB")
            for line in SHORTCUTS.splitlines():
                assert not (await agent.run_command(line, check=False)).success, line
            reference_folder = FOLDER / "reference" / "instance1"
            assert await check_reference_absent(machine.session("root"), reference_folder) == 1

            await agent.key("alt+F4")  # a window that is closed by mistake would end the exam
            await agent.click(left + task.CANDIDATE[0], top + task.CANDIDATE[1])
            await agent.type("\t".join(row[name] for name in ("candidate", "coursework", "practical", "exam")) + "\n")
            await agent.click(left + task.COPY[0], top + task.COPY[1])
            assert await task.copied(agent, row["candidate"]) == [row["final_mark"], row["grade"], row["receipt"]]
            after = Image.open(io.BytesIO(await agent.screenshot())).convert("RGB")
            assert before.size == after.size == (1280, 800)
            shown = (left + 20, top + 300, left + 580, top + 345)
            assert len(before.crop(shown).getcolors() or []) == 1, "a result before anything was entered"
            assert len(after.crop(shown).getcolors() or []) > 1, "the result is not on the screen"


@pytest.mark.sandbox
async def test_what_is_typed_right_after_a_click_goes_where_the_click_went(tmp_path: Path, studio_image: str) -> None:
    assert studio_image
    task: Any = module_of(FOLDER / "main.py")
    with anyio.fail_after(120):
        async with office("instance2", tmp_path) as machine:
            agent = machine.session("agent")
            left, top = await task.window(agent, f"Gradebook - {COURSES['instance2']}")
            for row in reference("instance2")[:6]:
                typed = [row["candidate"], row["coursework"], row["practical"] or "EX", row["exam"]]
                await agent.click(left + task.CLEAR[0], top + task.CLEAR[1])
                for place in (
                    3,
                    1,
                    2,
                    0,
                ):  # not in the order of the fields: each click has to win over the focus before
                    await agent.click(left + task.CANDIDATE[0], top + task.CANDIDATE[1] + 44 * place)
                    await agent.type(typed[place])
                await agent.click(left + task.COMPUTE[0], top + task.COMPUTE[1])
                await agent.click(left + task.COPY[0], top + task.COPY[1])
                assert (await task.copied(agent, row["candidate"]))[2] == row["receipt"]


@pytest.mark.sandbox
def test_the_oracle_at_the_window_and_the_idle_agent(tmp_path: Path, studio_image: str) -> None:
    assert studio_image == workflow(NAME).card.image
    command = ("run", "--tasks", NAME, "--tasks-dir", str(ROOT / "tasks"), "--agent", "oracle", "--agent", "idle")
    done = ale(*command, "--output", str(tmp_path / "results"), "--json", cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    values = {(run["agent"]["name"], run["instance"]): run["score"]["value"] for run in json.loads(done.stdout)}
    assert values == {(agent, each): float(agent == "oracle") for agent in ("oracle", "idle") for each in INSTANCES}
