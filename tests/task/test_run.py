"""A run's task code: start, solve and evaluate in workers that reach the machine through its socket alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest

from ale.computer.fake import FakeCall, FakeReply
from ale.computer.paths import OUTPUT
from ale.errors import GraderError, InfrastructureError, JudgeError, SandboxLost, TaskError
from ale.sandbox.fake import FakeProvider, FakeSandbox
from ale.sandbox.protocol import SandboxSpec
from ale.score import Score
from ale.task.discover import Workflow
from ale.task.run import TaskLimits, TaskRun

WorkflowOf = Callable[..., Workflow]


def touch(call: FakeCall) -> FakeReply:
    call.path(call.argv[1]).write_text(call.user)
    return FakeReply()


def hang(call: FakeCall) -> FakeReply:
    return FakeReply(seconds=300.0)


@pytest.fixture
async def machine() -> AsyncIterator[FakeSandbox]:
    provider = FakeProvider(commands={"touch": touch, "hang": hang, "chown": lambda call: FakeReply()})
    sandbox = await provider.create(SandboxSpec(label="test", image="base"))
    assert isinstance(sandbox, FakeSandbox)
    yield sandbox
    await sandbox.destroy()


def module(start: str = "pass", solve: str = "pass", evaluate: str = "return 1.0") -> str:
    return f"""
from ale.task import Task
from ale.grading import Score
def load():
    return [Task(description="Do {{it}}.", instance="one", metadata={{"n": 3}}), Task("x", "two")]
async def start(task, session):
    {start}
async def solve(task, session):
    {solve}
async def evaluate(task, session):
    {evaluate}
