"""OpenAI Chat Completions, with the usual extension `reasoning_content`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse, dicts, json_arguments, text_of


class OpenAIChatReader:
    def answer(self, response: Any) -> Answer:
        choices = dicts(response.get("choices")) if isinstance(response, dict) else []
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            return Answer()
        calls = []
        for call in dicts(message.get("tool_calls")):
            function = call.get("function")
            if isinstance(function, dict):
                args = json_arguments(function.get("arguments"))
                calls.append(ToolUse(text_of(call.get("id")), text_of(function.get("name")), args))
        return Answer(
            text=_text(message.get("content")),
            reasoning=text_of(message.get("reasoning_content")) or text_of(message.get("reasoning")),
            calls=tuple(calls),
        )

    def results(self, messages: Sequence[Any]) -> Iterator[ToolResult]:
        for message in dicts(list(messages)):
            content = message.get("content")
            if message.get("role") == "tool":
                yield ToolResult(text_of(message.get("tool_call_id")), _text(content), _pictures(content))
            elif message.get("role") == "user" and (pictures := _pictures(content)):
                yield ToolResult(None, pictures=pictures)


def _text(content: Any) -> str:
    return (
        content
        if isinstance(content, str)
        else "\n".join(text_of(p.get("text")) for p in dicts(content) if "text" in p)
    )


def _pictures(content: Any) -> tuple[str, ...]:
    found = []
    for part in dicts(content):
        image = part.get("image_url")
        found.append(text_of(image.get("url")) if isinstance(image, dict) else text_of(image))
    return tuple(picture for picture in found if picture)
