"""A run in real sandboxes: eleven phases, one outcome, a complete folder, nothing left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.exam.conftest import Bench

from ale.exam.events import PHASES, read_events
from ale.exam.folder import RESULT, read_result
from ale.outcome import AgentEnd, Outcome
from ale.sandbox import open_provider
from ale.trajectory.document import read_trajectory

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("base_image")]


async def test_the_oracle_gets_full_marks_and_leaves_a_complete_folder(bench: Bench) -> None:
    result, folder = await bench.one("oracle")
    assert (result.outcome, result.score and result.score.value) == (Outcome.SCORED, 1.0)
    assert result.agent_end is AgentEnd.FINISHED
    for name in (
        RESULT, "agent_result.json", "trajectory.json", "interaction_log.json", "events.jsonl",
        "debug/eval/result.json", "workspace/manifest.json", "workspace/output/answer.txt",
    ):  # fmt: skip
        assert (folder / name).is_file(), name
    read = read_result(folder)
    assert read is not None
    assert read.model_dump(mode="json") == result.model_dump(mode="json")
    assert not list(folder.rglob("*.tmp"))


async def test_the_phases_come_in_order_with_true_times(bench: Bench) -> None:
    _, folder = await bench.one("oracle")
    events = list(read_events(folder / "events.jsonl"))
    phases = [event.event for event in events if event.event.endswith((".start", ".end"))]
    assert phases == [f"{phase}.{edge}" for phase in PHASES for edge in ("start", "end")]
    assert [event.mono for event in events] == sorted(event.mono for event in events)


async def test_the_reference_is_staged_only_when_nothing_of_the_agent_runs(bench: Bench) -> None:
    result, folder = await bench.one("leaves-survivors")
    freeze = result.integrity.freeze
    assert freeze is not None
    assert len(freeze["killed"]) >= 3
    assert "guest" in freeze["checked"]
    if os.geteuid() == 0:
        assert "host" in freeze["checked"]
    assert result.score is not None
    assert result.score.value == 1.0
    assert [event.event for event in read_events(folder / "events.jsonl")].index("freeze.end") < [
        event.event for event in read_events(folder / "events.jsonl")
    ].index("reference.start")


async def test_the_idle_agent_gets_nothing_and_the_reason_is_said(bench: Bench) -> None:
    result, folder = await bench.one("idle")
    assert result.score is not None
    assert (result.score.value, result.score.reason) == (0.0, "no_output")
    assert "answer.txt" in json.loads((folder / "debug/eval/result.json").read_bytes())["score"]["sentence"]


async def test_a_directory_in_place_of_a_file_has_the_wrong_shape(bench: Bench) -> None:
    result, _ = await bench.one("as-directory")
    assert result.score is not None
    assert (result.score.value, result.score.reason) == (0.0, "wrong_shape")


async def test_partial_credit_keeps_its_sentence(bench: Bench) -> None:
    result, folder = await bench.one("half-right")
    assert result.score is not None
    assert result.score.value == 0.5
    assert json.loads((folder / "debug/eval/result.json").read_bytes())["score"]["sentence"] == "found 41, expected 42"


async def test_an_agent_stopped_by_the_clock_is_graded_on_what_it_left(bench: Bench) -> None:
    result, folder = await bench.one("slow", limits={"time": 1})
    assert (result.agent_end, result.limits.reached) == (AgentEnd.TIME_LIMIT, "time")
    assert result.limits.time_set_by == "experiment"
    assert result.score is not None
    assert result.score.value == 1.0
    assert "limit.reached" in [event.event for event in read_events(folder / "events.jsonl")]


async def test_the_tasks_own_budget_binds_when_it_is_smaller(bench: Bench) -> None:
    bench.change("task.yaml", "time_budget_s: 60", "time_budget_s: 1")
    result, _ = await bench.one("waits-for-ever")
    assert (result.agent_end, result.limits.time_set_by) == (AgentEnd.TIME_LIMIT, "task")


async def test_an_agent_that_crashed_is_graded_on_what_it_left(bench: Bench) -> None:
    result, folder = await bench.one("crashes")
    assert (result.outcome, result.agent_end) == (Outcome.SCORED, AgentEnd.CRASHED)
    assert result.score is not None
    assert result.score.value == 1.0
    assert json.loads((folder / "agent_result.json").read_bytes())["exit_code"] == 3


async def test_last_words_that_are_no_text_buy_no_second_try(bench: Bench) -> None:
    result, folder = await bench.one("says-what-is-no-text")
    assert result.score is not None
    assert result.score.value == 1.0
    assert json.loads((folder / "agent_result.json").read_bytes())["last_message"] == "\ufffd"


async def test_a_harness_that_does_not_start_is_no_zero(bench: Bench) -> None:
    result, folder = await bench.one("refuses-to-start")
    assert (result.outcome, result.score) == (Outcome.UNSCORED_HARNESS, None)
    assert result.error is not None
    assert (result.error.phase, result.error.message) == ("agent", "the program is not there")
    assert (folder / RESULT).is_file()


async def test_the_agent_finds_no_reference(bench: Bench) -> None:
    _, folder = await bench.one("looks-for-the-reference")
    answer = (folder / "workspace/output/answer.txt").read_text()
    assert "/task/input" in answer
    assert "sum.txt" not in answer
    assert not [line for line in answer.splitlines() if line.startswith("/") and not line.startswith("/task")]


async def test_hostile_output_is_refused_piece_by_piece_and_the_rest_graded(bench: Bench) -> None:
    result, folder = await bench.one("hostile-output")
    assert result.score is not None
    assert result.score.value == 1.0
    manifest = json.loads((folder / "workspace/manifest.json").read_bytes())
    assert {file["path"] for file in manifest["files"]} == {"answer.txt", "d/with space"} | (
        {"hard"} & {file["path"] for file in manifest["files"]}
    )
    assert len(manifest["refused"]) >= 4
    assert not [path for path in (folder / "workspace").rglob("*") if path.is_symlink() or path.is_fifo()]


GRADERS = {
    "raises": ("raise RuntimeError('broken grader')", "broken grader"),
    "returns NaN": ("return float('nan')", "NaN"),
    "returns 2": ("return 2.0", "2.0"),
    "returns nothing": ("return None", "None"),
    "returns an empty list": ("return []", "empty list"),
    "exits": ("import os; os._exit(0)", "without a result"),
    "hangs": ("import time; time.sleep(1000)", "limit"),
    "raises what is no text": ("raise ValueError('\\ud800 from the agent')", "from the agent"),
    "prints a result": ("print('{\"ok\": true, \"value\": 1.0}'); raise ValueError('no')", "ValueError: no"),
}


@pytest.mark.parametrize("case", GRADERS)
async def test_a_broken_grader_is_no_zero(bench: Bench, case: str) -> None:
    body, expected = GRADERS[case]
    bench.grade_by(body)
    result, _ = await bench.one("right", limits={"grading_time": 3})
    assert (result.outcome, result.score) == (Outcome.UNSCORED_GRADER, None)
    assert result.error is not None
    assert result.error.phase == "evaluate"
    assert expected.lower() in result.error.message.lower()


async def test_a_missing_reference_is_named(bench: Bench) -> None:
    (bench.workflow / "reference" / "sum.txt").unlink()
    (bench.workflow / "reference").rmdir()
    result, _ = await bench.one("right")
    assert result.outcome is Outcome.UNSCORED_GRADER
    assert result.error is not None
    assert str(bench.workflow / "reference") in result.error.message


async def test_a_task_that_hands_out_its_answer_is_stopped_before_the_agent(bench: Bench) -> None:
    bench.write("input/notes.txt", "the-key-is 42\n")
    result, folder = await bench.one("right")
    assert result.outcome is Outcome.UNSCORED_GRADER
    assert result.error is not None
    assert "/task/input/notes.txt" in result.error.message
    assert "agent.start" not in [event.event for event in read_events(folder / "events.jsonl")]


async def test_a_broken_start_names_file_and_line(bench: Bench) -> None:
    bench.change("main.py", "await session.write_file(", "raise OSError(")
    result, _ = await bench.one("right")
    assert result.outcome is Outcome.UNSCORED_GRADER
    assert result.error is not None
    assert result.error.phase == "start"
    assert f"{bench.workflow / 'main.py'}:" in result.error.message


@pytest.mark.parametrize("place", ["fresh", "fork", "same"])
async def test_grading_happens_where_the_card_says(bench: Bench, place: str) -> None:
    bench.change("task.yaml", "tier: near-term", f"tier: near-term\ngrade_on: {place}")
    files = "/home/agent/mark /task/output/answer.txt /task/input/numbers.txt"
    bench.grade_by(
        f"seen = await session.run_command('cat {files}', check=False)\n    return Score(1.0, sentence=seen.stdout)"
    )
    result, folder = await bench.one("marks-its-home")
    sentence = json.loads((folder / "debug/eval/result.json").read_bytes())["score"]["sentence"]
    assert result.integrity.graded_on == place
    assert sentence == ("" if place == "fresh" else "mark\n") + "42\n20\n22\n"
    assert len(result.sandboxes) == (1 if place == "same" else 2)


async def test_the_oracles_work_is_its_trajectory(bench: Bench) -> None:
    result, folder = await bench.one("oracle")
    trajectory = read_trajectory(folder / "trajectory.json")
    assert (trajectory.final_score, trajectory.outcome) == (1.0, "scored")
    [step] = trajectory.steps
    assert (step.action.tool, step.observation and step.observation.exit_code) == ("run_command", 0)
    assert "numbers.txt" in str(step.action.args)
    assert [artifact.path for artifact in trajectory.artifacts] == ["answer.txt"]
    assert result.digests["task"]


async def test_nothing_is_left_after_a_run(bench: Bench) -> None:
    result, _ = await bench.one("leaves-survivors")
    left = {info.id for info in await open_provider("local").list()}
    assert not left & set(result.sandboxes)


async def test_results_are_kept_and_new_attempts_stand_beside_them(bench: Bench) -> None:
    first = await bench.run("right", "idle")
    plan = await bench.plan("right", "idle")
    assert (plan.runs, {result.id for result in plan.done}) == ((), {result.id for result in first})
    again = await bench.carry_out(await bench.plan("right", "idle", again=True))
    assert {result.attempt for result in again} == {2}
    assert {result.id for result in again}.isdisjoint(result.id for result in first)


async def test_a_try_that_failed_is_set_aside_and_repeated(bench: Bench) -> None:
    plan = await bench.plan("refuses-to-start", retries={"harness": 1, "infrastructure": 0})
    [result] = await bench.carry_out(plan)
    folder = plan.runs[0].folder
    assert (result.outcome, result.tries) == (Outcome.UNSCORED_HARNESS, 2)
    assert (folder / "tries" / "1" / RESULT).is_file()
    assert next(read_events(folder / "events.jsonl")).event == "run.retry"


async def test_inputs_are_kept_once_for_equal_runs(bench: Bench) -> None:
    results = await bench.run("right", "idle", attempts=2)
    assert len({result.digests["inputs"] for result in results}) == 1
    assert len(list((bench.folder / "results" / "bench" / ".inputs").iterdir())) == 1


def test_the_folder_is_where_the_design_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    import anyio

    plan = anyio.run(bench.plan, "idle")
    expected = tmp_path / "results/bench/idle/computing_math/sums/one/1"
    assert plan.runs[0].folder == expected
