"""Delivered programs are run case by case; how a run failed is told, and what it left is judged on the host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ale.computer.fake import FakeCall, FakeReply
from ale.errors import GraderError
from ale.grading.exact import same_file
from ale.grading.executable import Case, run_cases
from ale.sandbox.fake import FakeProvider, FakeSandbox
from ale.sandbox.protocol import SandboxSpec
from ale.score import Score


def upper(call: FakeCall) -> FakeReply:
    """The delivered program: writes its input in capitals, with some moods."""
    text = call.path(f"{call.cwd}/data/in.txt").read_text()
    assert call.path(f"{call.cwd}/program/run.py").read_text() == "the program"
    assert call.user == "agent"
    if "crash" in text:
        return FakeReply(1, stderr=b"Traceback\n  line\nValueError: \x1b[31mred\x1b[0m\n")
    if "slow" in text:
        return FakeReply(seconds=300.0)
    call.path(f"{call.cwd}/out/out.txt").write_text(text.upper())
    return FakeReply()


@pytest.fixture
async def machine() -> AsyncIterator[FakeSandbox]:
    sandbox = await FakeProvider(commands={"python3": upper}).create(SandboxSpec(label="test", image="base"))
    assert isinstance(sandbox, FakeSandbox)
    (sandbox.files / "task/output/program").mkdir()
    (sandbox.files / "task/output/program/run.py").write_text("the program")
    yield sandbox
    await sandbox.destroy()


async def graded(machine: FakeSandbox, tmp_path: Path, texts: dict[str, str], **how: object) -> Score:
    cases = []
    for name, text in texts.items():
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "in.txt").write_text(text)
        (tmp_path / name / "expected.txt").write_text(text.upper())
        cases.append(Case(name, inputs={"data/in.txt": tmp_path / name / "in.txt"}, empty=("out",)))

    def judge(case: Case, left: Path) -> Score:
        return same_file(left / "out" / "out.txt", tmp_path / case.name / "expected.txt")

    return await run_cases(
        machine.session("root"),
        program={"program": "/task/output/program"},
        command=["python3", "program/run.py"],
        cases=cases,
        judge=judge,
        **how,  # type: ignore[arg-type]
    )


async def test_each_case_counts_and_nothing_of_it_stays_in_the_machine(machine: FakeSandbox, tmp_path: Path) -> None:
    score = await graded(machine, tmp_path, {"a": "one", "b": "two"})
    assert score.value == 1.0
    assert list((machine.files / "root").iterdir()) == []


async def test_how_a_run_failed_is_told_without_the_programs_escape_codes(machine: FakeSandbox, tmp_path: Path) -> None:
    score = await graded(machine, tmp_path, {"a": "fine", "b": "crash", "c": "slow"}, timeout=1.0)
    assert score.value == pytest.approx(1 / 3)
    sentences = {part.name: part.sentence for part in score.parts}
    assert sentences["b"] == "the program ended with exit code 1: ValueError: red"
    assert sentences["c"] == "the program was stopped after its limit of 1 s"


async def test_a_missing_program_is_the_wrong_shape_and_a_missing_case_the_graders_fault(
    machine: FakeSandbox, tmp_path: Path
) -> None:
    (machine.files / "task/output/program/run.py").unlink()
    (machine.files / "task/output/program").rmdir()
    score = await graded(machine, tmp_path, {"a": "one"})
    assert (score.value, score.reason) == (0.0, "wrong_shape")
    with pytest.raises(GraderError, match="no cases"):
        await graded(machine, tmp_path, {})
    with pytest.raises(GraderError, match="input of case x is missing"):
        await run_cases(
            machine.session("root"),
            program={},
            command=["python3"],
            cases=[Case("x", inputs={"data": tmp_path / "nothing"})],
            judge=lambda case, left: Score(1.0),
        )
