"""OpenAI Responses, for clients that send the whole conversation each time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ale.gateway.dialects.openai_errors import openai_failure
from ale.gateway.dialects.wire import answer_turns, event, identifier, objects, pieces, signature, text_field
from ale.gateway.neutral import BadRequest, Failure, ModelRequest, Reply, ToolCall, ToolOffer
from ale.trajectory.schema import Usage

_ROLES = ("system", "developer", "user", "assistant")

_CUSTOM: Mapping[str, Any] = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""A custom tool takes one text, which is `input` in its call."""


class OpenAIResponses:
    name = "openai_responses"

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        for name in ("previous_response_id", "conversation"):
            if body.get(name) is not None:
                raise BadRequest(f"{name}: nothing is stored here, send the whole conversation as input")
        items = _items(body)
        tools = {offer.name: ToolOffer(offer.name, offer.schema) for offer in _offers(body)}
        return ModelRequest(
            model=text_field(body, "model"),
            stream=body.get("stream") is True,
            turns=answer_turns(_by_model(item) for item in items),
            tools=tuple(tools.values()),
            answer_schema=_answer_schema(body),
            body=body,
        )

    def render(self, request: ModelRequest, reply: Reply, call: str) -> dict[str, Any]:
        cut = reply.stop == "length"
        return {
            "id": identifier("resp_", call),
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": request.model,
            "output": _output(request, reply, call),
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "store": False,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": _usage(reply.usage),
        }

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        for number, (kind, fields) in enumerate(_events(self.render(request, reply, call))):
            yield event({"type": kind, "sequence_number": number, **fields}, kind)

    def failure(self, failure: Failure) -> dict[str, Any]:
        return openai_failure(failure)


# the request


@dataclass(frozen=True)
class _Offer:
    """name: as scripts and trajectories have it. own, namespace: as the wire has it."""

    name: str
    own: str
    schema: Mapping[str, Any]
    namespace: str | None = None
    custom: bool = False


def _items(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    items = objects(body, "input", required=True)
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if not isinstance(kind, str):
            raise BadRequest(f"input[{at}].type: a string is required")
        if kind == "message" and item.get("role") not in _ROLES:
            raise BadRequest(f"input[{at}].role: must be one of {', '.join(_ROLES)}")
    return items


def _by_model(item: Mapping[str, Any]) -> bool:
    kind = item.get("type", "message")
    return item.get("role") == "assistant" if kind == "message" else kind == "reasoning" or kind.endswith("_call")


def _offers(body: Mapping[str, Any]) -> Iterator[_Offer]:
    """The tools that the client runs itself: functions and custom tools, alone or in a namespace (an MCP server's).
    Codex has some of them among the input."""
    yield from _tools(body, None)
    for item in body["input"] if isinstance(body["input"], list) else ():
        if item.get("type") == "additional_tools":
            yield from _tools(item, None)


def _tools(holder: Mapping[str, Any], namespace: str | None) -> Iterator[_Offer]:
    for tool in objects(holder, "tools"):
        kind = tool.get("type")
        if kind == "namespace" and namespace is None:
            yield from _tools(tool, text_field(tool, "name"))
        elif kind in ("function", "custom"):
            own = text_field(tool, "name")
            name = f"{namespace}__{own}" if namespace else own
            parameters = tool.get("parameters")
            schema = parameters if isinstance(parameters, dict) else {}
            custom = kind == "custom"
            yield _Offer(name, own, _CUSTOM if custom else schema, namespace, custom)


def _answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    text = body.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    if form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
        schema: Mapping[str, Any] = form["schema"]
        return schema
    return None


# the answer


def _output(request: ModelRequest, reply: Reply, call: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        thought = {"id": identifier("rs_", call), "type": "reasoning", "summary": summary}
        items.append({**thought, "encrypted_content": signature(reply.thinking)})
    if reply.text or not reply.calls:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        head = {"id": identifier("msg_", call), "type": "message", "role": "assistant"}
        items.append({**head, "status": "completed", "content": [part]})
    offers = {offer.name: offer for offer in _offers(request.body)} if reply.calls else {}
    for number, wanted in enumerate(reply.calls):
        items.append(_call(wanted, offers.get(wanted.name), call, number))
    return items


def _call(wanted: ToolCall, offer: _Offer | None, call: str, number: int) -> dict[str, Any]:
    custom = offer is not None and offer.custom
    item = {
        "id": identifier("ctc_" if custom else "fc_", call, number),
        "type": "custom_tool_call" if custom else "function_call",
        "status": "completed",
        "call_id": identifier("call_", call, number),
        "name": offer.own if offer else wanted.name,
    }
    if offer and offer.namespace:
        item["namespace"] = offer.namespace
    args = dict(wanted.args)
    text = args.get("input") if custom else None
    return {**item, "input" if custom else "arguments": text if isinstance(text, str) else json.dumps(args)}


def _usage(usage: Usage) -> dict[str, Any]:
    """On this wire `input_tokens` includes what the cache read and wrote."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _events(whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(whole["output"]):
        yield "response.output_item.added", {"output_index": index, "item": _empty(item)}
        for kind, fields in _parts(item):
            yield f"response.{kind}", {"item_id": item["id"], "output_index": index, **fields}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    """The item as it is announced, before anything is in it."""
    blank: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "input": "", "status": "in_progress"}
    return {key: blank.get(key, value) for key, value in item.items() if key != "encrypted_content"}


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "reasoning":
        [part] = item["summary"]
        at: dict[str, Any] = {"summary_index": 0}
        yield "reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        yield from _deltas("reasoning_summary_text", at, "text", part["text"])
        yield "reasoning_summary_part.done", {**at, "part": part}
    elif item["type"] == "message":
        [part] = item["content"]
        at = {"content_index": 0}
        yield "content_part.added", {**at, "part": {**part, "text": ""}}
        yield from _deltas("output_text", {**at, "logprobs": []}, "text", part["text"])
        yield "content_part.done", {**at, "part": part}
    elif item["type"] == "custom_tool_call":
        yield from _deltas("custom_tool_call_input", {}, "input", item["input"])
    else:
        yield from _deltas("function_call_arguments", {}, "arguments", item["arguments"])


def _deltas(what: str, at: dict[str, Any], whole: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for piece in pieces(text):
        yield f"{what}.delta", {**at, "delta": piece}
    yield f"{what}.done", {**at, whole: text}
