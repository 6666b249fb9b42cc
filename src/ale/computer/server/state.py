"""What every process of the server shares: the start message, the frozen mark and the state of the display."""

from __future__ import annotations

import mmap
import time

RUN = b"/run/ale"
"""The server's own directory: 0711, so that delivered programs reach their case below it and list nothing."""

STARTING, READY, FAILED = 0, 1, 2
_FROZEN, _DISPLAY, _LENGTH, _TEXT = 0, 1, 2, 8


class State:
    """One page of shared memory plus what was known before the first fork. Handlers are forked, so a plain attribute
    set later would be seen by its own process alone."""

    def __init__(self, start: dict[str, object]) -> None:
        self.token = str(start["token"]).encode()
        self.sandbox = str(start.get("sandbox", ""))
        self.door = bool(start.get("door"))
        self.screen = _screen(start.get("screen"))
        self.limits = _limits(start.get("limits"))
        self.started = time.monotonic()
        self.display_wait = -1
        self._page = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def frozen(self) -> bool:
        return self._page[_FROZEN] == 1

    def freeze(self) -> None:
        self._page[_FROZEN] = 1

    @property
    def display(self) -> int:
        return self._page[_DISPLAY]

    @property
    def display_error(self) -> str:
        length = int.from_bytes(self._page[_LENGTH : _LENGTH + 2], "big")
        return self._page[_TEXT : _TEXT + length].decode("utf-8", "replace")

    def set_display(self, state: int, error: str = "") -> None:
        text = error.encode()[:2000]
        self._page[_TEXT : _TEXT + len(text)] = text
        self._page[_LENGTH : _LENGTH + 2] = len(text).to_bytes(2, "big")
        self._page[_DISPLAY] = state


def _screen(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError("screen must be an object with width and height, or null")
    return int(value["width"]), int(value["height"])


def _limits(value: object) -> dict[str, int | None]:
    given = value if isinstance(value, dict) else {}
    return {name: given.get(name) for name in ("processes", "file_mb", "open_files")}
