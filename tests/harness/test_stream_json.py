"""The last words of an agent CLI, which may be anything."""

from __future__ import annotations

import json

import pytest

from ale.harness.stream_json import last_result

SAID = {
    "a result": ('{"type": "text"}\n{"type": "result", "result": "done"}\n', "done"),
    "the last of two": ('{"type": "result", "result": "one"}\n{"type": "result", "result": "two"}\n', "two"),
    "an error": ('{"type": "result", "error": {"code": 1}}\n', '{"code": 1}'),
    "half a line before it": ('"}\n{"type": "result", "result": "done"}', "done"),
    "no JSON at all": ("panic: out of cheese\n", "panic: out of cheese"),
    "nothing": ("", ""),
    "JSON that is no object": ("[1]\n2\n", "[1]\n2"),
    "nested too deeply to be read": (json.dumps({"type": "result", "result": "done"}) + "\n" + "[" * 60_000, "done"),
}


@pytest.mark.parametrize("case", SAID)
def test_the_last_result_is_found_among_whatever_is_there(case: str) -> None:
    tail, expected = SAID[case]
    assert last_result(tail) == expected
