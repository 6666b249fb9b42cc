"""The screen through python-xlib: pictures by GetImage, pointer and keys by XTEST, which programs can't tell from
a person's (synthetic events they ignore)."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from .faults import Fault
from .picture import png

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIBRARIES = "/usr/lib/python3/dist-packages"
"""Where the distribution keeps python-xlib; `-S` leaves it out of the path."""

_BUTTONS = {"left": 1, "middle": 2, "right": 3}
_MAX_CLICKS = 10
_CLICK_SECONDS = 1.0
"""Seconds that a program may hold a click back; after that the click counts as done, wherever it went."""


class Screen:
    def __init__(self, keys_file: bytes) -> None:
        if _LIBRARIES not in sys.path:
            sys.path.append(_LIBRARIES)
        try:
            self._x: Any = import_module("Xlib.X")
            library: Any = import_module("Xlib.display")
            self._error: Any = import_module("Xlib.error").XError
        except ImportError as error:
            raise Fault("display_failed", "this image has no python3-xlib", 500) from error
        from .keyboard import Keyboard

        self._display: Any = library.Display(":0")
        self._root: Any = self._display.screen().root
        self._cursor = bool(self._display.query_extension("XFIXES"))
        if self._cursor:
            self._display.xfixes_query_version()
        self.keyboard = Keyboard(self._display, keys_file)

    def size(self) -> tuple[int, int]:
        geometry = self._root.get_geometry()
        return geometry.width, geometry.height

    def picture(self) -> bytes:
        width, height = self.size()
        image = self._root.get_image(0, 0, width, height, self._x.ZPixmap, 0xFFFFFFFF)
        if image.depth not in (24, 32) or len(image.data) != width * height * 4:
            raise Fault("display_failed", f"the screen has {image.depth} bits a pixel, not 24", 500)
        pixels = bytearray(width * height * 3)
        data = image.data  # blue, green, red, nothing
        pixels[0::3], pixels[1::3], pixels[2::3] = data[2::4], data[1::4], data[0::4]
        if self._cursor:
            self._draw_cursor(pixels, width, height)
        return png(pixels, width, height)

    def click(self, x: int, y: int, button: str, clicks: int) -> None:
        width, height = self.size()
        if not (0 <= x < width and 0 <= y < height):
            raise Fault("invalid", f"({x}, {y}) is outside the screen of {width}x{height}")
        if button not in _BUTTONS or not 1 <= clicks <= _MAX_CLICKS:
            raise Fault("invalid", f"a click has a button of {', '.join(_BUTTONS)} and 1 to {_MAX_CLICKS} clicks")
        self._display.xtest_fake_input(self._x.MotionNotify, x=x, y=y)
        for _ in range(clicks):
            self._display.xtest_fake_input(self._x.ButtonPress, _BUTTONS[button])
            self._display.xtest_fake_input(self._x.ButtonRelease, _BUTTONS[button])
            self._await_release(_BUTTONS[button])

    def _await_release(self, button: int) -> None:
        """A window manager holds each press back while it decides about the focus, and the release waits behind it, but
        keys don't wait: without this, what is typed right after a click overtakes the click."""
        deadline = time.monotonic() + _CLICK_SECONDS
        while self._root.query_pointer().mask & (self._x.Button1Mask << (button - 1)) and time.monotonic() < deadline:
            time.sleep(0.001)

    def _draw_cursor(self, pixels: bytearray, width: int, height: int) -> None:
        try:
            cursor = self._display.xfixes_get_cursor_image(self._root)
        except self._error:
            return  # no cursor is shown now, as when its owner has just ended
        left, top = cursor.x - cursor.xhot, cursor.y - cursor.yhot
        for number, argb in enumerate(cursor.cursor_image):
            x, y = left + number % cursor.width, top + number // cursor.width
            alpha = argb >> 24
            if not alpha or not (0 <= x < width and 0 <= y < height):
                continue
            at = 3 * (y * width + x)
            for offset, shift in ((0, 16), (1, 8), (2, 0)):  # colours come multiplied by alpha already
                under = pixels[at + offset] * (255 - alpha) // 255
                pixels[at + offset] = min(255, ((argb >> shift) & 0xFF) + under)
