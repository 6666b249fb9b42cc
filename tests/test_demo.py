"""The demo exam, as `make demo` runs it, and then every command of the README on what it left."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import ale

from ale.exam.result import RunResult
from ale.outcome import AgentEnd
from ale.trajectory.document import read_trajectory

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.sandbox, pytest.mark.agent_cli, pytest.mark.network, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tasks and examples of the checkout."""
    folder = tmp_path_factory.mktemp("demo")
    for name in ("tasks", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def results(place: Path) -> list[RunResult]:
    done = ale("run", "examples/demo/exam.yaml", "--json", cwd=place, timeout=900)
    assert done.returncode == 0, done.stderr
    return [RunResult.model_validate(result) for result in json.loads(done.stdout)]


def scores(results: list[RunResult], agent: str) -> dict[str, float]:
    return {
        f"{result.workflow}:{result.instance}": result.score.value
        for result in results
        if result.agent.name == agent and result.score is not None
    }


def test_the_oracle_is_right_everywhere(results: list[RunResult]) -> None:
    assert set(scores(results, "oracle").values()) == {1.0}
    assert len(scores(results, "oracle")) == 5


def test_the_idle_agent_gets_nothing_and_is_told_why(results: list[RunResult]) -> None:
    assert set(scores(results, "idle").values()) == {0.0}
    assert {result.score.reason for result in results if result.agent.name == "idle" and result.score} == {"no_output"}


def test_the_real_agent_gets_what_its_script_earns(results: list[RunResult]) -> None:
    found = scores(results, "qwen-scripted")
    assert len(found) == 5
    for case, value in found.items():
        if case.startswith("computing_math/etl_repair"):
            assert value == 1.0, case
        else:
            assert 0.5 < value < 0.9, case


def test_the_real_agents_work_is_in_the_trajectory(results: list[RunResult], place: Path) -> None:
    for result in results:
        if result.agent.name != "qwen-scripted":
            continue
        assert result.agent_end is AgentEnd.FINISHED
        assert result.agent.version == "0.24.4"
        folder = place / "results/demo/qwen-scripted" / result.workflow / result.instance / "1"
        trajectory = read_trajectory(folder / "trajectory.json")
        commands = [step for step in trajectory.steps if step.action.tool == "run_shell_command"]
        assert len(commands) >= 4
        assert all(step.observation is not None and step.observation.text for step in commands)
        times = [step.timestamp for step in trajectory.steps]
        assert times == sorted(times)
        assert all(result.started <= time <= result.ended for time in times)
        assert trajectory.totals.usage.input_tokens == result.usage.input_tokens > 0


def readme_commands() -> Iterator[str]:
    """The lines of the README's shell blocks that call `ale`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            command = line.partition("#")[0].strip()
            if command.startswith("ale "):
                yield command


def test_every_command_of_the_readme_does_what_it_says(results: list[RunResult], place: Path) -> None:
    commands = list(readme_commands())
    assert len(commands) >= 6
    for command in commands:
        done = ale(*shlex.split(command)[1:], cwd=place)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stdout, command
