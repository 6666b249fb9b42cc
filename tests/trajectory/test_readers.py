"""What the readers make of the less usual shapes of a body."""

from __future__ import annotations

from typing import Any

import pytest

from ale.trajectory.readers.gemini import GeminiReader
from ale.trajectory.readers.openai_responses import OpenAIResponsesReader
from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "fine"}, "fine", False),
        ({"result": "fine"}, "fine", False),
        ({"output": "half", "error": "way"}, "half", False),
        ({"error": "no such file"}, "no such file", True),
        ({"error": {"code": 2}}, '{"code": 2}', True),
        ({"rows": [1, "é"]}, '{"rows": [1, "é"]}', False),
        ({"result": None}, "", False),
        ({}, "{}", False),
        (None, "", False),
        ("text", "text", False),
    ],
)
def test_what_a_gemini_tool_gave(response: Any, text: str, failed: bool) -> None:
    content = {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "sh", "response": response}}]}
    assert list(GeminiReader().results([content])) == [ToolResult("1", text, is_error=failed, tool="sh")]


def test_gemini_pictures_come_beside_a_result_or_in_it() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    snake = {"inline_data": {"mime_type": "image/png", "data": "BBBB"}}
    inside = {"function_response": {"name": "shot", "response": {"output": "seen"}, "parts": [picture]}}
    contents = [{"role": "model", "parts": [picture]}, {"role": "function", "parts": [inside, snake, {"text": "x"}]}]
    assert list(GeminiReader().results(contents)) == [
        ToolResult("", "seen", ("AAAA",), tool="shot"),
        ToolResult(None, pictures=("BBBB",)),
    ]


def test_gemini_thoughts_are_no_text_and_a_call_may_have_no_arguments() -> None:
    parts = [
        {"text": "I think", "thought": True},
        {"text": "I say "},
        {"text": "it"},
        {"functionCall": {"name": "a"}},
        {"function_call": {"id": "2", "name": "b", "args": {"x": 1}}},
    ]
    answer = GeminiReader().answer({"candidates": [{"content": {"parts": parts}}, {"content": {"parts": parts}}]})
    assert answer == Answer("I say it", "I think", (ToolUse("", "a", {}), ToolUse("2", "b", {"x": 1})))
    assert GeminiReader().answer({"candidates": [{"finishReason": "SAFETY"}]}) == Answer()


def test_responses_outputs_are_texts_or_parts() -> None:
    parts = [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    items = [
        {"type": "function_call_output", "call_id": "1", "output": "fine"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": parts},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": parts},
        {"type": "message", "role": "user", "content": "words"},
    ]
    assert list(OpenAIResponsesReader().results(items)) == [
        ToolResult("1", "fine"),
        ToolResult("2", "seen", ("data:image/png;base64,AAAA",)),
        ToolResult(None, pictures=("data:image/png;base64,AAAA",)),
    ]


def test_a_responses_answer_is_put_together_from_its_items() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}], "content": [{"text": "b"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "c"}, {"type": "refusal", "refusal": "d"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "e"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "namespace": "mcp__x", "arguments": "[1]"},
        {"type": "custom_tool_call", "call_id": "2", "name": "g", "input": "patch"},
        {"type": "web_search_call", "id": "ws_1"},
    ]
    assert OpenAIResponsesReader().answer({"output": output}) == Answer(
        "c\n\ne",
        "a\n\nb",
        (ToolUse("1", "mcp__x__f", {"raw": "[1]"}), ToolUse("2", "g", {"input": "patch"})),
    )
