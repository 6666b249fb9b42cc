"""GET /screen and POST /desktop: what a person at the screen sees and does."""

from __future__ import annotations

import fcntl
import os
import select
import signal

from .faults import Fault
from .state import READY, RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import Request
    from .state import State
    from .x11 import Screen

_LOCK = RUN + b"/desktop.lock"
_READY_SECONDS = 90.0
_SECONDS = 15.0
"""Seconds that one action may take once the display is ready."""

_LETTERS_A_SECOND = 50


def screenshot(request: Request, user: str, state: State) -> None:
    del user
    _await_display(state)
    with _bounded(request, _SECONDS):
        picture = _screen(request).picture()
    request.answer_bytes(picture, "image/png")


def operate(request: Request, user: str, state: State) -> None:
    """One after the other, whoever asks: half a word between another's letters helps nobody."""
    del user
    order = request.body.json()
    _await_display(state)
    operation = str(order.get("op"))
    if operation == "size":
        with _bounded(request, _SECONDS):
            width, height = _screen(request).size()
        request.answer({"width": width, "height": height})
        return
    with _bounded(request, _SECONDS + len(str(order.get("text", ""))) / _LETTERS_A_SECOND), _alone():
        screen = _screen(request)
        if operation == "click":
            screen.click(
                _whole(order, "x"), _whole(order, "y"), str(order.get("button", "left")), _whole(order, "clicks", 1)
            )
        elif operation == "type":
            screen.keyboard.type(_text(order, "text"))
        elif operation == "key":
            keys = order.get("keys")
            if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
                raise Fault("invalid", "keys must be a list of names")
            screen.keyboard.press(keys)
        else:
            raise Fault("unsupported", f"there is no desktop operation {operation[:50]!r}")
    request.answer({})


def _await_display(state: State) -> None:
    if state.screen is None:
        raise Fault("no_display", "this machine was made without a display; the task's card must ask for one", 409)
    select.select([state.display_wait], [], [], _READY_SECONDS)
    if state.display != READY:
        raise Fault("display_failed", f"the display does not work: {state.display_error or 'not ready in time'}", 500)


def _screen(request: Request) -> Screen:
    """This connection's own way to the X server, kept between requests."""
    connection = request.connection
    if connection.screen is None:
        from .x11 import Screen

        connection.screen = Screen(RUN + b"/keys.json")
    return connection.screen


class _bounded:  # noqa: N801 - reads as a state: `with _bounded(…):`
    """A program of the agent's may hold the X server for itself; that must not hold up whoever looks at it."""

    def __init__(self, request: Request, seconds: float) -> None:
        self._connection = request.connection
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, *_: object) -> None:
        self._connection.screen = None  # it may be in the middle of a request
        raise Fault("display_failed", f"the screen did not answer within {self._seconds:.0f} s", 500)


class _alone:  # noqa: N801 - reads as a state: `with _alone():`
    def __enter__(self) -> None:
        self._lock = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)


def _whole(order: dict[str, object], name: str, default: int | None = None) -> int:
    value = order.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault("invalid", f"{name} must be a whole number")
    return value


def _text(order: dict[str, object], name: str) -> str:
    value = order.get(name)
    if not isinstance(value, str):
        raise Fault("invalid", f"{name} must be a string")
    return value
