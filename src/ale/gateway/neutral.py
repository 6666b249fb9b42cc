"""A model call without its dialect: what backends see and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ale.trajectory.schema import Usage


@dataclass(frozen=True)
class ToolOffer:
    """A tool that the request lets the model call. schema: the JSON Schema of its arguments, `{}` if none was sent."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelRequest:
    """turns: assistant turns already in the history. answer_schema: the JSON Schema that the text must fit, if any.
    stream_usage: whether a stream must end with the token counts (the dialects differ in asking for it)."""

    model: str
    stream: bool
    turns: int
    tools: tuple[ToolOffer, ...] = ()
    answer_schema: Mapping[str, Any] | None = None
    stream_usage: bool = True
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ToolCall:
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """A model's answer."""

    usage: Usage
    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Literal["end", "tools", "length"] = "end"


FailureKind = Literal[
    "invalid_request", "authentication", "not_found", "too_large", "rate_limit", "overloaded", "server", "budget"
]


@dataclass(frozen=True)
class Failure:
    """Why a call gets no answer. retry: whether the client may try the same again."""

    status: int
    kind: FailureKind
    message: str
    code: str | None = None
    retry: bool = False

    @staticmethod
    def of_status(status: int, message: str) -> Failure:
        """A failure as a provider would report it with that status."""
        kinds: dict[int, FailureKind] = {
            401: "authentication",
            404: "not_found",
            413: "too_large",
            429: "rate_limit",
            503: "overloaded",
            529: "overloaded",
        }
        kind = kinds.get(status, "server" if status >= 500 else "invalid_request")
        return Failure(status, kind, message, retry=status in (408, 409, 429) or status >= 500)


class BadRequest(ValueError):
    """The body does not have the dialect's shape; the message is what the provider would say."""
