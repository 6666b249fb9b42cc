"""What the dialects share: server-sent events, ids, pieces."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ale.gateway.neutral import BadRequest

PIECE = 512
"""Characters of one streamed delta."""


def event(data: Any, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode("ascii")


def identifier(prefix: str, *parts: object) -> str:
    return prefix + hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def text_field(body: Any, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{name}: a non-empty string is required")
    return value


def objects(body: Any, name: str, *, required: bool = False) -> list[dict[str, Any]]:
    """A list of objects under `name`; an absent or null one is empty unless it is required."""
    value = body.get(name)
    if value is None and not required:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadRequest(f"{name}: a list of objects is required")
    return value


def signature(thinking: str) -> str:
    """What thinking is signed with. Clients must send it back unread; nothing here checks it."""
    return base64.b64encode(hashlib.sha256(thinking.encode("utf-8", "surrogatepass")).digest()).decode("ascii")


def answer_turns(by_model: Iterable[bool]) -> int:
    """Answers already in the history, told for each of its items whether the model wrote it. Neighbouring ones are one
    answer that the client took apart."""
    return sum(wrote for wrote, _ in groupby(by_model))
