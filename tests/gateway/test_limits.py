"""Budgets end any agent, and say so once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.gateway.doors import anthropic, chat, gemini, gemini_path, responses, visit

from ale.gateway.client import Gateway, Limits
from ale.outcome import AgentEnd
from ale.trajectory.transcript import read_transcript


@pytest.mark.parametrize(
    ("limits", "served", "limit", "end"),
    [
        (Limits(steps=2), 2, "steps", AgentEnd.STEP_LIMIT),
        (Limits(tokens=1281), 2, "tokens", AgentEnd.TOKEN_LIMIT),
        (Limits(tokens=1280), 1, "tokens", AgentEnd.TOKEN_LIMIT),
        (Limits(cost_usd=0.0022), 2, "cost_usd", AgentEnd.COST_LIMIT),
        (Limits(steps=50, tokens=1, cost_usd=9.0), 1, "tokens", AgentEnd.TOKEN_LIMIT),
    ],
)
async def test_a_budget_refuses_the_call_after_it_is_used_up(
    gateway: Gateway, tmp_path: Path, limits: Limits, served: int, limit: str, end: AgentEnd
) -> None:
    async with visit(gateway, tmp_path, limits=limits) as visitor:
        for _ in range(served):
            assert (await visitor.post("/v1/messages", anthropic()))[0] == 200
        status, body = await visitor.post("/v1/messages", anthropic())
        others = [
            await visitor.post("/v1/chat/completions", chat()),
            await visitor.post("/v1/responses", responses(stream=True)),
            await visitor.post(gemini_path(stream=True), gemini()),
        ]
        with anyio.fail_after(10):
            reached = await visitor.door.limit_reached()
        report = await visitor.door.close()
    assert [status, *(again for again, _ in others)] == [400] * 4
    assert body["error"]["type"] == "invalid_request_error"
    assert "budget is used up" in body["error"]["message"]
    assert [answer["error"]["code"] for _, answer in others] == ["budget_exhausted", "budget_exhausted", 400]
    assert (reached.limit, reached.agent_end, reached.call) == (limit, end, served + 1)
    assert report.limit == reached
    assert (report.calls, report.answered) == (served + 4, served)
    assert report.first_error is None
    assert [record.call.limit for record in read_transcript(visitor.folder)] == [None] * served + [limit] * 4


async def test_exactly_the_budget_is_no_limit_reached(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path, limits=Limits(steps=3)) as visitor:
        for turn in range(3):
            await visitor.post("/v1/messages", anthropic(turn))
        report = await visitor.door.close()
    assert report.limit is None
    assert report.answered == 3


async def test_parallel_calls_cannot_pass_the_step_budget_together(gateway: Gateway, tmp_path: Path) -> None:
    script = "scripts: [{turns: [{delay: 0.2, text: slow}]}]"
    statuses: list[int] = []
    async with visit(gateway, tmp_path, script=script, limits=Limits(steps=3)) as visitor:

        async def ask() -> None:
            statuses.append((await visitor.post("/v1/messages", anthropic()))[0])

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(ask)
        report = await visitor.door.close()
    assert sorted(statuses) == [200] * 3 + [400] * 9
    assert report.answered == 3


async def test_a_call_that_fails_gives_its_place_back(gateway: Gateway, tmp_path: Path) -> None:
    script = "scripts: [{turns: [{delay: 0.2, error: {status: 529, message: busy}}, {text: Done.}]}]"
    statuses: list[int] = []
    async with visit(gateway, tmp_path, script=script, limits=Limits(steps=1)) as visitor:

        async def ask() -> None:
            statuses.append((await visitor.post("/v1/messages", anthropic()))[0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
    assert sorted(statuses) == [200, 529]


async def test_an_answer_that_the_client_breaks_off_is_paid_for(gateway: Gateway, tmp_path: Path) -> None:
    script = f"scripts: [{{turns: [{{text: '{'x' * 3_000_000}', usage: {{input: 10, output: 5}}}}]}}]"
    async with visit(gateway, tmp_path, script=script, limits=Limits(steps=1)) as visitor:
        url, headers = visitor.url("/v1/messages"), {"x-api-key": visitor.door.token}
        async with visitor.http.post(url, json=anthropic(stream=True), headers=headers) as answer:
            await answer.content.readany()
            answer.close()
        status, _ = await visitor.post("/v1/messages", anthropic())
        report = await visitor.door.close()
    assert status == 400
    assert report.usage.input_tokens == 10
    broken_off = next(record.call for record in read_transcript(visitor.folder) if record.call.n == 1)
    assert broken_off.aborted
    assert broken_off.usage is not None


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(value: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        Limits(cost_usd=value)