"""


def task_run(workflow: Workflow, tmp_path: Path, instance: str = "one", **limits: float) -> TaskRun:
    return TaskRun(workflow, instance, scratch=tmp_path / "scratch", limits=TaskLimits(**limits))  # type: ignore[arg-type]


async def evaluated(workflow: Workflow, machine: FakeSandbox, tmp_path: Path, **limits: float) -> Score:
    output, inputs = tmp_path / "output", tmp_path / "inputs"
    output.mkdir(exist_ok=True)
    inputs.mkdir(exist_ok=True)
    run = task_run(workflow, tmp_path, **limits)
    reference = workflow.folder_of("reference", "one")
    done = await run.evaluate(machine.endpoint, output, reference, inputs, tmp_path / "log")
    assert done.stdout.exists()
    return done.score


async def test_start_acts_as_root_and_says_what_the_agent_is_told(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path
) -> None:
    body = "await session.write_file('/tmp/s', str(task.metadata['n']) + (task.input_dir / 'i').read_text())"
    workflow = workflow_of(
        module(start=body), files={"input/one/i": "1", "input/two/i": "2", "reference/one/r": "secret"}
    )
    started = await task_run(workflow, tmp_path).stage_and_start(machine.endpoint)
    assert (started.instruction, started.workspace) == ("Do {it}.", OUTPUT)
    assert (machine.files / "tmp" / "s").read_text() == "31"


async def test_solve_acts_as_the_agent(workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path) -> None:
    await task_run(workflow_of(module(solve="await session.run_command(['touch', '/tmp/who'])")), tmp_path).solve(
        machine.endpoint
    )
    assert (machine.files / "tmp" / "who").read_text() == "agent"


async def test_an_oracle_that_forgets_to_await_is_told_so(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path
) -> None:
    workflow = workflow_of(module(solve="session.run_command(['touch', '/tmp/who'])"))
    with pytest.raises(
        TaskError, match=r"main\.py:\d+: solve: without `await` this does nothing: session\.run_command"
    ):
        await task_run(workflow, tmp_path).solve(machine.endpoint)


@pytest.mark.parametrize("phase", ["start", "solve"])
@pytest.mark.parametrize("place", ["output_dir", "reference_dir"])
async def test_before_grading_there_is_neither_output_nor_reference(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path, phase: str, place: str
) -> None:
    workflow = workflow_of(module(**{phase: f"return task.{place}"}), files={"reference/one/r": "secret"})
    run = task_run(workflow, tmp_path)
    with pytest.raises(TaskError, match=rf"main\.py:\d+: {phase}: task\.{place} does not exist in this phase"):
        await (run.stage_and_start if phase == "start" else run.solve)(machine.endpoint)


async def test_evaluate_sees_output_reference_and_input(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path
) -> None:
    body = (
        "places = (task.output_dir / 'a', task.reference_dir / 'r', task.input_dir / 'i')\n"
        "    found = ''.join(place.read_text() for place in places)\n"
        "    print('seen', found)\n"
        "    try:\n"
        "        (task.output_dir / 'b').write_text('x')\n"
        "    except OSError:\n"
        "        return Score(0.5, sentence=found)"
    )
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "a").write_text("A")
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "i").write_text("I")
    workflow = workflow_of(module(evaluate=body), files={"reference/one/r": "R", "reference/two/r": "X"})
    score = await evaluated(workflow, machine, tmp_path)
    assert score.value == 0.5
    assert score.sentence == "ARI"
    assert (tmp_path / "log" / "stdout.txt").read_text() == "seen ARI\n"


GRADER_FAULTS = {
    "an exception": ("raise ValueError('no such column')", r"main\.py:\d+: evaluate: ValueError: no such column"),
    "NaN": ("return float('nan')", "a score is a number in"),
    "too much": ("return 1.5", "a score lies in"),
    "nothing": ("return None", r"evaluate\(\) returned None; it must `return` a score"),
    "a forgotten await": (
        "session.run_command(['hang'])\n    return 1.0",
        r"main\.py:\d+: evaluate: without `await` this does nothing: session\.run_command\(\['hang'\]\)",
    ),
    "an empty list": ("return []", "empty list"),
    "details that are no JSON": ("return Score(1.0, details={'x': object()})", "not JSON"),
    "details with NaN": ("return Score(1.0, details={'x': float('nan')})", "not JSON"),
    "a missing reference": (
        "return task.reference_dir",
        r"the reference is missing: there is no directory .*/reference",
    ),
    "an exit": ("import os; os._exit(0)", "without a result"),
    "a hang": ("import time; time.sleep(300)", "stopped after its limit of 2 s"),
    "a hang in the machine": ("await session.run_command(['hang'])", "stopped after its limit of 2 s"),
    "a command that does not exist": (
        "await session.run_command('nonsense')",
        "CommandFailed: command exited with 127",
    ),
}


@pytest.mark.parametrize("fault", GRADER_FAULTS)
async def test_a_fault_of_the_grader_is_never_a_zero(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path, fault: str
) -> None:
    body, words = GRADER_FAULTS[fault]
    with anyio.fail_after(60), pytest.raises(GraderError, match=words):
        await evaluated(workflow_of(module(evaluate=body)), machine, tmp_path, evaluate_seconds=2)


async def test_other_faults_keep_their_kind(workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path) -> None:
    judge = "from ale.errors import JudgeError; raise JudgeError('no answer')"
    with pytest.raises(JudgeError, match="no answer"):
        await evaluated(workflow_of(module(evaluate=judge)), machine, tmp_path)
    network = "from ale.errors import InfrastructureError; raise InfrastructureError('no way')"
    with pytest.raises(InfrastructureError, match="no way"):
        await evaluated(workflow_of(module(evaluate=network)), machine, tmp_path)


async def test_a_machine_that_goes_away_is_not_the_graders_fault(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path
) -> None:
    async def pull_the_plug() -> None:
        while not any(call.argv[0] == "hang" for call in machine.machine.calls):
            await anyio.sleep(0.01)
        machine.lose("power cut")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(pull_the_plug)
            with pytest.raises(SandboxLost) as caught:
                await evaluated(workflow_of(module(evaluate="await session.run_command(['hang'])")), machine, tmp_path)
    assert caught.value.sandbox == machine.id


async def test_a_list_of_floats_is_their_mean(workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path) -> None:
    score = await evaluated(workflow_of(module(evaluate="return [1.0, 0.5]")), machine, tmp_path)
    assert score.value == 0.75


async def test_an_unknown_instance_and_a_missing_solve_are_named(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path
) -> None:
    workflow = workflow_of(module().replace("async def solve", "async def resolve"))
    with pytest.raises(TaskError, match=r"no instance 'three' \(there are: one, two\)"):
        await task_run(workflow, tmp_path, "three").stage_and_start(machine.endpoint)
    with pytest.raises(TaskError, match=r"there is no solve\(\)"):
        await task_run(workflow, tmp_path).solve(machine.endpoint)


CLASS_FAULTS = {
    "no mapping": ("return 'do it'", "must return a mapping"),
    "no path": ("return {'instruction': 'x', 'workspace': 'work'}", "not an absolute path"),
    "no instruction": ("return {'workspace': '/work'}", "no instruction"),
    "a file that is not there": ("vm_session.upload_file('nothing.mp4', '/work/')", "the task has no file nothing.mp4"),
}


@pytest.mark.parametrize("fault", CLASS_FAULTS)
async def test_faults_of_stage_inputs_are_named(
    workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path, fault: str
) -> None:
    body, words = CLASS_FAULTS[fault]
    main = (
        "from ale.task import Task\nclass Edit(Task):\n"
        f"    def stage_inputs(self, vm_session):\n        {body}\n"
        "    def evaluate(self, vm_session): return 1.0\n"
    )
    with pytest.raises(TaskError, match=words):
        await task_run(workflow_of(main), tmp_path, "base").stage_and_start(machine.endpoint)


async def test_public_tasks_run_unchanged(workflow_of: WorkflowOf, machine: FakeSandbox, tmp_path: Path) -> None:
    main = """\
        import cua_bench as cb

        @cb.tasks_config(split="train")
        def load() -> list[cb.Task]:
            return [cb.Task(description="Do.", metadata={"variant_name": "base"}, computer={"provider": "computer"})]

        @cb.setup_task(split="train")
        async def start(task_cfg, session: cb.DesktopSession):
            await session.interface.create_dir("/tmp/made")
            await session.write_file("/tmp/made/a.txt", task_cfg.metadata["variant_name"])

        @cb.evaluate_task(split="train")
        async def evaluate(task_cfg, session: cb.DesktopSession) -> list[float]:
            result = await session.run_command("nonsense", check=False)
            assert result["return_code"] == 127 and not result["success"]
            there = await session.file_exists("/tmp/made/a.txt") and await session.directory_exists("/tmp/made")
            return [1.0 if there and await session.read_bytes("/tmp/made/a.txt") == b"base" else 0.0]
        """
    workflow = workflow_of(main)
    run = task_run(workflow, tmp_path, "base")
    assert (await run.stage_and_start(machine.endpoint)).instruction == "Do."
    for name in ("output", "inputs"):
        (tmp_path / name).mkdir()
    done = await run.evaluate(machine.endpoint, tmp_path / "output", None, tmp_path / "inputs", tmp_path / "log")
    assert done.score.value == 1.0
