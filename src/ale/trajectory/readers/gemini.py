"""Gemini generateContent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse, dicts, text_of


class GeminiReader:
    def answer(self, response: Any) -> Answer:
        candidates = dicts(response.get("candidates")) if isinstance(response, dict) else []
        parts = _parts(candidates[0].get("content")) if candidates else []
        calls = []
        for part in parts:
            call = _either(part, "functionCall", "function_call")
            if isinstance(call, dict):
                given = call.get("args")
                args = given if isinstance(given, dict) else {} if given is None else {"raw": given}
                calls.append(ToolUse(text_of(call.get("id")), text_of(call.get("name")), args))
        return Answer(
            text="".join(text_of(part.get("text")) for part in parts if part.get("thought") is not True),
            reasoning="".join(text_of(part.get("text")) for part in parts if part.get("thought") is True),
            calls=tuple(calls),
        )

    def results(self, messages: Sequence[Any]) -> Iterator[ToolResult]:
        for content in dicts(list(messages)):
            if content.get("role") == "model":
                continue
            for part in _parts(content):
                response = _either(part, "functionResponse", "function_response")
                if isinstance(response, dict):
                    yield _result(response)
                elif pictures := _pictures([part]):
                    yield ToolResult(None, pictures=pictures)


def _result(response: dict[str, Any]) -> ToolResult:
    said, failed = _said(response.get("response"))
    return ToolResult(
        text_of(response.get("id")),
        said,
        _pictures(dicts(response.get("parts"))),
        failed,
        text_of(response.get("name")),
    )


def _said(given: Any) -> tuple[str, bool]:
    """What a tool gave is an object, by custom with `output`, `result` or `error` in it. Its text, and whether it is an
    error."""
    failed = False
    if isinstance(given, dict):
        known = next((key for key in ("output", "result", "error") if key in given), None)
        failed = known == "error"
        given = given[known] if known else given
    if given is None:
        return "", failed
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), failed


def _either(part: dict[str, Any], camel: str, snake: str) -> Any:
    return part.get(camel, part.get(snake))


def _parts(content: Any) -> list[dict[str, Any]]:
    return dicts(content.get("parts")) if isinstance(content, dict) else []


def _pictures(parts: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    found = []
    for part in parts:
        data = _either(part, "inlineData", "inline_data")
        if isinstance(data, dict):
            found.append(text_of(data.get("data")))
    return tuple(picture for picture in found if picture)
