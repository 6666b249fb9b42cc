"""Qwen Code: an open-source coding agent (npm `@qwen-code/qwen-code`), driven over OpenAI Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ale.computer.paths import AGENT_HOME
from ale.harness.command_line import CommandLineAgent
from ale.harness.protocol import AgentContext, ModelEndpoint
from ale.harness.stream_json import last_result
from ale.sandbox.layers import LayerRecipe

VERSION = "0.24.4"

_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    # MCP tools must be in the first request, not behind a search tool
    "tools": {"toolSearch": {"enabled": False}},
    "model": {"generationConfig": {"modalities": {"image": True}}},
}


def _command(context: AgentContext, model: ModelEndpoint) -> tuple[str, ...]:
    return ("qwen", "--yolo", "--output-format", "stream-json")


def _environment(model: ModelEndpoint) -> Mapping[str, str]:
    return {
        "OPENAI_API_KEY": model.token,
        "OPENAI_BASE_URL": f"{model.base_url}/v1",
        "OPENAI_MODEL": model.name,
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    }


def _files(model: ModelEndpoint) -> Mapping[str, str]:
    return {f"{AGENT_HOME}/.qwen/settings.json": json.dumps(_SETTINGS)}


QWEN_CODE = CommandLineAgent(
    name="qwen-code",
    recipe=LayerRecipe(
        name="qwen-code",
        npm=(f"@qwen-code/qwen-code@{VERSION}",),
        node="24.19.0",
        check=("qwen", "--version"),
    ),
    command=_command,
    environment=_environment,
    files=_files,
    last_message=last_result,
)
