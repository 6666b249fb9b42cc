"""What an agent CLI printed, and what of it was its last message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.harness import codex, gemini_cli

FINDERS = [codex.last_message, gemini_cli.last_message]


def lines(*events: Any) -> str:
    return "\n".join(event if isinstance(event, str) else json.dumps(event) for event in events) + "\n"


def said(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}


def piece(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text, "delta": True}


def test_codex_says_its_last_agent_message() -> None:
    command = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "no"}}
    tail = lines(said("first"), command, said("All done."), {"type": "turn.completed", "usage": {}})
    assert codex.last_message(tail) == "All done."


def test_codex_says_what_ended_it() -> None:
    tail = lines(said("first"), {"type": "error", "message": "x"}, {"type": "turn.failed", "error": {"message": "401"}})
    assert codex.last_message(tail) == "401"


def test_gemini_puts_the_pieces_after_its_last_call_together() -> None:
    tail = lines(
        piece("do it", "user"),
        piece("I look."),
        {"type": "tool_use", "tool_name": "run_shell_command"},
        {"type": "tool_result", "output": "no"},
        piece("All "),
        piece("done."),
        {"type": "result", "status": "success", "stats": {}},
    )
    assert gemini_cli.last_message(tail) == "All done."


def test_gemini_says_what_ended_it() -> None:
    failed = {"type": "result", "status": "error", "error": {"type": "FatalApiError", "message": "quota"}}
    assert gemini_cli.last_message(lines(piece("I look."), failed)) == "quota"


@pytest.mark.parametrize("last_message", FINDERS)
@pytest.mark.parametrize(
    "tail",
    [
        "",
        "Error: no such option\n",
        "[" * 100_000,
        lines(5, None, [], {"type": ["message"]}, {"type": "item.completed", "item": 5}),
        lines({"type": "item.completed", "item": {"type": "agent_message", "text": {"a": 1}}}),
        lines({"type": "turn.failed", "error": "401"}, {"type": "result", "error": 5}),
        lines({"type": "message", "role": "assistant", "content": ["a"]}),
    ],
)
def test_anything_else_is_told_by_its_end(last_message: Callable[[str], str], tail: str) -> None:
    assert last_message(tail) in (tail[-400:].strip(), "")


@pytest.mark.parametrize("last_message", FINDERS)
@given(tail=st.text())
def test_no_output_is_too_odd(last_message: Callable[[str], str], tail: str) -> None:
    assert isinstance(last_message(tail), str)
