"""Files that must be the expected ones."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from ale.errors import GraderError
from ale.grading.exact import same_file


@pytest.mark.parametrize(
    ("by", "found", "expected", "value"),
    [
        ("bytes", b"\x00\xff", b"\x00\xff", 1.0),
        ("bytes", b"a\n", b"a", 0.0),
        ("lines", b"\xef\xbb\xbfa \r\nb\r\n\r\n", b"a\nb", 1.0),
        ("lines", b"hello world", b"world hello", 0.0),
        ("lines", b"\xff", b"a", 0.0),
        ("json", b'{"a": [1, 2.0], "b": null}', b'{"b":null,"a":[1.0,2]}', 1.0),
        ("json", b"{}", b'{"a": 1}', 0.0),
        ("json", b"true", b"1", 0.0),
        ("json", b"[1, 2]", b"[2, 1]", 0.0),
        ("json", b"NaN", b"1", 0.0),
        ("json", b'{"a": 1, "a": 2}', b'{"a": 2}', 0.0),
        ("json", b"[" * 100_000, b"[]", 0.0),
        ("json", b"9" * 5000, b"9", 0.0),
        ("json", b"", b"1", 0.0),
    ],
)
def test_comparison(
    tmp_path: Path, by: Literal["bytes", "lines", "json"], found: bytes, expected: bytes, value: float
) -> None:
    (tmp_path / "f").write_bytes(found)
    (tmp_path / "e").write_bytes(expected)
    score = same_file(tmp_path / "f", tmp_path / "e", by=by)
    assert score.value == value
    assert score.sentence


def test_the_first_difference_is_shown(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nx\n")
    (tmp_path / "e").write_text("a\nb\n")
    assert (
        same_file(tmp_path / "f", tmp_path / "e", by="lines").sentence == "f differs at line 2: found 'x', expected 'b'"
    )


def test_a_missing_deliverable_a_directory_and_a_missing_reference(tmp_path: Path) -> None:
    (tmp_path / "e").write_text("{}")
    (tmp_path / "d").mkdir()
    assert same_file(tmp_path / "f", tmp_path / "e").reason == "no_output"
    assert same_file(tmp_path / "d", tmp_path / "e").reason == "wrong_shape"
    with pytest.raises(GraderError, match="nothing"):
        same_file(tmp_path / "e", tmp_path / "nothing")
