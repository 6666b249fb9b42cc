"""Script files: what is refused and where, what is filled in, what identifies them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ale.errors import UsageError
from ale.gateway.body import MAX_DEPTH, parse_object
from ale.gateway.estimate import TOKENS_PER_PICTURE, tokens_of_body
from ale.gateway.models import check_price
from ale.gateway.neutral import BadRequest, ToolOffer
from ale.gateway.prices import listed_price
from ale.gateway.script import load_script
from ale.gateway.tools import filled, shell_call
from ale.trajectory.schema import Usage


def write(folder: Path, text: str) -> Path:
    path = folder / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scripts:\n  - turnes: []\n", "script.yaml:2: unknown key 'turnes' (did you mean 'turns'?)"),
        ("scripts:\n  - turns:\n      - {txt: hello}\n", "script.yaml:3: unknown key 'txt' (did you mean 'text'?)"),
        ("scripts: []\n", "script.yaml:1: scripts"),
        ("scripts:\n  - turns:\n      - {}\n", "script.yaml:3"),
        ("scripts: [{turns: [{text: a, error: {status: 500, message: b}}]}]", "not both"),
        ("scripts: [{turns: [{error: {status: 200, message: b}}]}]", "status"),
        ("scripts: [{turns: [{text: a, times: 3}]}]", "times"),
        ("scripts: [{turns: [{error: {status: 500, message: b}, times: always}, {text: a}]}]", "never reached"),
        ("scripts: [{turns: [{calls: [{shell: a, tool: b}]}]}]", "exactly one"),
        ("scripts: [{turns: [{calls: [{}]}]}]", "exactly one"),
        ("scripts: [{turns: [{text: a, usage: {input: 5, output: 1, cache_read: 6}}]}]", "parts of input"),
        ("scripts: [{turns: [{text: a, delay: -1}]}]", "delay"),
        ("price: {input: -3, output: 1}\nscripts: [{turns: [{text: a}]}]", "script.yaml:1: price.input"),
        ("scripts: [{turns: [{text_file: nowhere.txt}]}]", "nowhere.txt"),
        ("scripts: [{turns: [{calls: [{shell_file: ../nowhere.sh}]}]}]", "nowhere.sh"),
        ("scripts: [", "not valid YAML"),
    ],
)
def test_a_faulty_script_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_script(write(tmp_path, text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_fitting_script_is_chosen(tmp_path: Path) -> None:
    text = """
scripts:
  - {when: {workflow: "a/*", instance: one}, turns: [{text: first}]}
  - {when: {workflow: "a/*"}, turns: [{text: second}]}
"""
    script = load_script(write(tmp_path, text))
    assert script.choose("a/b", "one").turns[0].text == "first"
    assert script.choose("a/b", "two").turns[0].text == "second"
    with pytest.raises(UsageError, match="no script for b/c/two"):
        script.choose("b/c", "two")


def test_the_digest_covers_every_named_file(tmp_path: Path) -> None:
    (tmp_path / "fix.sh").write_text("echo one")
    path = write(tmp_path, "scripts: [{turns: [{calls: [{shell_file: fix.sh}]}]}]")
    before = load_script(path).digest
    assert load_script(path).digest == before
    (tmp_path / "fix.sh").write_text("echo two")
    assert load_script(path).digest != before


@pytest.mark.parametrize(
    ("name", "schema", "args"),
    [
        ("Bash", {"properties": {"command": {"type": "string"}}, "required": ["command"]}, {"command": "ls"}),
        (
            "run_shell_command",
            {
                "properties": {"command": {}, "is_background": {"type": "boolean"}, "directory": {"type": "string"}},
                "required": ["command", "is_background"],
            },
            {"command": "ls", "is_background": False},
        ),
        ("exec_command", {"properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}, {"cmd": "ls"}),
        (
            "shell",
            {"properties": {"command": {"type": "array", "items": {"type": "string"}}}, "required": ["command"]},
            {"command": ["bash", "-lc", "ls"]},
        ),
        (
            "terminal",
            {
                "properties": {
                    "command": {},
                    "security_risk": {"enum": ["HIGH", "LOW"]},
                    "n": {"type": "integer", "minimum": 3},
                },
                "required": ["command", "security_risk", "n"],
            },
            {"command": "ls", "security_risk": "LOW", "n": 3},
        ),
        ("mcp__box__bash", {}, {"command": "ls"}),
        ("execute_bash", {"properties": {"what": {"type": "string"}}, "required": ["what"]}, {"what": "ls"}),
    ],
)
def test_the_shell_tool_is_found_and_filled(name: str, schema: dict[str, Any], args: dict[str, Any]) -> None:
    call = shell_call([ToolOffer("Read"), ToolOffer(name, schema)], "ls", {})
    assert call is not None
    assert (call.name, call.args) == (name, args)


def test_the_likeliest_shell_is_taken_and_arguments_can_be_added() -> None:
    offered = [ToolOffer("execute"), ToolOffer("Bash"), ToolOffer("terminal")]
    call = shell_call(offered, "ls", {"timeout": 5})
    assert call is not None
    assert (call.name, call.args) == ("Bash", {"command": "ls", "timeout": 5})
    assert shell_call([ToolOffer("Read"), ToolOffer("bashful")], "ls", {}) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": {"a": 1}},
        {"type": ["integer", "null"]},
        {"type": "object", "required": "name", "properties": []},
        {"type": "object", "required": [1, "x"], "properties": {"x": 5}},
        {"enum": []},
        {"anyOf": [5]},
        {"anyOf": [{"type": "string"}]},
    ],
)
def test_a_hostile_schema_is_filled_without_error(schema: dict[str, Any]) -> None:
    filled(schema)
    shell_call([ToolOffer("Bash", schema)], "ls", {})


def test_a_dollar_cap_needs_a_price(tmp_path: Path) -> None:
    priced = write(tmp_path, "price: {input: 3, output: 15}\nscripts: [{turns: [{text: a}]}]")
    assert check_price("scripted-1", f"script:{priced}").source == "script"
    unpriced = tmp_path / "unpriced.yaml"
    unpriced.write_text("scripts: [{turns: [{text: a}]}]")
    with pytest.raises(UsageError, match="no known price"):
        check_price("scripted-1", f"script:{unpriced}")
    assert check_price("claude-sonnet-4-5", f"script:{unpriced}").source.startswith("genai-prices")


def test_list_prices_count_cached_tokens_as_parts_of_the_input() -> None:
    price = listed_price("claude-sonnet-4-5")
    assert price is not None
    usage = Usage(input_tokens=1000, output_tokens=10, cache_read_tokens=100)
    assert float(price.cost(usage)) == pytest.approx((900 * 3 + 100 * 0.3 + 10 * 15) / 1e6)
    assert listed_price("no-such-model") is None


def test_a_picture_is_estimated_as_a_picture() -> None:
    picture = {"type": "image", "source": {"data": "iVBORw0KGgo" + "A" * 400_000}}
    assert TOKENS_PER_PICTURE < tokens_of_body({"messages": [picture]}) < TOKENS_PER_PICTURE + 100


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 2000, 200_000])
def test_nesting_is_bounded(depth: int) -> None:
    body = b'{"a":' * depth + b"1" + b"}" * depth
    if depth <= MAX_DEPTH:
        assert parse_object(body)
    else:
        with pytest.raises(BadRequest, match=r"deep|JSON"):
            parse_object(body)
