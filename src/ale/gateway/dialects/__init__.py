"""The wire dialects, by the address at which each is spoken. A new dialect is one module and one line here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from ale.gateway.neutral import Failure, ModelRequest, Reply

_GEMINI = re.compile(r"/v1(?:beta)?/models/(.+):(generateContent|streamGenerateContent|countTokens)")


class Dialect(Protocol):
    """Pure translation: no state, no waiting."""

    @property
    def name(self) -> str: ...

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        """Raises BadRequest when the body is not one of this dialect."""

    def render(self, request: ModelRequest, reply: Reply, call: str) -> dict[str, Any]:
        """The whole answer as one body. `call` is a text that is unique to this call; all ids are made from it."""

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        """The same answer, with the same ids, as server-sent events."""

    def failure(self, failure: Failure) -> dict[str, Any]:
        """The body of an error answer."""


@dataclass(frozen=True)
class Address:
    """counted: the name under which the number of tokens is answered there; None where the model itself answers."""

    dialect: Dialect
    counted: str | None = None


def find_address(path: str, query: Mapping[str, str]) -> Address | None:
    """What is spoken at a path, or None."""
    if found := _addresses().get(path):
        return found
    if match := _GEMINI.fullmatch(path):
        from ale.gateway.dialects.gemini import Gemini

        model, method = match.groups()
        dialect = Gemini(model, method, sse=query.get("alt") == "sse")
        return Address(dialect, "totalTokens" if method == "countTokens" else None)
    return None


def guess_dialect(path: str, headers: Mapping[str, str]) -> Dialect:
    """In whose style to refuse an address at which nothing is spoken."""
    from ale.gateway.dialects.gemini import Gemini

    if "x-goog-api-key" in headers or path.startswith("/v1beta/"):
        return Gemini()
    anthropic = "anthropic-version" in headers or "x-api-key" in headers or "/messages" in path
    return _addresses()["/v1/messages" if anthropic else "/v1/chat/completions"].dialect


@cache
def _addresses() -> dict[str, Address]:
    from ale.gateway.dialects.anthropic import Anthropic
    from ale.gateway.dialects.openai_chat import OpenAIChat
    from ale.gateway.dialects.openai_responses import OpenAIResponses

    return {
        "/v1/messages": Address(Anthropic()),
        "/v1/messages/count_tokens": Address(Anthropic(), counted="input_tokens"),
        "/v1/chat/completions": Address(OpenAIChat()),
        "/v1/responses": Address(OpenAIResponses()),
    }
