"""OpenAI Chat Completions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ale.gateway.dialects.openai_errors import openai_failure
from ale.gateway.dialects.wire import answer_turns, event, identifier, objects, pieces, text_field
from ale.gateway.neutral import BadRequest, Failure, ModelRequest, Reply, ToolOffer
from ale.trajectory.schema import Usage

_STOP = {"end": "stop", "tools": "tool_calls", "length": "length"}

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class OpenAIChat:
    name = "openai_chat"

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        messages = objects(body, "messages", required=True)
        for at, message in enumerate(messages):
            if message.get("role") not in _ROLES:
                raise BadRequest(f"messages[{at}].role: must be one of {', '.join(_ROLES)}")
        options = body.get("stream_options")
        return ModelRequest(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            turns=answer_turns(message["role"] == "assistant" for message in messages),
            tools=tuple(_tools(body)),
            answer_schema=_answer_schema(body),
            stream_usage=isinstance(options, dict) and options.get("include_usage") is True,
            body=body,
        )

    def render(self, request: ModelRequest, reply: Reply, call: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = _tool_calls(reply, call)
        return {
            **_head(call, request.model, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": _STOP[reply.stop], "logprobs": None}],
            "usage": _usage(reply.usage),
        }

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        head = _head(call, request.model, "chat.completion.chunk")
        ending = {"usage": None} if request.stream_usage else {}

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return event({**head, "choices": [choice], **ending})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(reply.thinking):
            yield chunk({"reasoning_content": piece})
        for piece in pieces(reply.text):
            yield chunk({"content": piece})
        for index, wanted in enumerate(_tool_calls(reply, call)):
            function = wanted["function"]
            begun = {**wanted, "index": index, "function": {"name": function["name"], "arguments": ""}}
            yield chunk({"tool_calls": [begun]})
            for piece in pieces(function["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, _STOP[reply.stop])
        if request.stream_usage:
            yield event({**head, "choices": [], "usage": _usage(reply.usage)})
        yield b"data: [DONE]\n\n"

    def failure(self, failure: Failure) -> dict[str, Any]:
        return openai_failure(failure)


def _tools(body: Mapping[str, Any]) -> Iterator[ToolOffer]:
    functions = [tool.get("function") for tool in objects(body, "tools") if tool.get("type", "function") == "function"]
    for function in (*functions, *objects(body, "functions")):
        if not isinstance(function, dict):
            raise BadRequest("tools: each function tool needs a `function` object")
        parameters = function.get("parameters")
        yield ToolOffer(text_field(function, "name"), parameters if isinstance(parameters, dict) else {})


def _answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = body.get("response_format")
    if not isinstance(form, dict):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    wrapped = form.get("json_schema")
    if form.get("type") == "json_schema" and isinstance(wrapped, dict) and isinstance(wrapped.get("schema"), dict):
        schema: Mapping[str, Any] = wrapped["schema"]
        return schema
    return None


def _tool_calls(reply: Reply, call: str) -> list[dict[str, Any]]:
    return [
        {
            "id": identifier("call_", call, number),
            "type": "function",
            "function": {"name": wanted.name, "arguments": json.dumps(dict(wanted.args))},
        }
        for number, wanted in enumerate(reply.calls)
    ]


def _head(call: str, model: str, kind: str) -> dict[str, Any]:
    return {"id": identifier("chatcmpl-", call), "object": kind, "created": int(time.time()), "model": model}


def _usage(usage: Usage) -> dict[str, Any]:
    """On this wire `prompt_tokens` includes what was cached, and cache writes are not told."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
