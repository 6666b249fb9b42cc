"""Choosing among the tools that a harness offers, and filling what their schemas require."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ale.gateway.neutral import ToolCall, ToolOffer
from ale.trajectory.tool_class import flat

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


def tool_name(tools: Sequence[ToolOffer], wanted: str) -> str:
    """The offered tool of that name, or the one whose name differs only in case, `_` and `-` (harnesses write the tools
    of MCP servers in several ways); else the name as it is."""
    names = [tool.name for tool in tools]
    if wanted in names:
        return wanted
    return next((name for name in names if flat(name) == flat(wanted)), wanted)


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
    kind = kind.lower() if isinstance(kind, str) else None  # Gemini's own schemas write OBJECT
    if kind == "object" or (kind is None and "properties" in schema):
        return _required(schema)
    values: dict[str | None, Any] = {
        "array": [],
        "boolean": False,
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "null": None,
    }
    return values.get(kind, "as the task asks")


def _bare(name: str) -> str:
    return flat(name.rsplit("__", 1)[-1])


def _shell_args(tool: ToolOffer, command: str) -> dict[str, Any]:
    properties = _properties(tool.schema)
    name = next((name for name in COMMAND_ARGS if name in properties), None)
    if name is None:
        required = [name for name in _required_names(tool.schema) if _type(properties, name) in ("string", "array")]
        name = required[0] if required else "command"
    as_list = _type(properties, name) == "array"
    return {name: ["bash", "-lc", command] if as_list else command, **_required(tool.schema, without=name)}


def _required(schema: Mapping[str, Any], without: str | None = None) -> dict[str, Any]:
    properties = _properties(schema)
    return {name: filled(properties.get(name, {})) for name in _required_names(schema) if name != without}


def _required_names(schema: Mapping[str, Any]) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: value for name, value in properties.items() if isinstance(value, Mapping)}


def _type(properties: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    kind = properties.get(name, {}).get("type")
    return kind.lower() if isinstance(kind, str) else None
