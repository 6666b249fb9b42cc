"""Claude Code (npm `@anthropic-ai/claude-code`), driven over Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping

from ale.harness.command_line import CommandLineAgent
from ale.harness.protocol import AgentContext, ModelEndpoint
from ale.harness.stream_json import last_result
from ale.sandbox.layers import LayerRecipe

VERSION = "2.1.332"


def _command(context: AgentContext, model: ModelEndpoint) -> tuple[str, ...]:
    return (
        "claude", "-p", "--output-format", "stream-json", "--verbose",
        "--dangerously-skip-permissions", "--strict-mcp-config", "--model", model.name,
    )  # fmt: skip


def _environment(model: ModelEndpoint) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": model.token,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # MCP tools must be in the first request, not behind a search tool
        "ENABLE_TOOL_SEARCH": "false",
    }


CLAUDE_CODE = CommandLineAgent(
    name="claude-code",
    recipe=LayerRecipe(
        name="claude-code",
        npm=(f"@anthropic-ai/claude-code@{VERSION}",),
        check=("claude", "--version"),
    ),
    command=_command,
    environment=_environment,
    files=lambda model: {},
    last_message=last_result,
)
