"""Whatever JSON comes in, every dialect either takes it as a request and answers, or calls it a bad one."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.doors import anthropic, chat, events, gemini, responses

from ale.gateway.dialects import Dialect, find_address
from ale.gateway.estimate import tokens_of_body
from ale.gateway.neutral import BadRequest, Reply, ToolCall
from ale.gateway.tools import filled, shell_call, tool_name
from ale.trajectory.readers import readers
from ale.trajectory.schema import Usage

DIALECTS = {
    "/v1/messages": anthropic(2),
    "/v1/chat/completions": chat(2),
    "/v1/responses": {
        **responses(2),
        "tools": [
            *responses()["tools"],
            {"type": "custom", "name": "apply_patch"},
            {"type": "namespace", "name": "mcp__desktop", "tools": [{"type": "function", "name": "screenshot"}]},
        ],
        "text": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    },
    "/v1beta/models/m:streamGenerateContent": {
        **gemini(2),
        "generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}},
    },
}

WORDS = st.sampled_from([
    "type", "role", "user", "model", "assistant", "message", "function", "custom", "namespace", "name", "tools", "text",
    "parts", "content", "output", "input", "id", "call_id", "args", "functionCall", "functionResponse", "inlineData",
    "functionDeclarations", "parameters", "required", "properties", "object", "bash", "\ud800", "",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def damaged(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """A sound body in which up to three places hold something else."""
    body = copy.deepcopy(body)
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = body
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], dict | list) and draw(st.booleans()):
                holder = holder[key]
                continue
            holder[key] = draw(JSON)
            break
    return body


def spoken(path: str) -> Dialect:
    address = find_address(path, {"alt": "sse"})
    assert address is not None
    return address.dialect


@pytest.mark.parametrize("path", DIALECTS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_body_is_a_request_or_a_bad_one(path: str, data: st.DataObject) -> None:
    dialect = spoken(path)
    body = data.draw(damaged(DIALECTS[path]))
    tokens_of_body(body)
    try:
        request = dialect.parse(body)
    except BadRequest:
        return
    if request.answer_schema is not None:
        json.dumps(filled(request.answer_schema))
    calls = [ToolCall(tool_name(request.tools, offer.name), {"input": ["a"]}) for offer in request.tools]
    shell = shell_call(request.tools, "ls", {})
    answer = Reply(Usage(), "said \ud800", "thought", (*calls, *([shell] if shell else [])), "tools")
    whole = dialect.render(request, answer, "1")
    assert events(b"".join(dialect.stream(request, answer, "1")).decode("ascii"))
    read = readers()[dialect.name].answer(whole)
    assert (read.text, read.reasoning, len(read.calls)) == (answer.text, answer.thinking, len(answer.calls))


@pytest.mark.parametrize("name", sorted(readers()))
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_reader_passes_over_what_has_not_its_shape(name: str, data: st.DataObject) -> None:
    reader = readers()[name]
    sound: list[Any] = []
    for path, body in DIALECTS.items():
        sound += body.get("messages") or body.get("input") or body["contents"]
        dialect = spoken(path)
        sound.append(dialect.render(dialect.parse(body), Reply(Usage(), "a", "b", (ToolCall("c", {}),)), "1"))
    sound.append({"role": "user", "parts": [{"functionResponse": {"response": {"output": 1}, "parts": [{}]}}]})
    body = data.draw(damaged({"items": sound}))
    given_items = body["items"] if isinstance(body["items"], list) else [body["items"]]
    for result in reader.results(given_items):
        assert isinstance(result.text, str)
        assert all(isinstance(picture, str) for picture in result.pictures)
    for item in [*given_items, data.draw(JSON)]:
        answer = reader.answer(item)
        assert isinstance(answer.text + answer.reasoning, str)
        assert all(isinstance(use.id + use.name, str) and isinstance(use.args, dict) for use in answer.calls)
