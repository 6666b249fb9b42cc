"""Who is examined: one small module a harness. A new one is a module and a line here, or an entry point."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from ale.documents import nearest
from ale.errors import UsageError
from ale.harness.protocol import Harness

HARNESSES = {
    "oracle": "ale.harness.oracle:Oracle",
    "idle": "ale.harness.idle:Idle",
    "qwen-code": "ale.harness.qwen_code:QWEN_CODE",
    "claude-code": "ale.harness.claude_code:CLAUDE_CODE",
    "codex": "ale.harness.codex:CODEX",
    "gemini-cli": "ale.harness.gemini_cli:GEMINI_CLI",
}


def harness_names() -> list[str]:
    return sorted(HARNESSES | {point.name: point.value for point in entry_points(group="ale.harnesses")})


def open_harness(name: str) -> Harness:
    """Raises UsageError that names the nearest known harness."""
    outside = {point.name: point.value for point in entry_points(group="ale.harnesses")}
    target = (outside | HARNESSES).get(name)
    if target is None:
        raise UsageError(f"there is no agent harness '{name}'{nearest(name, harness_names())}")
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    harness: Harness = found() if isinstance(found, type) else found
    return harness
