"""Raw tool names differ between harnesses; they are mapped to six classes before anything is aggregated."""

from __future__ import annotations

import re
from typing import Literal

ToolClass = Literal["Bash", "File", "GUI", "Web", "Planning", "Other"]

DESKTOP_TOOLS = (
    "screenshot",
    "click",
    "double_click",
    "right_click",
    "middle_click",
    "triple_click",
    "move",
    "drag",
    "scroll",
    "type",
    "key",
    "wait",
    "mouse_down",
    "mouse_up",
    "move_cursor",
    "cursor_position",
    "left_click",
    "press_key",
    "hotkey",
    "hold_key",
    "get_screen_size",
    "computer",
    "computer_use",
)

_NAMES: dict[ToolClass, tuple[str, ...]] = {
    "Bash": (
        "bash",
        "sh",
        "shell",
        "exec",
        "exec_command",
        "run_command",
        "run_shell_command",
        "run_terminal_cmd",
        "terminal",
        "execute",
        "execute_bash",
        "bash_command",
        "bash_output",
        "kill_shell",
        "local_shell",
        "execute_code",
        "execute_command",
        "command_execution",
        "powershell",
        "write_stdin",
        "launch",
    ),
    "File": (
        "read",
        "write",
        "edit",
        "multi_edit",
        "notebook_edit",
        "glob",
        "grep",
        "ls",
        "list",
        "read_file",
        "read_many_files",
        "read_bytes",
        "write_file",
        "write_bytes",
        "edit_file",
        "patch",
        "apply_patch",
        "replace",
        "list_directory",
        "list_dir",
        "create_dir",
        "grep_search",
        "search_file_content",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "file_editor",
        "upload",
        "download",
        "copy",
        "delete",
        "view_image",
    ),
    "GUI": DESKTOP_TOOLS,
    "Web": ("web_search", "web_fetch", "browser_navigate", "google_web_search", "fetch"),
    "Planning": (
        "todo_write",
        "todo_read",
        "task",
        "agent",
        "think",
        "delegate",
        "delegate_gui",
        "subagents",
        "spawn",
        "spawn_agent",
        "memory_get",
        "memory_search",
        "save_memory",
        "update_plan",
        "task_tracker",
        "exit_plan_mode",
        "enter_plan_mode",
    ),
}


def flat(name: str) -> str:
    """A tool's name as it is compared: case, underscores and hyphens don't count."""
    return name.lower().replace("_", "").replace("-", "")


_CLASS_OF = {flat(name): kind for kind, names in _NAMES.items() for name in names}
_PREFIXES: tuple[tuple[str, ToolClass], ...] = (("pty", "Bash"), ("browser", "Web"), ("memory", "Planning"))
_WRAPPER = re.compile(r"___|__|[.:/]")


def tool_class(name: str) -> ToolClass:
    """The class of a raw tool name. Case, underscores and wrapper prefixes (`mcp__cua__click`, `cua___screenshot`,
    `mcp_cua_key`) don't count."""
    for candidate in _candidates(name):
        key = flat(candidate)
        if key in _CLASS_OF:
            return _CLASS_OF[key]
    bare = flat(_WRAPPER.split(name)[-1])
    for prefix, kind in _PREFIXES:
        if bare.startswith(prefix):
            return kind
    return "Other"


def _candidates(name: str) -> list[str]:
    """The name itself, then the name without its wrapper, then ever shorter ends at single underscores (only for names
    that are wrapped: `list_processes` is no `processes`)."""
    bare = _WRAPPER.split(name)[-1]
    found = [name, bare]
    if name.lower().startswith("mcp_") and not name.lower().startswith("mcp__"):
        words = name.split("_")[2:]
        found += ["_".join(words[start:]) for start in range(len(words))]
    return found
