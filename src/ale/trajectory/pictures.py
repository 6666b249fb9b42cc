"""Pictures of steps, kept as files of the run folder."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path

from ale.trajectory.transcript import BLOBS

SCREENSHOTS = "traj/screenshots"

_KINDS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


class Gallery:
    """Writes step_N.png (step_N_2.png and so on when a step has several; .jpg, .gif, .webp as the bytes are)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count: dict[int, int] = {}

    def keep(self, step: int, picture: str | bytes) -> str | None:
        """The path of the kept picture, relative to the run folder, or None if it is none (a link, damaged data)."""
        data = picture if isinstance(picture, bytes) else _decode(picture)
        kind = next((kind for start, kind in _KINDS if data is not None and data.startswith(start)), None)
        if data is None or kind is None:
            return None
        number = self._count[step] = self._count.get(step, 0) + 1
        name = f"{SCREENSHOTS}/step_{step}{'' if number == 1 else f'_{number}'}.{kind}"
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        blob = self._folder / BLOBS / hashlib.sha256(data).hexdigest()
        try:
            os.link(blob, path)
        except OSError:  # there is no such blob, or no links on this file system
            path.write_bytes(data)
        return name


def _decode(picture: str) -> bytes | None:
    encoded = picture.partition(";base64,")[2] if picture.startswith("data:") else picture
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
