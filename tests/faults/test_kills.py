"""kill -9 and silence, of each of our processes, when each phase begins: a typed outcome, and nothing left."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from tests.exam.test_model_runs import THREE
from tests.faults.conftest import Stage, children_that_run
from tests.hostile.conftest import check_nothing_left

from ale.exam.result import RunResult
from ale.outcome import AgentEnd, Outcome
from ale.sandbox.local import sandbox as local_sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.alone, pytest.mark.usefixtures("base_image")]

RETRIES = {"infrastructure": 1, "harness": 0}


@pytest.mark.parametrize("phase", ["stage", "start", "collect"])
async def test_a_machine_that_is_killed_under_us_is_an_infrastructure_failure_and_repeated(
    stage: Stage, phase: str
) -> None:
    stage.when(f"{phase}.start", stage.kill_machine)
    plan = await stage.plan("right", retries=RETRIES)
    [result] = await stage.carry_out(plan)
    assert (result.outcome, result.tries, result.score and result.score.value) == (Outcome.SCORED, 2, 1.0)
    first = RunResult.model_validate_json((plan.runs[0].folder / "tries/1/run_result.json").read_text())
    assert first.outcome is Outcome.UNSCORED_INFRASTRUCTURE
    assert first.error is not None
    assert (first.error.kind, first.error.phase) == ("SandboxLost", phase)
    await check_nothing_left([first, result])


async def test_a_machine_that_ends_while_the_agent_has_it_ends_the_agent(stage: Stage) -> None:
    stage.when("agent.start", stage.kill_machine)
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.agent_end, result.tries) == (Outcome.SCORED, AgentEnd.CRASHED, 1)
    assert result.score is not None
    assert (result.score.value, result.score.reason) == (0.0, "no_output")
    await check_nothing_left([result])


@pytest.mark.parametrize("phase", ["freeze", "reference"])
async def test_a_machine_that_is_killed_when_its_work_is_done_is_graded_from_its_disk(stage: Stage, phase: str) -> None:
    stage.when(f"{phase}.start", stage.kill_machine)
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.tries, result.score and result.score.value) == (Outcome.SCORED, 1, 1.0)
    await check_nothing_left([result])


@pytest.mark.parametrize("place", ["fresh", "fork", "same"])
async def test_a_grading_machine_that_is_killed_is_replaced(stage: Stage, place: str) -> None:
    stage.change("task.yaml", "tier: near-term", f"tier: near-term\ngrade_on: {place}")
    stage.grade_by("return Score(float((await session.read_file('/task/output/answer.txt')) == '42\\n'))")
    stage.when("evaluate.start", stage.kill_machine)
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.tries, result.score and result.score.value) == (Outcome.SCORED, 1, 1.0), result.error
    assert len(result.sandboxes) == (2 if place == "same" else 3)
    await check_nothing_left([result])


async def test_what_brings_down_every_grading_machine_is_no_reason_to_ask_the_agent_again(stage: Stage) -> None:
    stage.grade_by("import os; await session.read_file('/task/output/answer.txt'); return 1.0")

    def again() -> None:
        stage.kill_machine()
        stage.when("evaluate.start", stage.kill_machine)

    stage.when("evaluate.start", again)
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.tries) == (Outcome.UNSCORED_GRADER, 1)
    assert result.error is not None
    assert "two grading machines were lost" in result.error.message
    await check_nothing_left([result])


async def test_a_silent_server_is_stopped_and_what_it_had_is_graded(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_sandbox, "FREEZE_BOUND", 3.0)
    stage.when("freeze.start", stage.silence_machine)
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.tries, result.score and result.score.value) == (Outcome.SCORED, 1, 1.0)
    assert result.integrity.freeze is not None
    assert "no answer" in str(result.integrity.freeze["killed"])
    await check_nothing_left([result])


@pytest.mark.parametrize("phase", ["agent", "freeze"])
async def test_a_gateway_that_is_killed_is_named(stage: Stage, phase: str) -> None:
    (stage.folder / "model.yaml").write_text(THREE, encoding="utf-8")
    stage.when(f"{phase}.start", stage.kill_gateway)
    agent = {"harness": "calls-the-model", "model": "script:model.yaml"}
    [result] = await stage.run(agent)
    assert result.outcome is Outcome.UNSCORED_INFRASTRUCTURE
    assert result.error is not None
    assert result.error.kind == "GatewayLost"
    assert "the gateway process ended" in result.error.message
    await check_nothing_left([result])


async def test_a_worker_that_is_killed_is_no_zero(stage: Stage) -> None:
    stage.grade_by("import time; time.sleep(100); return 1.0")

    def kill_worker() -> None:
        while not (workers := children_that_run("ale.task.child")):
            time.sleep(0.05)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)

    stage.when("evaluate.start", lambda: threading.Thread(target=kill_worker).start())
    [result] = await stage.run("right", retries=RETRIES)
    assert (result.outcome, result.score, result.tries) == (Outcome.UNSCORED_GRADER, None, 1)
    assert result.error is not None
    assert "evaluate ended by signal 9 without a result" in result.error.message
    assert not children_that_run("ale.task.child")
    await check_nothing_left([result])
