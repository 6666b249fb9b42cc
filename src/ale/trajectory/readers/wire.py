"""What steps are made of, and what the readers of all dialects share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolUse:
    """A call that a model made. id: by which its result will come back."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolUse, ...] = ()


@dataclass(frozen=True)
class ToolResult:
    """What came back for a call. pictures: data URLs or base64. call None: pictures of the result before; empty: the
    client left the id out, so it is the first of the latest calls of `tool` that still waits."""

    call: str | None
    text: str = ""
    pictures: tuple[str, ...] = ()
    is_error: bool = False
    tool: str = ""


class WireReader(Protocol):
    """Bodies come from inside a sandbox: whatever has not the dialect's shape is passed over, never an error."""

    def answer(self, response: Any) -> Answer: ...

    def results(self, messages: Sequence[Any]) -> Iterator[ToolResult]:
        """The tool results among messages of a request, in order."""


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def json_arguments(text: Any) -> dict[str, Any]:
    """The arguments of a call that travels as JSON text; what is none is kept as it is, under `raw`."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {"raw": text}
    return value if isinstance(value, dict) else {"raw": text}


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""
