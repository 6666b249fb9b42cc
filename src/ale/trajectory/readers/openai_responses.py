"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse, dicts, json_arguments, text_of

_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class OpenAIResponsesReader:
    def answer(self, response: Any) -> Answer:
        texts, thoughts, calls = [], [], []
        for item in dicts(response.get("output")) if isinstance(response, dict) else []:
            kind = item.get("type")
            if kind == "message":
                texts.append(_text(item.get("content")))
            elif kind == "reasoning":
                thoughts += [_text(item.get("summary")), _text(item.get("content"))]
            elif kind == "function_call":
                calls.append(_use(item, json_arguments(item.get("arguments"))))
            elif kind == "custom_tool_call":
                calls.append(_use(item, {"input": item.get("input")}))
        return Answer(
            text="\n\n".join(filter(None, texts)), reasoning="\n\n".join(filter(None, thoughts)), calls=tuple(calls)
        )

    def results(self, messages: Sequence[Any]) -> Iterator[ToolResult]:
        for item in dicts(list(messages)):
            if item.get("type") in _OUTPUTS:
                output = item.get("output")
                yield ToolResult(text_of(item.get("call_id")), _text(output), _pictures(output))
            elif item.get("role") == "user" and (pictures := _pictures(item.get("content"))):
                yield ToolResult(None, pictures=pictures)


def _use(item: dict[str, Any], args: dict[str, Any]) -> ToolUse:
    name, namespace = text_of(item.get("name")), text_of(item.get("namespace"))
    return ToolUse(text_of(item.get("call_id")), f"{namespace}__{name}" if namespace else name, args)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(text_of(p["text"]) for p in dicts(content) if "text" in p)


def _pictures(content: Any) -> tuple[str, ...]:
    return tuple(filter(None, (text_of(part.get("image_url")) for part in dicts(content))))
