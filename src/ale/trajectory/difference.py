"""A request body as its difference to an earlier one, since each request repeats the whole history.

An encoded body is a list of `[key, how]` in the body's own key order, where `how` is one of

    {"same": true}          the base body has exactly this value under this key
    {"value": packed}       the value itself
    {"list": [op, ...]}     a list; each op is `[from, to]` (those items of the base's list) or `{"item": packed}`

The writer keeps digests of the last few bodies in numbered slots and says which slot it read (`base`) and which it
overwrote (`slot`), so a reader follows without any policy of its own. The interleaved conversations of sub-agents
therefore each stay small, and so does a history that was changed in the middle or shortened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

SLOTS = 8
"""How many interleaved conversations are followed at once."""

HISTORY_KEYS = ("messages", "input", "contents")
"""Where the dialects keep the conversation."""

_NEAR = 64
"""Items looked at beyond the expected one before all of the base is indexed."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


def canonical(value: Any) -> str:
    """The text whose SHA-256 is recorded: compact, ASCII, keys in the order in which they came."""
    return _encode(value)


@dataclass(frozen=True)
class Entry:
    """One top-level value: its digest, and those of its items when it is a list."""

    digest: bytes
    items: tuple[bytes, ...] | None = None


@dataclass
class _Slot:
    used: int = -1
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class Encoded:
    """base: slot that was read, or None. slot: slot that now holds this body."""

    base: int | None
    slot: int
    body: list[list[Any]]
    sha256: str


class Encoder:
    """pack: what to do with a value that is written out. mask: what to do with its canonical text before that."""

    def __init__(self, pack: Callable[[Any], Any], mask: Callable[[str], str]) -> None:
        self._pack = pack
        self._mask = mask
        self._slots = [_Slot() for _ in range(SLOTS)]
        self._clock = 0

    def encode(self, body: dict[str, Any]) -> Encoded:
        entries: dict[str, Entry] = {}
        values: dict[str, Any] = {}
        whole = hashlib.sha256(b"{")
        for position, (raw_key, raw) in enumerate(body.items()):
            key = self._masked(raw_key)[0]
            value, text, entries[key] = self._entry(raw)
            values[key] = value
            whole.update((("," if position else "") + _encode(key) + ":" + text).encode("ascii"))
        whole.update(b"}")
        base, slot = self._choose(entries)
        known = self._slots[base].entries if base is not None else {}
        encoded = [[key, self._difference(value, entries[key], known.get(key))] for key, value in values.items()]
        self._clock += 1
        self._slots[slot] = _Slot(self._clock, entries)
        return Encoded(base, slot, encoded, whole.hexdigest())

    def _masked(self, value: Any) -> tuple[Any, str]:
        text = _encode(value)
        masked = self._mask(text)
        return (value, text) if masked is text else (json.loads(masked), masked)

    def _entry(self, raw: Any) -> tuple[Any, str, Entry]:
        if not isinstance(raw, list):
            value, text = self._masked(raw)
            return value, text, Entry(_digest(text))
        pairs = [self._masked(item) for item in raw]
        text = "[" + ",".join(text for _, text in pairs) + "]"
        return [value for value, _ in pairs], text, Entry(_digest(text), tuple(_digest(text) for _, text in pairs))

    def _choose(self, entries: dict[str, Entry]) -> tuple[int | None, int]:
        oldest = min(range(SLOTS), key=lambda index: self._slots[index].used)
        used = [index for index in range(SLOTS) if self._slots[index].used >= 0]
        if not used:
            return None, oldest
        history = _history(entries)

        def likeness(index: int) -> tuple[int, int, int]:
            slot = self._slots[index]
            same = sum(slot.entries.get(key) == entry for key, entry in entries.items() if entry.items is None)
            return _aligned(_history(slot.entries), history), same, slot.used

        best = max(used, key=likeness)
        earlier = _history(self._slots[best].entries)
        continued = 2 * _aligned(earlier, history) >= len(earlier)
        return best, best if continued else oldest

    def _difference(self, value: Any, entry: Entry, known: Entry | None) -> dict[str, Any]:
        if known is not None and known == entry:
            return {"same": True}
        if entry.items is None:
            return {"value": self._pack(value)}
        ops: list[Any] = []
        for item, source in zip(value, _sources(entry.items, known.items or () if known else ()), strict=True):
            if source is None:
                ops.append({"item": self._pack(item)})
            elif ops and isinstance(ops[-1], list) and ops[-1][1] == source:
                ops[-1][1] += 1
            else:
                ops.append([source, source + 1])
        return {"list": ops}


@dataclass(frozen=True)
class Decoded:
    """A body whose values are still packed. `fresh`: the items of the history that the base did not have, in order."""

    body: dict[str, Any]
    fresh: list[Any]


class Decoder:
    """Follows an Encoder; fed with every encoded body in the order of writing."""

    def __init__(self) -> None:
        self._slots: dict[int, dict[str, Any]] = {}

    def decode(self, base: int | None, slot: int, encoded: Sequence[Sequence[Any]]) -> Decoded:
        known = self._slots[base] if base is not None else {}
        body: dict[str, Any] = {}
        fresh: list[Any] = []
        for key, how in encoded:
            if "same" in how:
                body[key] = known[key]
            elif "value" in how:
                body[key] = how["value"]
            else:
                items: list[Any] = []
                for op in how["list"]:
                    if isinstance(op, list):
                        items += known[key][op[0] : op[1]]
                    else:
                        items.append(op["item"])
                        if key in HISTORY_KEYS:
                            fresh.append(op["item"])
                body[key] = items
        self._slots[slot] = body
        return Decoded(body, fresh)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).digest()


def _history(entries: dict[str, Entry]) -> tuple[bytes, ...]:
    for key in HISTORY_KEYS:
        if key in entries and entries[key].items is not None:
            return entries[key].items or ()
    return ()


def _aligned(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    return sum(map(bytes.__eq__, one, other))


def _sources(items: Sequence[bytes], base: Sequence[bytes]) -> Iterator[int | None]:
    """For each item where in `base` it stands, or None; prefers to go on where the last one was found."""
    expected = 0
    index: dict[bytes, int] | None = None
    for item in items:
        found: int | None = None
        for near in range(expected, min(expected + _NEAR, len(base))):
            if base[near] == item:
                found = near
                break
        else:
            if expected + _NEAR < len(base):
                index = index if index is not None else {digest: at for at, digest in reversed(list(enumerate(base)))}
                found = index.get(item)
        if found is not None:
            expected = found + 1
        yield found
