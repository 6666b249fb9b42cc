"""Pictures as data URIs: only PNG and JPEG by their own bytes, of a bearable number of pixels, within a total."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from markupsafe import Markup

PIXELS = 40_000_000
"""A picture of this many pixels takes a browser 160 MB; a few kilobytes can claim a thousand times as many."""

_SIDE = 16_384
_SECTIONS = 10_000
"""No program writes more of them before the pixels; whoever does, does it to keep a reader busy."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class Picture:
    uri: Markup
    width: int
    height: int


class NoPicture(Exception):
    """Why the bytes are not shown as a picture."""


def looks_like_picture(data: bytes) -> bool:
    return data.startswith((_PNG, _JPEG))


def picture(data: bytes) -> Picture:
    """Raises NoPicture."""
    if data.startswith(_PNG):
        kind, (width, height) = "png", _png_size(data)
    elif data.startswith(_JPEG):
        kind, (width, height) = "jpeg", _jpeg_size(data)
    else:
        raise NoPicture("its bytes are neither a PNG nor a JPEG picture")
    if not (0 < width <= _SIDE and 0 < height <= _SIDE and width * height <= PIXELS):
        raise NoPicture(f"it claims {width:,} × {height:,} pixels")
    encoded = base64.b64encode(data).decode("ascii")
    return Picture(Markup(f"data:image/{kind};base64,{encoded}"), width, height)  # noqa: S704 - base64 has no markup


def _png_size(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise NoPicture("it is a damaged PNG picture")
    at = 33
    for _ in range(_SECTIONS):
        name = data[at + 4 : at + 8]
        if name == b"IDAT":
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        if name == b"acTL":
            raise NoPicture("it is an animated PNG picture")
        if len(name) < 4:
            break
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    raise NoPicture("it is a PNG picture without any pixels")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_SECTIONS):
        if at + 9 > len(data) or data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker in _FRAMES:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 1 if marker == 0xFF else 2 if marker in _NO_LENGTH else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise NoPicture("it is a damaged JPEG picture")
