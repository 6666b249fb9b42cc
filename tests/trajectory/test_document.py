"""trajectory.json and interaction_log.json as files, their schema, and recorded actions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ale.text import plain, storable, storable_value
from ale.trajectory.document import Meta, iter_steps, read_trajectory, write_trajectory
from ale.trajectory.schema import Action, Agent, Artifact, Observation, Step, TaskRef, Usage, json_schema
from ale.trajectory.tool_class import DESKTOP_TOOLS, tool_class

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
META = Meta(
    "run-1",
    Agent(name="a", harness="claude-code", model="m"),
    TaskRef(workflow="w/x", instance="i"),
    "Do it.\nWell.",
    final_score=0.25,
    outcome="scored",
    artifacts=(Artifact(path="a.csv", size=3, sha256="0" * 64),),
)


def step(number: int, text: str = "out") -> Step:
    return Step(
        step=number,
        timestamp=NOON + timedelta(seconds=number),
        call_id=number,
        action=Action(type="Bash", tool="Bash", args={"command": "line one\nline two"}),
        observation=Observation(timestamp=NOON + timedelta(seconds=number + 0.5), text=text),
        usage=Usage(input_tokens=10, output_tokens=1, cost_usd=0.1),
    )


def test_a_document_is_read_back_whole_or_step_by_step(tmp_path: Path) -> None:
    steps = [step(1), step(2, 'odd \u2028 \x85 \x1b[2J ],\n"steps":['), step(3, "],\n],")]
    totals = write_trajectory(tmp_path, META, steps)
    document = read_trajectory(tmp_path / "trajectory.json")
    assert document.steps == steps
    assert list(iter_steps(tmp_path / "trajectory.json")) == steps
    assert (document.run, document.instruction, document.final_score) == ("run-1", "Do it.\nWell.", 0.25)
    assert document.artifacts == list(META.artifacts)
    assert document.totals == totals
    assert (totals.steps, totals.calls, totals.usage.input_tokens, totals.seconds) == (3, 3, 30, 2.5)
    assert totals.usage.cost_usd == pytest.approx(0.3)


def test_a_document_without_steps_is_valid(tmp_path: Path) -> None:
    totals = write_trajectory(tmp_path, META, [])
    assert read_trajectory(tmp_path / "trajectory.json").steps == []
    assert list(iter_steps(tmp_path / "trajectory.json")) == []
    assert json.loads((tmp_path / "interaction_log.json").read_text())["entries"] == []
    assert totals.usage.cost_usd is None


def test_nothing_is_left_when_the_steps_break(tmp_path: Path) -> None:
    def broken() -> Iterator[Step]:
        yield step(1)
        raise OSError("lost")

    with pytest.raises(OSError, match="lost"):
        write_trajectory(tmp_path, META, broken())
    assert list(tmp_path.iterdir()) == []


def test_the_interaction_log_is_short_and_safe_to_print(tmp_path: Path) -> None:
    write_trajectory(tmp_path, META, [step(1, "\x1b]0;owned\x07\x1b[31mred\x1b[0m " + "x" * 100_000)])
    log = json.loads((tmp_path / "interaction_log.json").read_text(encoding="utf-8"))
    [entry] = log["entries"]
    assert entry["did"] == "line one line two"
    assert entry["saw"].startswith("red xxx")
    assert "more characters" in entry["saw"]
    assert len(json.dumps(entry)) < 1500
    assert (entry["step"], entry["call_id"], entry["input_tokens"]) == (1, 1, 10)


def test_the_schema_file_is_current() -> None:
    kept = json.loads((ROOT / "docs/schemas/trajectory.schema.json").read_text(encoding="utf-8"))
    assert kept == json_schema(), "run: python -m ale.trajectory docs/schemas/trajectory.schema.json"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", "Bash"),
        ("run_shell_command", "Bash"),
        ("pty_spawn", "Bash"),
        ("exec_command", "Bash"),
        ("Execute", "Bash"),
        ("mcp__shell__run_command", "Bash"),
        ("Read", "File"),
        ("MultiEdit", "File"),
        ("apply_patch", "File"),
        ("mcp__cua__click", "GUI"),
        ("cua___screenshot", "GUI"),
        ("mcp_cua_key", "GUI"),
        ("mcp_cua_double_click", "GUI"),
        ("desktop.screenshot", "GUI"),
        ("computer", "GUI"),
        ("WebSearch", "Web"),
        ("web_fetch", "Web"),
        ("browser_navigate", "Web"),
        ("TodoWrite", "Planning"),
        ("delegate_gui", "Planning"),
        ("memory_get", "Planning"),
        ("process", "Other"),
        ("session", "Other"),
        ("monkey", "Other"),
        ("", "Other"),
        ("___", "Other"),
    ],
)
def test_raw_tool_names_fall_into_classes(name: str, kind: str) -> None:
    assert tool_class(name) == kind


@pytest.mark.parametrize("name", DESKTOP_TOOLS)
def test_every_desktop_tool_is_gui_however_it_is_wrapped(name: str) -> None:
    assert {tool_class(f"{wrap}{name}") for wrap in ("", "mcp__cua__", "cua___", "mcp_cua_")} == {"GUI"}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("plain", "plain"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("a\0b", "a␀b"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_text_becomes_storable(given: str, stored: str) -> None:
    assert storable(given) == stored
    assert storable_value({given: [given, 1]}) == {stored: [stored, 1]}


@pytest.mark.parametrize(
    "attack",
    [
        "\x1b[2J",
        "\x1b]52;c;aGk=\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1bPq#0\x1b\\",
        "\x9b31m",
        "\x1b[?1049h",
        "\x07",
    ],
)
def test_text_for_people_cannot_drive_a_terminal(attack: str) -> None:
    assert plain(f"a{attack}b\n") == "ab\n"
    assert "\x1b" not in plain(f"a\x1b{attack}\x1b")
