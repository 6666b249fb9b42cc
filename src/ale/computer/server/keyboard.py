"""Typing: exactly the text that was asked for, in any script, on a keyboard that has few keys.

A character that is on no key is put on a spare one first. Programs learn of that by an event and look the new meaning
up when they get to it, so a key that was given a meaning keeps it as long as there are spare ones, and before one is
given another meaning, programs get time to read what was typed with the old.
"""

from __future__ import annotations

import json
import os
import time
from importlib import import_module

from .faults import Fault
from .keysyms import NAMES, keysym_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SETTLE = 0.05
_DRAIN = 0.15
"""Seconds between a new meaning and its first use, and between a meaning's last use and the next. Measured with GTK and
xterm on Xvnc: without them some characters in a hundred come out as what was on the key before."""

_SHIFT, _CAPS_LOCK = 0xFFE1, 0xFFE5
_LOCK_MASK = 2


class Keyboard:
    """keys_file: which spare keys have been given which meaning, least recently used first; shared by all handlers,
    who hold the desktop's lock while they use it."""

    def __init__(self, display: Any, keys_file: bytes) -> None:
        self._display = display
        self._file = keys_file
        self._x: Any = import_module("Xlib.X")
        self._lowest = display.display.info.min_keycode
        self._count = display.display.info.max_keycode - self._lowest + 1

    def type(self, text: str) -> None:
        keysyms = [keysym_of(char) for char in text.replace("\r\n", "\n")]
        locked = self._display.screen().root.query_pointer().mask & _LOCK_MASK
        if locked:
            self._tap_caps_lock()
        start = 0
        while start < len(keysyms):
            start = self._type_some(keysyms, start)
        if locked:
            self._tap_caps_lock()

    def press(self, keys: list[str]) -> None:
        """All down in order, then all up in reverse."""
        keysyms = [self._named(key, chord=len(keys) > 1) for key in keys]
        places = self._places(keysyms)
        codes: list[int] = []
        for keysym in keysyms:
            code, shifted = places[keysym]
            if shifted and keysym != _SHIFT:
                codes.append(places[_SHIFT][0])
            codes.append(code)
        for code in codes:
            self._key(code, down=True)
        for code in reversed(codes):
            self._key(code, down=False)
        self._display.sync()

    def _named(self, name: str, *, chord: bool) -> int:
        """In a chord, a letter means its key: `ctrl+S` is not `ctrl+shift+s`."""
        if len(name) == 1:
            return keysym_of(name.lower() if chord else name)
        known = NAMES.get(name.lower().replace("-", "_").replace(" ", "_"))
        found = known or int(import_module("Xlib.XK").string_to_keysym(name))
        if not found:
            raise Fault("invalid", f"there is no key {name[:50]!r}")
        return found

    def _type_some(self, keysyms: list[int], start: int) -> int:
        """Type from `start` as far as one set of spare keys goes; where to go on."""
        mapping, spare = self._mapping()
        on_spare: set[int] = set()
        end = start
        while end < len(keysyms):
            keysym = keysyms[end]
            if keysym not in mapping or mapping[keysym][0] in spare:
                if len(on_spare | {keysym}) >= len(spare):
                    break
                on_spare.add(keysym)
            end += 1
        places = self._places([*dict.fromkeys(keysyms[start:end])])
        for keysym in keysyms[start:end]:
            self._tap(*places[keysym], shift=places[_SHIFT][0])
        self._display.sync()
        return end

    def _places(self, keysyms: list[int]) -> dict[int, tuple[int, bool]]:
        """keysym → (key, whether shifted) for all of these, giving spare keys a meaning where needed."""
        mapping, spare = self._mapping()
        given = self._given(mapping, spare)
        missing = [keysym for keysym in dict.fromkeys([*keysyms, _SHIFT]) if keysym not in mapping]
        used = {code for keysym, (code, _) in mapping.items() if keysym in keysyms}
        free = [code for code in spare if code not in given]
        again = [code for code in given if code not in used]
        if len(missing) > len(free) + len(again):
            raise Fault("invalid", "more characters at once than the keyboard has spare keys")
        if len(missing) > len(free):
            time.sleep(_DRAIN)
        codes = sorted([*free, *again][: len(missing)])
        for keysym, code in zip(missing, codes, strict=True):
            mapping[keysym] = code, False
            given.pop(code, None)
            given[code] = keysym
        for first, meanings in _runs(dict(zip(codes, missing, strict=True))):
            self._display.change_keyboard_mapping(first, [(keysym, keysym) for keysym in meanings])
        for keysym in keysyms:  # what is used now is reused last
            code = mapping[keysym][0]
            if code in given:
                given[code] = given.pop(code)
        self._remember(spare, given)
        if missing:
            self._display.sync()
            time.sleep(_SETTLE)
        return mapping

    def _mapping(self) -> tuple[dict[int, tuple[int, bool]], list[int]]:
        """What is on which key, unshifted places first; and the keys that nobody misses: with nothing, or only
        multimedia keys, on them at the beginning."""
        rows = self._display.get_keyboard_mapping(self._lowest, self._count)
        found: dict[int, tuple[int, bool]] = {}
        for shifted in (False, True):
            for number, row in enumerate(rows):
                keysym = row[shifted] if len(row) > shifted else 0
                if keysym:
                    found.setdefault(keysym, (self._lowest + number, shifted))
        empty = [self._lowest + number for number, row in enumerate(rows) if all(map(_dispensable, row))]
        try:
            with open(self._file, "rb") as file:
                spare = json.load(file)["spare"]
        except FileNotFoundError:
            spare = empty
        if not spare:
            raise Fault("display_failed", "the keyboard has no spare key left", 500)
        return found, spare

    def _given(self, mapping: dict[int, tuple[int, bool]], spare: list[int]) -> dict[int, int]:
        try:
            with open(self._file, "rb") as file:
                pairs = json.load(file)["given"]
        except FileNotFoundError:
            return {}
        return {code: keysym for code, keysym in pairs if mapping.get(keysym) == (code, False) and code in spare}

    def _remember(self, spare: list[int], given: dict[int, int]) -> None:
        fresh = self._file + b".new"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            json.dump({"spare": spare, "given": list(given.items())}, file)
        os.rename(fresh, self._file)

    def _tap(self, code: int, shifted: bool, *, shift: int) -> None:
        if shifted:
            self._key(shift, down=True)
        self._key(code, down=True)
        self._key(code, down=False)
        if shifted:
            self._key(shift, down=False)

    def _tap_caps_lock(self) -> None:
        code = self._places([_CAPS_LOCK])[_CAPS_LOCK][0]
        self._key(code, down=True)
        self._key(code, down=False)
        self._display.sync()

    def _key(self, code: int, *, down: bool) -> None:
        self._display.xtest_fake_input(self._x.KeyPress if down else self._x.KeyRelease, code)


def _dispensable(keysym: int) -> bool:
    """Nothing, or one of the vendor's keys for players, browsers and brightness."""
    return keysym == 0 or 0x1008FE00 <= keysym <= 0x1008FFFF


def _runs(meanings: dict[int, int]) -> list[tuple[int, list[int]]]:
    """Neighbouring keys together: each change is an event that makes a window manager read the whole keyboard again."""
    found: list[tuple[int, list[int]]] = []
    for code, keysym in meanings.items():
        if found and found[-1][0] + len(found[-1][1]) == code:
            found[-1][1].append(keysym)
        else:
            found.append((code, [keysym]))
    return found
