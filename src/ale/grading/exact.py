"""Deliverables that must be the expected ones: the same bytes, the same lines, or the same JSON value."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from ale.errors import GraderError
from ale.score import Score

MAX_BYTES = 256 * 2**20
MAX_JSON_BYTES = 16 * 2**20


def same_file(found: Path, expected: Path, *, by: Literal["bytes", "lines", "json"] = "bytes") -> Score:
    """1 or 0. lines: UTF-8 text, compared without line-end style, blanks at line ends and blank lines at the end.

    Raises GraderError if `expected` itself is unusable.
    """
    read = {"bytes": _digest, "lines": _lines, "json": _json}[by]
    try:
        wanted = read(expected)
    except (OSError, ValueError, RecursionError) as error:
        raise GraderError(f"the reference {expected} can't be used: {error}") from None
    try:
        given = read(found)
    except FileNotFoundError:
        return Score(0.0, "no_output", sentence=f"{found.name} was not delivered")
    except (OSError, ValueError, RecursionError) as error:
        return Score(0.0, "wrong_shape", sentence=f"{found.name} can't be read as {by}: {str(error)[:200]}")
    if given == wanted:
        return Score(1.0, sentence=f"{found.name} is as expected")
    return Score(0.0, "wrong", sentence=f"{found.name} differs{_where(given, wanted)}")


def _digest(path: Path) -> object:
    _check_size(path, MAX_BYTES)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(path: Path) -> object:
    _check_size(path, MAX_BYTES)
    return [line.rstrip() for line in path.read_bytes().decode("utf-8-sig").rstrip().splitlines()]


def _json(path: Path) -> object:
    """NaN and the infinities are no JSON; a key that is there twice is a mistake, not a choice."""
    _check_size(path, MAX_JSON_BYTES)

    def refuse(word: str) -> object:
        raise ValueError(f"{word} is no JSON")

    def unique(pairs: list[tuple[str, object]]) -> object:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    text = path.read_bytes().decode("utf-8-sig")
    return _typed(json.loads(text, parse_constant=refuse, object_pairs_hook=unique))


def _typed(value: object) -> object:
    """`True == 1` in Python, and not in JSON; 1 and 1.0 are the same number in JSON."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {key: _typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_typed(each) for each in value]
    return value


def _check_size(path: Path, limit: int) -> None:
    if path.is_dir():
        raise ValueError("it is a directory")
    if path.stat().st_size > limit:
        raise ValueError(f"it has more than {limit // 2**20} MB")


def _where(given: object, wanted: object) -> str:
    if not isinstance(given, list) or not isinstance(wanted, list):
        return ""
    for number, (one, other) in enumerate(zip(given, wanted, strict=False), start=1):
        if one != other:
            return f" at line {number}: found {str(one)[:80]!r}, expected {str(other)[:80]!r}"
    return f": {len(given)} lines, expected {len(wanted)}"
