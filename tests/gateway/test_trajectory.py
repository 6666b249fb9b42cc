"""From an agent's calls to its trajectory, through a real gateway, in every dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.doors import (
    Visitor,
    anthropic,
    assemble_anthropic,
    assemble_chat,
    assemble_gemini,
    assemble_responses,
    chat,
    gemini,
    gemini_path,
    responses,
    visit,
)

from ale.gateway.client import Gateway, Limits
from ale.trajectory.build import steps_from_transcript
from ale.trajectory.document import Meta, read_trajectory, write_trajectory
from ale.trajectory.schema import Agent, Step, TaskRef
from ale.trajectory.transcript import read_transcript

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="  # 1 x 1
RESULTS = {"ls -la /task/input": "a.csv\nb.csv", "wc -l a.csv": "12 a.csv \ud83d \0 end", None: PNG}


def result_of(args: dict[str, Any]) -> str:
    return RESULTS[args.get("command")]


async def play_anthropic(visitor: Visitor, *, stream: bool) -> None:
    body = anthropic(stream=stream)
    body["tools"].append({"name": "mcp__desktop__screenshot", "input_schema": {"type": "object"}})
    while True:
        status, answer = await visitor.post("/v1/messages?beta=true", body)
        if status != 200:
            return
        message = assemble_anthropic(answer) if stream else answer
        body["messages"].append({"role": "assistant", "content": message["content"]})
        results: list[dict[str, Any]] = []
        for block in message["content"]:
            if block["type"] == "tool_use":
                seen = result_of(block["input"])
                source = {"type": "base64", "media_type": "image/png", "data": seen}
                content: Any = [{"type": "image", "source": source}] if seen == PNG else seen
                results.append({"type": "tool_result", "tool_use_id": block["id"], "content": content})
        if not results:
            return
        body["messages"].append({"role": "user", "content": results})


async def play_chat(visitor: Visitor, *, stream: bool) -> None:
    body = chat(stream=stream)
    body["tools"].append({"type": "function", "function": {"name": "mcp__desktop__screenshot", "parameters": {}}})
    body["tools"][0]["function"]["name"] = "Bash"
    while True:
        status, answer = await visitor.post("/v1/chat/completions", body)
        if status != 200:
            return
        message = assemble_chat(answer)["message"] if stream else answer["choices"][0]["message"]
        body["messages"].append(message)
        pictures: list[dict[str, Any]] = []
        for call in message.get("tool_calls", []):
            seen = result_of(json.loads(call["function"]["arguments"]))
            if seen == PNG:
                pictures.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}})
            text = "" if seen == PNG else seen
            body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if not message.get("tool_calls"):
            return
        if pictures:
            body["messages"].append({"role": "user", "content": [{"type": "text", "text": "media:"}, *pictures]})


async def play_responses(visitor: Visitor, *, stream: bool) -> None:
    body = responses(stream=stream)
    body["tools"][0]["name"] = "Bash"
    body["tools"].append(
        {"type": "namespace", "name": "mcp__desktop", "tools": [{"type": "function", "name": "screenshot"}]}
    )
    while True:
        status, answer = await visitor.post("/v1/responses", body)
        if status != 200:
            return
        output = (assemble_responses(answer) if stream else answer)["output"]
        calls = [item for item in output if item["type"] == "function_call"]
        body["input"] += output
        for call in calls:
            seen = result_of(json.loads(call["arguments"]))
            picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
            said = [picture] if seen == PNG else seen
            body["input"].append({"type": "function_call_output", "call_id": call["call_id"], "output": said})
        if not calls:
            return


async def play_gemini(visitor: Visitor, *, stream: bool) -> None:
    """Older clients send a picture beside the result, newer ones in it; some leave the ids out."""
    body = gemini()
    [declared] = body["tools"][0]["functionDeclarations"]
    body["tools"] = [{"functionDeclarations": [{**declared, "name": "Bash"}, {"name": "mcp__desktop__screenshot"}]}]
    while True:
        status, answer = await visitor.post(gemini_path(stream=stream), body)
        if status != 200:
            return
        content = (assemble_gemini(answer) if stream else answer)["candidates"][0]["content"]
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        body["contents"].append(content)
        results: list[dict[str, Any]] = []
        for call in calls:
            seen = result_of(call["args"])
            response = {"name": call["name"], "response": {"output": "" if seen == PNG else seen}}
            pictures = [{"inlineData": {"mimeType": "image/png", "data": PNG}}] if seen == PNG else []
            if stream:
                results.append({"functionResponse": {**response, "id": call["id"], "parts": pictures}})
            else:
                results += [{"functionResponse": response}, *pictures]
        if not results:
            return
        body["contents"].append({"role": "user", "parts": results})


@pytest.mark.parametrize("stream", [False, True])
async def test_all_dialects_give_the_same_trajectory(gateway: Gateway, tmp_path: Path, stream: bool) -> None:
    reports, trajectories = [], []
    for play in (play_chat, play_responses, play_gemini, play_anthropic):
        async with visit(gateway, tmp_path / play.__name__ / "run") as one:
            await play(one, stream=stream)
            reports.append(await one.door.close())
        steps = list(steps_from_transcript(one.folder))
        trajectories.append([without_times(step) for step in steps])
    assert all(trajectory == trajectories[0] for trajectory in trajectories)
    assert all(report == reports[0] for report in reports)
    first, count, shot, message = steps
    assert [step.action.type for step in steps] == ["Bash", "Bash", "GUI", "message"]
    assert first.reasoning == "Let me see what there is.\n\nI look at the files of march first."
    assert first.observation is not None
    assert first.observation.text == "a.csv\nb.csv"
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cache_read_tokens, first.usage.cache_write_tokens) == (
        1200,
        1000,
        100,
    )
    assert first.usage.cost_usd == pytest.approx((100 * 3 + 1000 * 0.3 + 100 * 3.75 + 80 * 15) / 1e6)
    assert count.observation is not None
    assert count.observation.text == "12 a.csv \ufffd \u2400 end"
    assert count.call_id == shot.call_id == 2
    assert count.usage is not None
    assert shot.usage is None
    assert shot.observation is not None
    assert shot.observation.image_path == "traj/screenshots/step_3.png"
    assert (one.folder / shot.observation.image_path).read_bytes().startswith(b"\x89PNG")
    assert message.action.args == {"text": "Done."}
    assert message.observation is None


async def test_times_are_when_things_happened(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        await play_anthropic(visitor, stream=True)
        await visitor.door.close()
    calls = [record.call for record in read_transcript(visitor.folder)]
    steps = list(steps_from_transcript(visitor.folder))
    assert steps[0].timestamp == calls[0].end.utc
    assert steps[0].observation is not None
    assert steps[0].observation.timestamp == calls[1].start.utc
    assert steps[0].monotonic is not None
    assert steps[0].observation.monotonic is not None
    assert steps[0].monotonic <= steps[0].observation.monotonic


async def test_the_last_result_is_seen_though_a_budget_refused_the_call(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path, limits=Limits(steps=1)) as visitor:
        await play_anthropic(visitor, stream=False)
        report = await visitor.door.close()
    [step] = steps_from_transcript(visitor.folder)
    assert report.limit is not None
    assert step.observation is not None
    assert step.observation.text == "a.csv\nb.csv"


async def test_the_document_adds_up_to_the_doors_report(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        await play_chat(visitor, stream=True)
        report = await visitor.door.close()
    meta = Meta("run", Agent(name="a"), TaskRef(workflow="w", instance="i"), "do it", final_score=0.5, outcome="scored")
    totals = write_trajectory(visitor.folder, meta, steps_from_transcript(visitor.folder))
    document = read_trajectory(visitor.folder / "trajectory.json")
    assert document.totals == totals
    assert (totals.steps, totals.calls) == (4, report.answered)
    assert totals.usage.model_dump() == pytest.approx(report.usage.model_dump())


def without_times(step: Step) -> dict[str, Any]:
    data = step.model_dump()
    for part in (data, data["observation"] or {}):
        part.pop("timestamp", None)
        part.pop("monotonic", None)
    return data
