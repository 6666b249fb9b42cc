"""Gemini CLI (npm `@google/gemini-cli`), driven over Gemini generateContent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ale.computer.paths import AGENT_HOME
from ale.harness.command_line import CommandLineAgent
from ale.harness.protocol import AgentContext, ModelEndpoint
from ale.sandbox.layers import LayerRecipe

VERSION = "0.61.0"

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def _command(context: AgentContext, model: ModelEndpoint) -> tuple[str, ...]:
    # without -m another model is asked first which model to use
    return ("gemini", "--yolo", "--output-format", "stream-json", "-m", model.name)


def _environment(model: ModelEndpoint) -> Mapping[str, str]:
    return {
        "GEMINI_API_KEY": model.token,
        "GOOGLE_GEMINI_BASE_URL": model.base_url,
        # in a folder that it does not trust, --yolo is silently left out
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        # it would start itself a second time, with half of the host's memory as its heap: a second of CPU time
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _files(model: ModelEndpoint) -> Mapping[str, str]:
    return {f"{AGENT_HOME}/.gemini/settings.json": json.dumps(_SETTINGS)}


def last_message(tail: str) -> str:
    """What the model said after its last tool call, put together from its pieces, or the error that ended the run; what
    is no event is passed over."""
    said: list[str] = []
    for line in reversed(tail.splitlines()):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, dict):
            continue
        failure, content = event.get("error"), event.get("content")
        if event.get("type") == "result" and isinstance(failure, dict) and isinstance(failure.get("message"), str):
            return str(failure["message"])
        if event.get("type") == "message" and event.get("role") == "assistant" and isinstance(content, str):
            said.append(content)
        elif said:
            break
    return "".join(reversed(said)) or tail[-400:].strip()


GEMINI_CLI = CommandLineAgent(
    name="gemini-cli",
    recipe=LayerRecipe(
        name="gemini-cli",
        npm=(f"@google/gemini-cli@{VERSION}",),
        node="24.19.0",
        check=("gemini", "--version"),
    ),
    command=_command,
    environment=_environment,
    files=_files,
    last_message=last_message,
)
