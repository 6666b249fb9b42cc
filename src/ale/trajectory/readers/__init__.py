"""Steps, read from the bodies of one wire dialect. A new dialect is one module and one line here."""

from __future__ import annotations

from ale.trajectory.readers.anthropic import AnthropicReader
from ale.trajectory.readers.gemini import GeminiReader
from ale.trajectory.readers.openai_chat import OpenAIChatReader
from ale.trajectory.readers.openai_responses import OpenAIResponsesReader
from ale.trajectory.readers.wire import WireReader


def readers() -> dict[str, WireReader]:
    return {
        "anthropic": AnthropicReader(),
        "openai_chat": OpenAIChatReader(),
        "openai_responses": OpenAIResponsesReader(),
        "gemini": GeminiReader(),
    }
