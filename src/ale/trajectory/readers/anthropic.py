"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ale.trajectory.readers.wire import Answer, ToolResult, ToolUse, dicts, text_of


class AnthropicReader:
    def answer(self, response: Any) -> Answer:
        blocks = dicts(response.get("content")) if isinstance(response, dict) else []
        calls = []
        for block in blocks:
            if block.get("type") == "tool_use":
                given = block.get("input")
                args = given if isinstance(given, dict) else {"raw": given}
                calls.append(ToolUse(text_of(block.get("id")), text_of(block.get("name")), args))
        return Answer(
            text="\n\n".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text"),
            reasoning="\n\n".join(
                text_of(block.get("thinking")) for block in blocks if block.get("type") == "thinking"
            ),
            calls=tuple(calls),
        )

    def results(self, messages: Sequence[Any]) -> Iterator[ToolResult]:
        for message in dicts(list(messages)):
            if message.get("role") != "user":
                continue
            for block in dicts(message.get("content")):
                if block.get("type") == "tool_result":
                    yield _result(block)
                elif pictures := _pictures([block]):
                    yield ToolResult(None, pictures=pictures)


def _result(block: dict[str, Any]) -> ToolResult:
    content = block.get("content")
    parts = dicts(content)
    text = content if isinstance(content, str) else "\n".join(text_of(p.get("text")) for p in parts if "text" in p)
    return ToolResult(text_of(block.get("tool_use_id")), text, _pictures(parts), is_error=block.get("is_error") is True)


def _pictures(blocks: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    found = []
    for block in blocks:
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict):
            found.append(text_of(source.get("data")) or text_of(source.get("url")))
    return tuple(picture for picture in found if picture)
