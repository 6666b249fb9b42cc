"""OpenAI Responses, streaming and not, against a real gateway process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.doors import assemble_responses, events, responses, visit

from ale.gateway.client import Gateway
from ale.gateway.dialects.openai_responses import OpenAIResponses
from ale.gateway.neutral import BadRequest, Reply
from ale.trajectory.build import steps_from_transcript
from ale.trajectory.schema import Usage

PATH = "/v1/responses"

DESKTOP = {"type": "namespace", "name": "mcp__desktop", "tools": [{"type": "function", "name": "screenshot"}]}
PATCH = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}


async def test_it_answers_with_reasoning_text_and_a_filled_shell_call(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, response = await visitor.post(PATH, responses())
    assert status == 200
    thought, message, call = response["output"]
    assert thought["summary"] == [{"type": "summary_text", "text": "Let me see what there is."}]
    assert message["content"][0]["text"] == "I look at the files of march first."
    assert (call["type"], call["name"]) == ("function_call", "exec_command")
    assert json.loads(call["arguments"])["command"] == "ls -la /task/input"
    assert json.loads(call["arguments"])["description"]
    assert (response["status"], response["object"]) == ("completed", "response")
    assert response["usage"] == {
        "input_tokens": 1200,
        "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 100},
        "output_tokens": 80,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1280,
    }


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
async def test_a_stream_adds_up_to_the_plain_answer(gateway: Gateway, tmp_path: Path, turns: int) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, plain = await visitor.post(PATH, responses(turns))
        status, stream = await visitor.post(PATH, responses(turns, stream=True))
    assert status == 200
    assert comparable(assemble_responses(stream)) == comparable(plain)


async def test_the_order_of_events(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, stream = await visitor.post(PATH, responses(stream=True))
    summary = ["part.added", "text.delta", "text.done", "part.done"]
    text = ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]
    assert [(name or "").removeprefix("response.") for name, _ in events(stream)] == [
        "created",
        "in_progress",
        *("output_item.added", *(f"reasoning_summary_{step}" for step in summary), "output_item.done"),
        *("output_item.added", *text, "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]


@pytest.mark.parametrize("size", [511, 512, 513, 40_000])
async def test_long_texts_survive_the_pieces_of_a_stream(gateway: Gateway, tmp_path: Path, size: int) -> None:
    text = ("añ😀\\n" * size)[:size]
    script = f"scripts: [{{turns: [{{thinking: '{text}', text: '{text}', calls: [{{shell: '{text}'}}]}}]}}]"
    async with visit(gateway, tmp_path, script=script) as visitor:
        _, stream = await visitor.post(PATH, responses(stream=True))
    thought, message, call = assemble_responses(stream)["output"]
    assert thought["summary"][0]["text"] == message["content"][0]["text"] == text
    assert json.loads(call["arguments"])["command"] == text


async def test_a_plain_text_as_input_is_a_request(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, response = await visitor.post(PATH, responses() | {"input": "Reconcile the vendors."})
    assert status == 200
    assert response["output"][-1]["name"] == "exec_command"


async def test_the_tools_of_a_namespace_are_called_in_their_namespace(gateway: Gateway, tmp_path: Path) -> None:
    body = responses(1, stream=True)
    body["tools"].append(DESKTOP)
    async with visit(gateway, tmp_path) as visitor:
        _, stream = await visitor.post(PATH, body)
        await visitor.door.close()
    shell, screenshot = assemble_responses(stream)["output"]
    assert "namespace" not in shell
    assert (screenshot["namespace"], screenshot["name"]) == ("mcp__desktop", "screenshot")
    assert [step.action.tool for step in steps_from_transcript(visitor.folder)] == [
        "exec_command",
        "mcp__desktop__screenshot",
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_custom_tool_gets_its_text_as_it_is(gateway: Gateway, tmp_path: Path, stream: bool) -> None:
    patch = "*** Begin Patch\n*** End Patch\n"
    turn = {"calls": [{"tool": "apply_patch", "args": {"input": patch}}, {"tool": "apply_patch", "args": {"a": 1}}]}
    script = json.dumps({"scripts": [{"turns": [turn, {"text": "Done."}]}]})
    body = responses(stream=stream)
    body["tools"].append(PATCH)
    async with visit(gateway, tmp_path, script=script) as visitor:
        _, answer = await visitor.post(PATH, body)
        output = (assemble_responses(answer) if stream else answer)["output"]
        results = [{"type": "custom_tool_call_output", "call_id": output[0]["call_id"], "output": "patched"}]
        await visitor.post(PATH, body | {"input": body["input"] + output + results})
        await visitor.door.close()
    assert [(call["type"], call["input"]) for call in output] == [
        ("custom_tool_call", patch),
        ("custom_tool_call", '{"a": 1}'),
    ]
    patched, odd, done = steps_from_transcript(visitor.folder)
    assert (patched.action.tool, patched.action.args) == ("apply_patch", {"input": patch})
    assert patched.observation is not None
    assert patched.observation.text == "patched"
    assert odd.observation is None
    assert done.action.args == {"text": "Done."}


async def test_tools_that_travel_with_the_input_are_offered_too(gateway: Gateway, tmp_path: Path) -> None:
    body = responses(tools=False)
    shell = {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}
    body["input"].insert(0, {"type": "additional_tools", "tools": [shell]})
    async with visit(gateway, tmp_path) as visitor:
        _, response = await visitor.post(PATH, body)
    assert json.loads(response["output"][-1]["arguments"]) == {"cmd": "ls -la /task/input"}


async def test_a_request_without_own_tools_gets_a_short_text_of_its_form(gateway: Gateway, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    text = {"format": {"type": "json_schema", "name": "t", "schema": schema}}
    async with visit(gateway, tmp_path) as visitor:
        _, plain = await visitor.post(PATH, responses(tools=False))
        _, hosted = await visitor.post(PATH, responses(tools=False) | {"tools": [{"type": "web_search"}]})
        _, shaped = await visitor.post(PATH, responses(tools=False, text=text))
    assert plain["output"][0]["content"][0]["text"] == "Working on the task."
    assert hosted["output"][0]["content"][0]["text"] == "Working on the task."
    assert "title" in json.loads(shaped["output"][0]["content"][0]["text"])


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
async def test_what_would_need_a_memory_is_refused(gateway: Gateway, tmp_path: Path, name: str) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, answer = await visitor.post(PATH, responses() | {name: "resp_1"})
    assert status == 400
    assert name in answer["error"]["message"]


def test_an_answer_that_was_cut_says_so() -> None:
    dialect = OpenAIResponses()
    request, reply = dialect.parse(responses()), Reply(Usage(), text="cut", stop="length")
    last = list(dialect.stream(request, reply, "1"))[-1]
    assert last.startswith(b"event: response.incomplete\n")
    assert dialect.render(request, reply, "1")["incomplete_details"] == {"reason": "max_output_tokens"}


def test_the_parts_of_one_answer_are_one_turn() -> None:
    parse = OpenAIResponses().parse
    call = {"type": "function_call", "call_id": "1", "name": "a", "arguments": ""}
    output = {"type": "function_call_output", "call_id": "1", "output": ""}
    said = {"role": "assistant", "content": "a"}
    for items, turns in [
        ([], 0),
        ([{"type": "reasoning"}, said, call, call, output, output], 1),
        ([call, output, said], 2),
        ([{"type": "custom_tool_call"}, {"type": "custom_tool_call_output"}, {"type": "local_shell_call"}], 2),
    ]:
        assert parse({"model": "m", "input": items}).turns == turns
    with pytest.raises(BadRequest, match="role"):
        parse({"model": "m", "input": [{"role": "oracle"}]})


def comparable(response: dict[str, Any]) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("id", "call_id", "created_at")}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(response)
