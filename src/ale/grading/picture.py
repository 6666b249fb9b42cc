"""Read a delivered picture that may be anything: bounded, and unreadable is an answer, not a crash."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ale.grading.colour import Floats
from ale.text import one_line

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
"""What a name promises. Pillow has decoders for forty formats; only these ever see what an agent delivered."""


class PictureError(Exception):
    """The file is no such picture; the message is one sentence about what was found."""


@dataclass(frozen=True)
class PictureLimits:
    bytes: int = 32 * 2**20
    pixels: int = 16_000_000
    side: int = 16_384


@dataclass(frozen=True)
class Picture:
    """rgba: height × width × 4, 8 bits a channel, alpha not multiplied in; the pixels as they are stored, read as sRGB
    (embedded profiles and orientation marks are ignored)."""

    name: str
    rgba: NDArray[np.uint8]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        height, width = self.rgba.shape[:2]
        return width, height

    @property
    def alpha(self) -> Floats:
        """Coverage from 0 to 1."""
        return np.asarray(self.rgba[..., 3] / 255.0)

    def over(self, backdrop: int) -> Floats:
        """r, g, b from 0 to 255 on an opaque grey of this level."""
        alpha = self.alpha[..., None]
        return np.asarray(self.rgba[..., :3] * alpha + backdrop * (1 - alpha))

    def scaled(self, size: tuple[int, int]) -> Picture:
        """The same picture stretched to `size`; itself when it has that size."""
        if size == self.size:
            return self
        image = Image.fromarray(self.rgba, "RGBA").resize(size, Image.Resampling.BICUBIC)
        return Picture(self.name, np.asarray(image))

    def region(self, left: int, top: int, width: int, height: int) -> Picture:
        """A part; what lies outside the picture is transparent."""
        part = np.zeros((height, width, 4), dtype=np.uint8)
        inside = self.rgba[max(top, 0) : top + height, max(left, 0) : left + width]
        part[max(-top, 0) :, max(-left, 0) :][: inside.shape[0], : inside.shape[1]] = inside
        return Picture(self.name, part)


def read_picture(path: Path, limits: PictureLimits | None = None) -> Picture:
    """A PNG or JPEG file, as its name says. Size and form are known and within the limits before a pixel is decoded.

    Raises PictureError; FileNotFoundError when there is no such file.
    """
    limits = limits or PictureLimits()
    wanted = _FORMATS.get(path.suffix.lower())
    if wanted is None:
        raise PictureError(f"{path.name} is not named as a PNG or JPEG file")
    content = _content(path, limits)
    kind = _kind(content)
    if kind != wanted:
        raise PictureError(f"{path.name} is {f'a {kind}' if kind else 'no'} picture file, expected {wanted}")
    try:
        image = Image.open(io.BytesIO(content), formats=[wanted])
        width, height = image.size
        if width * height > limits.pixels or max(width, height) > limits.side:
            raise PictureError(f"{path.name} has {width} × {height} pixels; pictures are read up to {limits.pixels}")
        if getattr(image, "n_frames", 1) > 1:
            raise PictureError(f"{path.name} is an animation, expected one picture")
        image.verify()  # checksums; the file has to be opened again after it
        image = Image.open(io.BytesIO(content), formats=[wanted])
        image.load()
        return Picture(path.name, _rgba(image))
    except PictureError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: hostile bytes make decoders fail in any way
        raise PictureError(f"{path.name} is a broken {wanted} file: {_words(error)}") from None


def _content(path: Path, limits: PictureLimits) -> bytes:
    if path.is_dir():
        raise PictureError(f"{path.name} is a directory")
    size = path.stat().st_size
    if size == 0:
        raise PictureError(f"{path.name} is empty")
    if size > limits.bytes:
        raise PictureError(f"{path.name} has {size / 2**20:.0f} MB; pictures are read up to {limits.bytes // 2**20} MB")
    return path.read_bytes()


def _kind(content: bytes) -> str | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    return "JPEG" if content.startswith(b"\xff\xd8\xff") else None


def _rgba(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow's own conversion clips at 255
        grey = np.clip(np.asarray(image).astype(np.float64) / 257, 0, 255).round().astype(np.uint8)
        return np.dstack([grey, grey, grey, np.full_like(grey, 255)])
    return np.asarray(image.convert("RGBA"))


def _words(error: Exception) -> str:
    return one_line(str(error), 200) or type(error).__name__
