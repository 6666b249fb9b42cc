"""Files that people write: one sentence with file, line and the nearest valid key for whatever is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from ale.documents import Document, read_document
from ale.errors import UsageError


class Inner(Document):
    width: int = 1
    height: int = 2


class Outer(Document):
    name: str
    size: Inner = Inner()
    items: list[Inner] = Field(default_factory=list)


CASES = {
    "unknown key": ("name: a\nsise: {}\n", ":2: unknown key 'sise' (did you mean 'size'?)"),
    "unknown key below": ("name: a\nsize:\n  witdh: 3\n", ":3: unknown key 'witdh' (did you mean 'width'?)"),
    "unknown key in a list": (
        "name: a\nitems:\n  - {}\n  - hight: 1\n",
        ":4: unknown key 'hight' (did you mean 'height'?)",
    ),
    "missing key": ("size: {}\n", ":1: key 'name' is missing"),
    "wrong type": ("name: a\nsize:\n  width: wide\n", ":3: size.width: input should be a valid integer"),
    "not yaml": ("name: [a\n", "not valid YAML"),
    "twice": ("name: a\nname: b\n", ":2: key 'name' is there twice"),
    "empty": ("", "key 'name' is missing"),
    "a list": ("- a\n", ":1: "),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_document(path, Outer)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_document(tmp_path / "no.yaml", Outer)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_document(path, Outer).name == "a"


def test_an_alias_bomb_is_refused_without_being_walked(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError, match=r"unknown key|missing"):
        read_document(path, Outer)
