"""Anthropic Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ale.gateway.dialects.wire import answer_turns, event, identifier, objects, pieces, signature, text_field
from ale.gateway.neutral import BadRequest, Failure, FailureKind, ModelRequest, Reply, ToolOffer
from ale.trajectory.schema import Usage

_STOP = {"end": "end_turn", "tools": "tool_use", "length": "max_tokens"}

_ERRORS: dict[FailureKind, str] = {
    "invalid_request": "invalid_request_error",
    "budget": "invalid_request_error",
    "authentication": "authentication_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "server": "api_error",
}


class Anthropic:
    name = "anthropic"

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        messages = objects(body, "messages", required=True)
        for at, message in enumerate(messages):
            if message.get("role") not in ("user", "assistant", "system"):
                raise BadRequest(f"messages.{at}.role: must be user or assistant")
        tools = []
        for tool in objects(body, "tools"):
            schema = tool.get("input_schema")
            tools.append(ToolOffer(text_field(tool, "name"), schema if isinstance(schema, dict) else {}))
        return ModelRequest(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            turns=answer_turns(message["role"] == "assistant" for message in messages),
            tools=tuple(tools),
            answer_schema=_answer_schema(body),
            body=body,
        )

    def render(self, request: ModelRequest, reply: Reply, call: str) -> dict[str, Any]:
        return {
            "id": identifier("msg_", call),
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": _blocks(reply, call),
            "stop_reason": _STOP[reply.stop],
            "stop_sequence": None,
            "usage": _usage(reply.usage),
        }

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        whole = self.render(request, reply, call)
        usage = whole["usage"]
        start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        yield _event("message_start", message=start)
        for index, block in enumerate(whole["content"]):
            yield from _block_events(index, block)
        yield _event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage=usage)
        yield _event("message_stop")

    def failure(self, failure: Failure) -> dict[str, Any]:
        return {"type": "error", "error": {"type": _ERRORS[failure.kind], "message": failure.message}}


def _answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = body.get("output_config")
    form = body.get("output_format") or (config.get("format") if isinstance(config, dict) else None)
    if isinstance(form, dict) and form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
        schema: Mapping[str, Any] = form["schema"]
        return schema
    return None


def _blocks(reply: Reply, call: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": signature(reply.thinking)})
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for number, wanted in enumerate(reply.calls):
        blocks.append(
            {
                "type": "tool_use",
                "id": identifier("toolu_", call, number),
                "name": wanted.name,
                "input": dict(wanted.args),
            }
        )
    return blocks


def _usage(usage: Usage) -> dict[str, Any]:
    """On this wire `input_tokens` excludes what the cache read and wrote."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    kind = block["type"]
    empty: dict[str, Any]
    deltas: list[dict[str, Any]]
    if kind == "thinking":
        empty = {"type": kind, "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "text":
        empty = {"type": kind, "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    else:
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]))]
    yield _event("content_block_start", index=index, content_block=empty)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)
