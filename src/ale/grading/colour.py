"""How different two colours look: sRGB to CIELAB (D65), and the CIEDE2000 difference.

After G. Sharma, W. Wu, E. N. Dalal, "The CIEDE2000 Color-Difference Formula: Implementation Notes, Supplementary Test
Data, and Mathematical Observations", Color Research and Application 30 (2005). A difference of about 1 is just seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
"""Linear sRGB to XYZ, IEC 61966-2-1."""

_WHITE = _XYZ.sum(axis=1)
_CUT, _SLOPE = 216 / 24389, 24389 / 27
_POWER = 25.0**7


def lab(rgb: ArrayLike) -> Floats:
    """CIELAB of sRGB colours; the last axis holds r, g, b from 0 to 255."""
    value = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    ratio = linear @ _XYZ.T / _WHITE
    x, y, z = np.moveaxis(np.where(ratio > _CUT, np.cbrt(ratio), (_SLOPE * ratio + 16) / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def difference(one: ArrayLike, other: ArrayLike) -> Floats:
    """CIEDE2000 of Lab colours (last axis L, a, b), all weights 1."""
    l1, a1, b1 = np.moveaxis(np.asarray(one, dtype=np.float64), -1, 0)
    l2, a2, b2 = np.moveaxis(np.asarray(other, dtype=np.float64), -1, 0)
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + _POWER)))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))

    grey = c1 * c2 == 0
    turn = np.where(grey, 0.0, (h2 - h1 + 180) % 360 - 180)
    turn = np.where(~grey & (h2 - h1 == 180), 180.0, turn)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    middle = np.where(grey, h1 + h2, _middle_hue(h1, h2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2

    t = (
        1
        - 0.17 * np.cos(np.radians(middle - 30))
        + 0.24 * np.cos(np.radians(2 * middle))
        + 0.32 * np.cos(np.radians(3 * middle + 6))
        - 0.20 * np.cos(np.radians(4 * middle - 63))
    )
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = hue / (1 + 0.015 * chroma * t)
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + _POWER))
    rotation = rotation * np.sin(np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2))))
    return np.asarray(np.sqrt(np.maximum(dl**2 + dc**2 + dh**2 + rotation * dc * dh, 0.0)))


def hex_of(rgb: ArrayLike) -> str:
    return "#" + "".join(f"{round(float(part)):02x}" for part in np.asarray(rgb)[:3])


def _middle_hue(h1: Floats, h2: Floats) -> Floats:
    total = h1 + h2
    across = np.where(total < 360, total + 360, total - 360)
    return np.asarray(np.where(np.abs(h1 - h2) <= 180, total, across) / 2)
