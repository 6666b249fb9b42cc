"""Choosing a tool that runs shell commands from those a harness offers, and filling what its schema requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ale.gateway.neutral import ToolCall, ToolOffer

SHELL_TOOLS = (
    "bash",
    "run_shell_command",
    "exec_command",
    "execute_bash",
    "terminal",
    "shell",
    "run_command",
    "local_shell",
    "execute_command",
    "run_terminal_cmd",
    "bash_command",
    "exec",
    "execute",
    "run_bash",
    "run_shell",
)
"""Names under which harnesses offer a shell, the likeliest first; compared without case, `_`, `-` and MCP prefixes."""

COMMAND_ARGS = ("command", "cmd", "script", "code", "commands", "input")


def shell_call(tools: Sequence[ToolOffer], command: str, extra: Mapping[str, Any]) -> ToolCall | None:
    """A call of the offered shell tool that runs `command`, or None when no shell tool is offered."""
    offered: dict[str, ToolOffer] = {}
    for tool in tools:
        offered.setdefault(_bare(tool.name), tool)
    for alias in SHELL_TOOLS:
        if found := offered.get(_bare(alias)):
            return ToolCall(found.name, {**_shell_args(found, command), **extra})
    return None


def filled(schema: Mapping[str, Any]) -> Any:
    """A small value that fits a JSON Schema (objects: their required properties only)."""
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return "LOW" if "LOW" in schema["enum"] else schema["enum"][0]
    if "default" in schema:
        return schema["default"]
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(choice), list) and schema[choice] and isinstance(schema[choice][0], Mapping):
            return filled(schema[choice][0])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if not isinstance(kind, str):
        kind = None
    if kind == "object" or (kind is None and "properties" in schema):
        return _required(schema)
    values: dict[Any, Any] = {
        "array": [],
        "boolean": False,
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "null": None,
    }
    return values.get(kind, "as the task asks")


def _bare(name: str) -> str:
    return name.rsplit("__", 1)[-1].lower().replace("_", "").replace("-", "")


def _shell_args(tool: ToolOffer, command: str) -> dict[str, Any]:
    properties = _properties(tool.schema)
    name = next((name for name in COMMAND_ARGS if name in properties), None)
    if name is None:
        required = [name for name in tool.schema.get("required", []) if _type(properties, name) in ("string", "array")]
        name = required[0] if required else "command"
    as_list = _type(properties, name) == "array"
    return {name: ["bash", "-lc", command] if as_list else command, **_required(tool.schema, without=name)}


def _required(schema: Mapping[str, Any], without: str | None = None) -> dict[str, Any]:
    properties = _properties(schema)
    names = schema.get("required", [])
    if not isinstance(names, list):
        return {}
    return {name: filled(properties.get(name, {})) for name in names if isinstance(name, str) and name != without}


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: value for name, value in properties.items() if isinstance(value, Mapping)}


def _type(properties: Mapping[str, Mapping[str, Any]], name: object) -> Any:
    return properties.get(name, {}).get("type") if isinstance(name, str) else None
