"""Gemini generateContent, streamGenerateContent and countTokens. Fields come in camelCase or in snake_case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ale.gateway.dialects.wire import answer_turns, event, identifier, objects, pieces, signature, text_field
from ale.gateway.neutral import BadRequest, Failure, FailureKind, ModelRequest, Reply, ToolOffer
from ale.trajectory.schema import Usage

_STOP = {"end": "STOP", "tools": "STOP", "length": "MAX_TOKENS"}

_ROLES = ("user", "model", "function")

_ERRORS: dict[FailureKind, str] = {
    "invalid_request": "INVALID_ARGUMENT",
    "budget": "FAILED_PRECONDITION",
    "authentication": "UNAUTHENTICATED",
    "not_found": "NOT_FOUND",
    "too_large": "INVALID_ARGUMENT",
    "rate_limit": "RESOURCE_EXHAUSTED",
    "overloaded": "UNAVAILABLE",
    "server": "INTERNAL",
}


class Gemini:
    """model, method and sse are told by the address, not by the body."""

    name = "gemini"

    def __init__(self, model: str = "", method: str = "generateContent", *, sse: bool = False) -> None:
        self._model = model
        self._method = method
        self._sse = sse

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        stream = self._method == "streamGenerateContent"
        if stream and not self._sse:
            raise BadRequest("streams are served as server-sent events only: add ?alt=sse")
        if self._method == "countTokens" and "contents" not in body:
            body = _object(body, "generateContentRequest", "generate_content_request")
        contents = objects(body, "contents", required=True)
        for at, content in enumerate(contents):
            if content.get("role", "user") not in _ROLES:
                raise BadRequest(f"contents[{at}].role: must be one of {', '.join(_ROLES)}")
            objects(content, "parts")
        return ModelRequest(
            model=self._model,
            stream=stream,
            turns=answer_turns(content.get("role") == "model" for content in contents),
            tools=tuple(_tools(body)),
            answer_schema=_answer_schema(body),
            body=body,
        )

    def render(self, request: ModelRequest, reply: Reply, call: str) -> dict[str, Any]:
        return _chunk(request, call, list(_parts(reply, call)), _STOP[reply.stop], reply.usage)

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        *parts, last = [piece for part in _parts(reply, call) for piece in _pieces(part)]
        for part in parts:
            yield event(_chunk(request, call, [part]))
        yield event(_chunk(request, call, [last], _STOP[reply.stop], reply.usage))

    def failure(self, failure: Failure) -> dict[str, Any]:
        return {"error": {"code": failure.status, "message": failure.message, "status": _ERRORS[failure.kind]}}


def _either(body: Mapping[str, Any], camel: str, snake: str) -> Any:
    return body[camel] if camel in body else body.get(snake)


def _object(body: Mapping[str, Any], camel: str, snake: str) -> Mapping[str, Any]:
    value = _either(body, camel, snake)
    return value if isinstance(value, dict) else {}


def _tools(body: Mapping[str, Any]) -> Iterator[ToolOffer]:
    for tool in objects(body, "tools"):
        name = "functionDeclarations" if "functionDeclarations" in tool else "function_declarations"
        for declared in objects(tool, name):
            schema = _object(declared, "parametersJsonSchema", "parameters_json_schema")
            yield ToolOffer(text_field(declared, "name"), schema or _object(declared, "parameters", "parameters"))


def _answer_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = _object(body, "generationConfig", "generation_config")
    if _either(config, "responseMimeType", "response_mime_type") != "application/json":
        return None
    schema = _object(config, "responseJsonSchema", "response_json_schema")
    return schema or _object(config, "responseSchema", "response_schema") or {"type": "object"}


def _parts(reply: Reply, call: str) -> Iterator[dict[str, Any]]:
    """Never none. Thinking is signed on the first call, as clients must send it back there."""
    if reply.thinking:
        yield {"text": reply.thinking, "thought": True}
    if reply.text or not reply.calls:
        yield {"text": reply.text}
    for number, wanted in enumerate(reply.calls):
        part = {
            "functionCall": {
                "id": identifier("call_", call, number),
                "name": wanted.name,
                "args": dict(wanted.args),
            }
        }
        signed = {"thoughtSignature": signature(reply.thinking)} if reply.thinking and number == 0 else {}
        yield {**part, **signed}


def _pieces(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Texts are taken apart, calls are not."""
    if not part.get("text"):
        yield part
    else:
        for piece in pieces(part["text"]):
            yield {**part, "text": piece}


def _chunk(
    request: ModelRequest, call: str, parts: list[dict[str, Any]], finish: str | None = None, usage: Usage | None = None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    counted = {"usageMetadata": _usage(usage)} if usage else {}
    return {"candidates": [candidate], **counted, "modelVersion": request.model, "responseId": identifier("", call)}


def _usage(usage: Usage) -> dict[str, Any]:
    """On this wire `promptTokenCount` includes what was cached, and cache writes are not told."""
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
