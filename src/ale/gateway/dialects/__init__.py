"""The wire dialects, by the path on which each is spoken. A new dialect is one module and one line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ale.gateway.neutral import Failure, ModelRequest, Reply


class Dialect(Protocol):
    """Pure translation: no state, no waiting."""

    @property
    def name(self) -> str: ...

    def parse(self, body: Mapping[str, Any]) -> ModelRequest:
        """Raises BadRequest when the body is not one of this dialect."""

    def render(self, reply: Reply, model: str, call: str) -> dict[str, Any]:
        """The whole answer as one body. `call` is a text that is unique to this call; all ids are made from it."""

    def stream(self, request: ModelRequest, reply: Reply, call: str) -> Iterator[bytes]:
        """The same answer, with the same ids, as server-sent events."""

    def failure(self, failure: Failure) -> dict[str, Any]:
        """The body of an error answer."""


def dialects() -> dict[str, Dialect]:
    from ale.gateway.dialects.anthropic import Anthropic
    from ale.gateway.dialects.openai_chat import OpenAIChat

    return {"/v1/messages": Anthropic(), "/v1/chat/completions": OpenAIChat()}
