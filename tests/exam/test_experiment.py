"""The exam file and the ids of its runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from ale.errors import UsageError
from ale.exam.experiment import Experiment, parse_duration, read_experiment
from ale.exam.plan import run_id


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "exam.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("15 min", 900), ("5h", 18000)])
def test_durations_are_written_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_a_duration_that_is_none_names_the_forms() -> None:
    with pytest.raises(ValueError, match="90s, 15m or 5h"):
        parse_duration("soon")


def test_an_agent_may_be_written_as_its_harness_alone(tmp_path: Path) -> None:
    exam = read_experiment(write(tmp_path, "name: e\ntasks: [a/b]\nagents: [oracle]\n"))
    assert [(agent.name, agent.harness) for agent in exam.agents] == [("oracle", "oracle")]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = "name: e\ntasks: [a/b]\ntasks_dir: ../t\nagents: [{harness: qwen-code, model: 'script:m.yaml'}]\n"
    folder = tmp_path / "exams"
    folder.mkdir()
    exam = read_experiment(write(folder, text))
    assert exam.tasks_dir == tmp_path / "t"
    assert exam.agents[0].model == f"script:{folder / 'm.yaml'}"


BAD = {
    "agent key": ("agents: [{harness: oracle, modle: x}]", "unknown key 'modle' (did you mean 'model'?)"),
    "no agents": ("agents: []", "agents"),
    "same name twice": ("agents: [oracle, oracle]", "two agents are called 'oracle'"),
    "bad name": ("agents: [{harness: oracle, name: 'a/b'}]", "name"),
    "negative limit": ("agents: [oracle]\nlimits: {steps: 0}", "limits.steps"),
    "bad time": ("agents: [oracle]\nlimits: {time: later}", "'later' is not a duration"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_exam_file_is_one_sentence_with_its_line(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    with pytest.raises(UsageError) as caught:
        read_experiment(write(tmp_path, f"name: e\ntasks: [a/b]\n{text}\n"))
    assert expected in str(caught.value)
    assert "exam.yaml:" in str(caught.value)


def test_ids_follow_from_content_alone() -> None:
    first = run_id("e", "a", "c/w", "i", 1)
    assert first == run_id("e", "a", "c/w", "i", 1)
    others = {
        run_id("f", "a", "c/w", "i", 1),
        run_id("e", "b", "c/w", "i", 1),
        run_id("e", "a", "c/v", "i", 1),
        run_id("e", "a", "c/w", "j", 1),
        run_id("e", "a", "c/w", "i", 2),
        run_id("e", "ac/w", "", "i", 1),
    }
    assert len(others | {first}) == 7
    assert len(first) == 16


def test_an_experiment_needs_tasks() -> None:
    with pytest.raises(ValidationError):
        Experiment.model_validate({"name": "e", "tasks": [], "agents": ["oracle"]})
