"""Codex (npm `@openai/codex`), driven over OpenAI Responses."""

from __future__ import annotations

import json
import platform

from ale.harness.command_line import CommandLineAgent
from ale.harness.protocol import AgentContext, ModelEndpoint
from ale.sandbox.layers import HARNESS_ROOT, LayerRecipe

VERSION = "0.171.0"

_ARM = platform.machine() == "aarch64"
_PLATFORM = "linux-arm64" if _ARM else "linux-x64"
_TARGET = "aarch64-unknown-linux-musl" if _ARM else "x86_64-unknown-linux-musl"

_BINARY = f"{HARNESS_ROOT}/codex/lib/node_modules/@openai/codex/vendor/{_TARGET}/bin/codex"
"""The platform's own package holds the static binary; the main one only adds a launcher that needs Node."""

_KEY = "OPENAI_API_KEY"


def _command(context: AgentContext, model: ModelEndpoint) -> tuple[str, ...]:
    # A provider of our own makes Codex speak plain HTTP; the built-in one tries WebSockets first.
    provider = (
        f'{{name="ale",base_url="{model.base_url}/v1",env_key="{_KEY}",wire_api="responses",'
        "request_max_retries=4,stream_max_retries=4}"
    )
    settings = {
        "model_provider": "ale",
        "model_providers.ale": provider,
        "analytics.enabled": "false",
        "check_for_update_on_startup": "false",
    }
    return (
        _BINARY, "exec", "--json", "--skip-git-repo-check",
        # the sandbox is the machine itself
        "--dangerously-bypass-approvals-and-sandbox",
        *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
        # what would call other hosts, or wait for ever when the door is shut
        "--disable", "plugins", "--disable", "apps", "--disable", "unbounded_connection_retries",
        "-m", model.name,
        "-",
    )  # fmt: skip


def last_message(tail: str) -> str:
    """The last thing that Codex said, or the error that ended it; what is no event of its own is passed over."""
    error = ""
    for line in reversed(tail.splitlines()):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, dict):
            continue
        item, failure = event.get("item"), event.get("error")
        if event.get("type") == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            text = item.get("text")
            return error or (text if isinstance(text, str) else "")
        if event.get("type") == "turn.failed" and isinstance(failure, dict) and isinstance(failure.get("message"), str):
            error = error or failure["message"]
    return error or tail[-400:].strip()


CODEX = CommandLineAgent(
    name="codex",
    recipe=LayerRecipe(
        name="codex",
        npm=(f"@openai/codex@{VERSION}-{_PLATFORM}",),
        check=(_BINARY, "--version"),
    ),
    command=_command,
    environment=lambda model: {_KEY: model.token},
    files=lambda model: {},
    last_message=last_message,
)
