"""Anthropic Messages and OpenAI Chat, streaming and not, against a real gateway process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.doors import anthropic, assemble_anthropic, assemble_chat, chat, events, visit

from ale.gateway.client import Gateway


async def test_anthropic_answers_with_thinking_text_and_a_filled_shell_call(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, message = await visitor.post("/v1/messages?beta=true", anthropic())
    assert status == 200
    thinking, text, call = message["content"]
    assert thinking["thinking"] == "Let me see what there is."
    assert thinking["signature"]
    assert text == {"type": "text", "text": "I look at the files of march first."}
    assert call["name"] == "Bash"
    assert call["input"]["command"] == "ls -la /task/input"
    assert call["input"]["description"]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"] == {
        "input_tokens": 100,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 80,
    }


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
async def test_an_anthropic_stream_adds_up_to_the_plain_answer(gateway: Gateway, tmp_path: Path, turns: int) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, plain = await visitor.post("/v1/messages", anthropic(turns))
        status, stream = await visitor.post("/v1/messages", anthropic(turns, stream=True))
    assert status == 200
    assert without_ids(assemble_anthropic(stream)) == without_ids(plain)


async def test_the_order_of_anthropic_events(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, stream = await visitor.post("/v1/messages", anthropic(stream=True))
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    signed = ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"]
    names = [name for name, _ in events(stream)]
    assert names == ["message_start", *signed, *block, *block, "message_delta", "message_stop"]
    assert [data["delta"]["type"] for name, data in events(stream) if name == "content_block_delta"] == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
    ]


async def test_chat_answers_with_reasoning_text_and_parallel_calls(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, first = await visitor.post("/v1/chat/completions", chat())
        _, second = await visitor.post("/v1/chat/completions", chat(1))
    message = first["choices"][0]["message"]
    assert message["reasoning_content"] == "Let me see what there is."
    assert message["content"] == "I look at the files of march first."
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert first["usage"]["prompt_tokens"] == 1200
    assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 1000
    calls = second["choices"][0]["message"]["tool_calls"]
    assert [call["function"]["name"] for call in calls] == ["run_shell_command", "mcp__desktop__screenshot"]
    assert len({call["id"] for call in calls}) == 2


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
async def test_a_chat_stream_adds_up_to_the_plain_answer(gateway: Gateway, tmp_path: Path, turns: int) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, plain = await visitor.post("/v1/chat/completions", chat(turns))
        body = chat(turns, stream=True, stream_options={"include_usage": True})
        _, stream = await visitor.post("/v1/chat/completions", body)
    whole, choice = assemble_chat(stream), plain["choices"][0]
    assert without_ids(whole["message"]) == without_ids(
        {**choice["message"], "content": choice["message"]["content"] or ""}
    )
    assert whole["finish_reason"] == choice["finish_reason"]
    assert whole["usage"] == plain["usage"]


async def test_a_chat_stream_tells_usage_only_when_asked(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, stream = await visitor.post("/v1/chat/completions", chat(stream=True))
    assert assemble_chat(stream)["usage"] is None
    assert all("usage" not in chunk for _, chunk in events(stream)[:-1])


@pytest.mark.parametrize("size", [511, 512, 513, 40_000])
async def test_long_texts_survive_the_pieces_of_a_stream(gateway: Gateway, tmp_path: Path, size: int) -> None:
    text = ("añ😀\\n" * size)[:size]
    script = f"scripts: [{{turns: [{{text: '{text}', calls: [{{shell: '{text}'}}]}}]}}]"
    async with visit(gateway, tmp_path, script=script) as visitor:
        _, one = await visitor.post("/v1/messages", anthropic(stream=True))
        _, other = await visitor.post("/v1/chat/completions", chat(stream=True))
    message = assemble_anthropic(one)
    assert message["content"][0]["text"] == text
    assert message["content"][1]["input"]["command"] == text
    assert assemble_chat(other)["message"]["content"] == text


async def test_both_kinds_of_credentials_are_taken(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        bearer = {"x-api-key": "dummy", "Authorization": f"bearer {visitor.door.token}"}
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200
        assert (await visitor.post("/v1/chat/completions", chat(), headers=bearer))[0] == 200


async def test_models_are_listed_and_helper_models_served(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path, also=("small-1",)) as visitor:
        async with visitor.http.get(visitor.url("/v1/models"), headers={"x-api-key": visitor.door.token}) as response:
            listed = await response.json()
        status, _ = await visitor.post("/v1/messages", anthropic() | {"model": "small-1"})
    assert [model["id"] for model in listed["data"]] == ["scripted-1", "small-1"]
    assert status == 200


async def test_requests_without_tools_get_a_short_text_and_take_no_turn(gateway: Gateway, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    form = {"type": "json_schema", "json_schema": {"name": "t", "schema": schema}}
    async with visit(gateway, tmp_path) as visitor:
        _, title = await visitor.post("/v1/messages", anthropic(tools=False))
        _, shaped = await visitor.post("/v1/chat/completions", chat(tools=False, response_format=form))
    assert title["content"] == [{"type": "text", "text": "Working on the task."}]
    assert "title" in shaped["choices"][0]["message"]["content"]


async def test_count_tokens_is_an_estimate_and_no_step(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, few = await visitor.post("/v1/messages/count_tokens", anthropic())
        _, more = await visitor.post("/v1/messages/count_tokens", anthropic(50))
        report = await visitor.door.close()
    assert 0 < few["input_tokens"] < more["input_tokens"]
    assert (report.calls, report.answered) == (0, 0)


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in ("id", "created")}
    return [without_ids(item) for item in value] if isinstance(value, list) else value
