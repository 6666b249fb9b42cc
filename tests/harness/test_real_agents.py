"""Real agent CLIs in real sandboxes, each over its own wire dialect, all told the same by one script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.commands import ale
from tests.exam.conftest import Bench

from ale.exam.result import RunResult
from ale.harness import claude_code, codex, gemini_cli
from ale.outcome import AgentEnd, Outcome
from ale.trajectory.document import Trajectory, read_trajectory
from ale.trajectory.transcript import read_transcript

ROOT = Path(__file__).parents[2]

AGENTS = {
    "claude-code": ("anthropic", claude_code.VERSION),
    "codex": ("openai_responses", codex.VERSION),
    "gemini-cli": ("gemini", gemini_cli.VERSION),
}

ROOMY: dict[str, Any] = {"limits": {"time": "5m", "steps": 20}}
"""A CLI of Node takes ten seconds to start when the machine is busy."""

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.agent_cli,
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.usefixtures("base_image"),
    pytest.mark.xdist_group("agents"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[RunResult, Path]]]:
    """The demo's pipeline repair by every agent, each with the demo's script: results and run folders."""
    folder = tmp_path_factory.mktemp("agents")
    model = f"script:{ROOT / 'examples/demo/model.yaml'}"
    exam = {
        "name": "agents",
        "tasks_dir": str(ROOT / "tasks"),
        "output": "results",
        "tasks": ["computing_math/etl_repair"],
        "agents": [{"name": name, "harness": name, "model": model} for name in AGENTS],
        "concurrency": 2,
        **ROOMY,
    }
    (folder / "exam.yaml").write_text(yaml.safe_dump(exam), encoding="utf-8")
    done = ale("run", "exam.yaml", "--json", cwd=folder, timeout=900)
    assert done.returncode == 0, done.stderr
    runs: dict[str, list[tuple[RunResult, Path]]] = {name: [] for name in AGENTS}
    for data in json.loads(done.stdout):
        result = RunResult.model_validate(data)
        place = folder / "results/agents" / result.agent.name / result.workflow / result.instance / "1"
        runs[result.agent.name].append((result, place))
    return runs


@pytest.mark.parametrize("name", AGENTS)
def test_it_works_to_the_end_and_gets_full_marks(demo: dict[str, list[tuple[RunResult, Path]]], name: str) -> None:
    dialect, version = AGENTS[name]
    assert len(demo[name]) == 2
    for result, folder in demo[name]:
        assert (result.outcome, result.agent_end) == (Outcome.SCORED, AgentEnd.FINISHED)
        assert result.score is not None
        assert result.score.value == 1.0
        assert version in (result.agent.version or "")
        ended = json.loads((folder / "agent_result.json").read_text(encoding="utf-8"))
        assert ended["last_message"].startswith("The pipeline in /task/output/pipeline is repaired: ")
        calls = [record.call for record in read_transcript(folder)]
        assert {(call.kind, call.dialect, call.status, call.stream) for call in calls} == {
            ("model", dialect, 200, True)
        }
        assert len(calls) == result.usage.model_calls == 6


def test_one_script_gives_the_same_steps_whoever_plays_it(demo: dict[str, list[tuple[RunResult, Path]]]) -> None:
    told: dict[str, list[list[Any]]] = {}
    for runs in demo.values():
        for result, folder in runs:
            steps = read_trajectory(folder / "trajectory.json").steps
            told.setdefault(result.instance, []).append([what(step.action, step.reasoning) for step in steps])
            assert all(step.observation is not None and step.observation.text for step in steps[:-1])
    for steps_of_agents in told.values():
        assert len(steps_of_agents) == len(AGENTS)
        assert all(steps == steps_of_agents[0] for steps in steps_of_agents)


def what(action: Any, reasoning: str | None) -> tuple[Any, ...]:
    command = action.args.get("command") or action.args.get("cmd")
    return action.type, command or action.args["text"], reasoning


HARD = """
scripts:
  - turns:
      - thinking: Three things at once.
        text: I do them.
        calls:
          - shell: sleep 1; echo one
          - shell: echo two ä😀; echo 42 > /task/output/answer.txt
          - shell: echo three; exit 3
      - error: {status: 500, message: out of order}
      - calls: [{shell: cat /task/output/answer.txt}]
      - text: All done.
    otherwise: {text: This is never said.}
"""

PROMPT = "-p --help 'one' \"two\" `id` $(id) \\ %s {{instance}}\n\n" + "Ünïcode 😀 and no end.\n" * 8000


@pytest.mark.parametrize("name", AGENTS)
async def test_parallel_calls_an_error_between_and_a_prompt_full_of_traps(bench: Bench, name: str) -> None:
    bench.change("main.py", '"Write the sum of the numbers in /task/input to /task/output/answer.txt"', repr(PROMPT))
    result, folder = await bench.one(agent(bench, name), **ROOMY)
    assert (result.outcome, result.agent_end) == (Outcome.SCORED, AgentEnd.FINISHED)
    assert result.score is not None
    assert result.score.value == 1.0
    trajectory: Trajectory = read_trajectory(folder / "trajectory.json")
    one, two, three, answer, message = trajectory.steps
    assert [seen(step) for step in (one, two, three, answer)] == ["one", "two ä😀", "three", "42"]
    assert one.call_id == two.call_id == three.call_id
    assert one.reasoning == "Three things at once.\n\nI do them."
    assert message.action.args == {"text": "All done."}
    records = list(read_transcript(folder))
    assert [record.call.status for record in records] == [200, 500, 200, 200]
    assert PROMPT.strip() in texts(records[0].body())


@pytest.mark.parametrize("name", AGENTS)
async def test_a_used_up_budget_ends_it_at_once(bench: Bench, name: str) -> None:
    result, folder = await bench.one(agent(bench, name), limits={"time": "5m", "steps": 1})
    assert (result.outcome, result.agent_end) == (Outcome.SCORED, AgentEnd.STEP_LIMIT)
    assert result.score is not None
    assert result.score.value == 1.0
    assert result.usage.model_calls == 1
    ended = json.loads((folder / "agent_result.json").read_text(encoding="utf-8"))
    assert ended["exit_code"] not in (0, None)
    assert "the step budget is used up (1 of 1)" in ended["last_message"]


def agent(bench: Bench, name: str) -> dict[str, Any]:
    path = bench.folder / "model.yaml"
    path.write_text(HARD, encoding="utf-8")
    return {"harness": name, "model": f"script:{path}"}


def seen(step: Any) -> str:
    """The line of a shell's output that the command itself printed; each harness puts other words around it."""
    text = step.observation.text or step.observation.error
    return next(word for word in ("one", "two ä😀", "three", "42") if word in text)


def texts(value: Any) -> str:
    """Every text of a body, one after the other."""
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(map(texts, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
