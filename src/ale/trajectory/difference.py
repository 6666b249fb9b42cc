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
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SLOTS = 8
"""How many interleaved conversations are followed at once."""

HISTORY_KEYS = ("messages", "input", "contents")
"""Where the dialects keep the conversation."""

_NEAR = 64
"""Items looked at beyond the expected one before all of the base is indexed."""

_MEMO = 200_000
"""Digests of values that are remembered for a run; a new 100-byte message costs about 150 bytes here."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


def canonical(value: Any) -> str:
    """Compact ASCII JSON, keys in the order in which they came."""
    return _encode(value)


def body_digest(body: Mapping[str, Any]) -> str:
    """The digest that is recorded with a body: SHA-256 over the digests of its keys and values in their order, where a
    value's is that of its canonical text, or, for a list, that of its items' digests. So what did not change since the
    last request needs no hashing again."""
    return _combined({key: _entry(value, lambda item: _digest(canonical(item))) for key, value in body.items()})


@dataclass(frozen=True)
class Entry:
    """The digest of a top-level value, and those of its items when it is a list."""

    digest: bytes
    items: tuple[bytes, ...] | None = None


@dataclass
class _Slot:
    used: int = -1
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class Encoded:
    """base: slot that was read, or None. slot: slot that now holds this body. digest: `body_digest` of it."""

    base: int | None
    slot: int
    body: list[list[Any]]
    digest: str


class Encoder:
    """pack: what to do with a value that is written out. mask: what to do with its canonical text before that."""

    def __init__(self, pack: Callable[[Any], Any], mask: Callable[[str], str]) -> None:
        self._pack = pack
        self._mask = mask
        self._slots = [_Slot() for _ in range(SLOTS)]
        self._clock = 0
        self._memo: dict[int, bytes] = {}

    def encode(self, body: dict[str, Any]) -> Encoded:
        keyed = {json.loads(self._mask(_encode(key))): value for key, value in body.items()}
        entries = {key: _entry(value, self._remembered) for key, value in keyed.items()}
        base, slot = self._choose(entries)
        known = self._slots[base].entries if base is not None else {}
        encoded = [[key, self._difference(value, entries[key], known.get(key))] for key, value in keyed.items()]
        self._clock += 1
        self._slots[slot] = _Slot(self._clock, entries)
        return Encoded(base, slot, encoded, _combined(entries))

    def _remembered(self, value: Any) -> bytes:
        """The digest of a value's masked text. A run's histories repeat, so known values are recognised by a cheaper
        key: marshal's old format writes equal values alike, and tells 1, 1.0 and true apart."""
        key = hash(marshal.dumps(value, 2))
        digest = self._memo.get(key)
        if digest is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            digest = self._memo[key] = _digest(self._mask(_encode(value)))
        return digest

    def _packed(self, value: Any) -> Any:
        text = _encode(value)
        masked = self._mask(text)
        return self._pack(value if masked is text else json.loads(masked))

    def _choose(self, entries: dict[str, Entry]) -> tuple[int | None, int]:
        """The slot whose body is most like this one, and the slot to overwrite: the same if its history goes on."""
        recent = sorted(range(SLOTS), key=lambda index: -self._slots[index].used)
        used = [index for index in recent if self._slots[index].used >= 0]
        if not used:
            return None, recent[-1]
        history = _history(entries)

        def likeness(index: int) -> tuple[int, int]:
            known = self._slots[index].entries
            same = sum(known.get(key) == entry for key, entry in entries.items() if entry.items is None)
            return _aligned(_history(known), history), same

        latest = _history(self._slots[used[0]].entries)
        goes_on = bool(latest) and _prefix(latest, history) >= len(latest) - 1
        best = used[0] if goes_on else max(used, key=likeness)
        earlier = _history(self._slots[best].entries)
        return best, best if goes_on or 2 * _aligned(earlier, history) >= len(earlier) else recent[-1]

    def _difference(self, value: Any, entry: Entry, known: Entry | None) -> dict[str, Any]:
        if known is not None and known == entry:
            return {"same": True}
        if entry.items is None:
            return {"value": self._packed(value)}
        base = known.items or () if known is not None else ()
        start = _prefix(base, entry.items)
        ops: list[Any] = [[0, start]] if start else []
        for item, source in zip(value[start:], _sources(entry.items[start:], base, start), strict=True):
            if source is None:
                ops.append({"item": self._packed(item)})
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


def _entry(value: Any, digest: Callable[[Any], bytes]) -> Entry:
    if not isinstance(value, list):
        return Entry(digest(value))
    items = tuple(map(digest, value))
    return Entry(hashlib.sha256(b"[" + b"".join(items)).digest(), items)


def _combined(entries: Mapping[str, Entry]) -> str:
    whole = hashlib.sha256()
    for key, entry in entries.items():
        whole.update(_digest(_encode(key)) + entry.digest)
    return whole.hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("ascii")).digest()


def _history(entries: Mapping[str, Entry]) -> tuple[bytes, ...]:
    for key in HISTORY_KEYS:
        if key in entries and entries[key].items is not None:
            return entries[key].items or ()
    return ()


def _aligned(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """At how many places both hold the same."""
    return sum(map(bytes.__eq__, one, other))


def _prefix(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> int:
    """With how many items both begin, found by halving (comparing slices is much faster than a loop)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _sources(items: Sequence[bytes], base: Sequence[bytes], expected: int) -> Iterator[int | None]:
    """For each item where in `base` it stands, or None; prefers to go on where the last one was found."""
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
