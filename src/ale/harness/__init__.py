"""Who is examined: one small module a harness. A new one is a module and a line here, or an entry point."""

from __future__ import annotations

from ale.harness.protocol import Harness
from ale.plugins import load_plugin, plugin_names

HARNESSES = {
    "oracle": "ale.harness.oracle:Oracle",
    "idle": "ale.harness.idle:Idle",
    "qwen-code": "ale.harness.qwen_code:QWEN_CODE",
    "claude-code": "ale.harness.claude_code:CLAUDE_CODE",
    "codex": "ale.harness.codex:CODEX",
    "gemini-cli": "ale.harness.gemini_cli:GEMINI_CLI",
}


_GROUP = "ale.harnesses"


def harness_names() -> list[str]:
    return plugin_names(HARNESSES, _GROUP)


def open_harness(name: str) -> Harness:
    """Raises UsageError that names the nearest known harness."""
    harness: Harness = load_plugin(name, HARNESSES, _GROUP, "agent harness")
    return harness
