"""Runs whose agent calls a model through the door: budgets, failures, and what the record says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.exam.conftest import Bench

from ale.errors import UsageError
from ale.exam.events import read_events
from ale.outcome import AgentEnd, Outcome
from ale.trajectory.document import read_trajectory

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("base_image")]

ENDLESS = """
price: {input: 10, output: 50}
scripts:
  - when: {workflow: "*", instance: "*"}
    turns: []
    otherwise: {text: "more", usage: {input: 1000, output: 100}}
"""

THREE = """
scripts:
  - when: {workflow: "*", instance: "*"}
    turns:
      - {text: one, usage: {input: 100, output: 10}}
      - {text: two, usage: {input: 120, output: 10}}
      - {text: stop, usage: {input: 140, output: 10}}
"""

BROKEN = """
scripts:
  - when: {workflow: "*", instance: "*"}
    turns:
      - {text: one}
      - {error: {status: 500, message: the provider is on fire}}
"""


def agent(bench: Bench, script: str, harness: str = "calls-the-model", **settings: Any) -> dict[str, Any]:
    path = bench.folder / "model.yaml"
    path.write_text(script, encoding="utf-8")
    return {"harness": harness, "model": f"script:{path}", "settings": settings}


async def test_a_run_is_metered_and_its_calls_are_events_and_steps(bench: Bench) -> None:
    result, folder = await bench.one(agent(bench, THREE))
    assert (result.outcome, result.agent_end) == (Outcome.SCORED, AgentEnd.FINISHED)
    usage = result.usage
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens, usage.cost_usd) == (3, 360, 30, None)
    calls = [event for event in read_events(folder / "events.jsonl") if event.event == "model.call"]
    assert [call.data["n"] for call in calls] == [1, 2, 3]
    trajectory = read_trajectory(folder / "trajectory.json")
    assert [step.action.args["text"] for step in trajectory.steps] == ["one", "two", "stop"]
    assert trajectory.totals.usage.input_tokens == 360
    assert result.digests["model"]


LIMITS = {
    "steps": ({"steps": 4}, AgentEnd.STEP_LIMIT),
    "tokens": ({"tokens": 4000}, AgentEnd.TOKEN_LIMIT),
    "cost_usd": ({"cost_usd": 0.05}, AgentEnd.COST_LIMIT),
}


@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
async def test_every_budget_stops_any_agent_and_the_run_is_graded(
    bench: Bench, limit: str, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ale.exam.work.GRACE", 0.5)
    limits, end = LIMITS[limit]
    result, folder = await bench.one(agent(bench, ENDLESS, stubborn=stubborn), limits=limits)
    assert (result.outcome, result.agent_end, result.limits.reached) == (Outcome.SCORED, end, limit)
    assert result.score is not None
    assert result.score.value == 1.0
    assert result.usage.model_calls == 4
    reached = [event for event in read_events(folder / "events.jsonl") if event.event == "limit.reached"]
    assert [event.data["limit"] for event in reached] == [limit]


async def test_a_dollar_cap_without_a_price_is_refused_when_planning(bench: Bench) -> None:
    with pytest.raises(UsageError, match="price"):
        await bench.plan(agent(bench, THREE), limits={"cost_usd": 1})


async def test_a_harness_that_makes_no_call_is_no_zero(bench: Bench) -> None:
    result, _ = await bench.one(agent(bench, THREE, "never-calls"))
    assert (result.outcome, result.score) == (Outcome.UNSCORED_HARNESS, None)
    assert result.error is not None
    assert "not logged in" in result.error.message


async def test_a_run_that_died_of_its_provider_is_infrastructure(bench: Bench) -> None:
    result, _ = await bench.one(agent(bench, BROKEN))
    assert (result.outcome, result.score) == (Outcome.UNSCORED_INFRASTRUCTURE, None)
    assert result.error is not None
    assert "on fire" in result.error.message


async def test_the_token_of_a_run_is_in_none_of_its_files(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from ale.gateway.client import Gateway

    tokens: list[str] = []
    opened = Gateway.open

    async def open_and_tell(self: Gateway, spec: Any, listener: Any) -> Any:
        door = await opened(self, spec, listener)
        tokens.append(door.token)
        return door

    monkeypatch.setattr(Gateway, "open", open_and_tell)
    _, folder = await bench.one(agent(bench, THREE))
    assert tokens
    leaks = [path for path in Path(folder).rglob("*") if path.is_file() and tokens[0].encode() in path.read_bytes()]
    assert not leaks
