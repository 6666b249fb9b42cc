"""Reading JSON that a hostile client sent."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ale.gateway.neutral import BadRequest

MAX_DEPTH = 128
"""Deeper nesting than this is refused. Real requests stay under 30; Python's own encoder gives up near 1000."""


def parse_object(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises BadRequest for everything else, bombs included."""
    try:
        value = json.loads(data, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise BadRequest(f"the request body is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, an integer of too many digits
        raise BadRequest(f"the request body is not valid JSON: {str(error)[:200]}") from None
    if not isinstance(value, dict):
        raise BadRequest("the request body must be a JSON object")
    _check_depth(value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _check_depth(value: dict[str, Any]) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise BadRequest(f"the request body is nested deeper than {MAX_DEPTH} levels")
