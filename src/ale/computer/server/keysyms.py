"""Keys by the names that people and models use, and characters as X keysyms."""

from __future__ import annotations

from .faults import Fault

_CONTROLS = {"\n": 0xFF0D, "\r": 0xFF0D, "\t": 0xFF09, "\b": 0xFF08, "\x1b": 0xFF1B, "\x7f": 0xFFFF}

NAMES = {
    "ctrl": 0xFFE3,
    "control": 0xFFE3,
    "shift": 0xFFE1,
    "alt": 0xFFE9,
    "option": 0xFFE9,
    "altgr": 0xFE03,
    "super": 0xFFEB,
    "win": 0xFFEB,
    "windows": 0xFFEB,
    "cmd": 0xFFEB,
    "command": 0xFFEB,
    "meta": 0xFFEB,
    "enter": 0xFF0D,
    "return": 0xFF0D,
    "kp_enter": 0xFF8D,
    "tab": 0xFF09,
    "esc": 0xFF1B,
    "escape": 0xFF1B,
    "space": 0x20,
    "backspace": 0xFF08,
    "delete": 0xFFFF,
    "del": 0xFFFF,
    "insert": 0xFF63,
    "home": 0xFF50,
    "end": 0xFF57,
    "pageup": 0xFF55,
    "page_up": 0xFF55,
    "pgup": 0xFF55,
    "pagedown": 0xFF56,
    "page_down": 0xFF56,
    "pgdn": 0xFF56,
    "left": 0xFF51,
    "up": 0xFF52,
    "right": 0xFF53,
    "down": 0xFF54,
    "arrowleft": 0xFF51,
    "arrowup": 0xFF52,
    "arrowright": 0xFF53,
    "arrowdown": 0xFF54,
    "capslock": 0xFFE5,
    "caps_lock": 0xFFE5,
    "numlock": 0xFF7F,
    "num_lock": 0xFF7F,
    "scrolllock": 0xFF14,
    "printscreen": 0xFF61,
    "print_screen": 0xFF61,
    "print": 0xFF61,
    "prtsc": 0xFF61,
    "pause": 0xFF13,
    "menu": 0xFF67,
    "plus": 0x2B,
    "minus": 0x2D,
    "comma": 0x2C,
    "period": 0x2E,
    "slash": 0x2F,
    **{f"f{number}": 0xFFBD + number for number in range(1, 25)},
}


def keysym_of(char: str) -> int:
    """The keysym of one character: Latin-1 is itself, the rest its code point in the Unicode range."""
    point = ord(char)
    if char in _CONTROLS:
        return _CONTROLS[char]
    if point < 0x20 or 0x7F <= point < 0xA0 or 0xD800 <= point < 0xE000:
        raise Fault("invalid", f"U+{point:04X} is not a character that can be typed")
    return point if point < 0x100 else 0x01000000 | point
