"""Grade a delivered picture by what it looks like: size, transparency, colours and structure, each with its reason.

Needs Pillow and numpy (`agents-last-exam[grading]`); the other artifact modes do without them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ale.errors import GraderError
from ale.grading.compose import gate, weighted
from ale.score import Score

try:
    import numpy as np
    from PIL import Image

    from ale.grading.colour import difference, hex_of, lab
    from ale.grading.picture import Picture, PictureError, PictureLimits, read_picture
except ModuleNotFoundError as missing:
    raise GraderError(
        f"grading pictures needs {missing.name}: pip install 'agents-last-exam[grading]' where ale is installed"
    ) from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ale.grading.colour import Floats

__all__ = [
    "Band",
    "Picture",
    "PictureError",
    "PictureLimits",
    "compare_pictures",
    "read_picture",
    "read_reference",
    "same_colours",
    "same_drawing",
    "same_size",
    "same_structure",
    "same_transparency",
]

WEIGHTS: Mapping[str, float] = {"size": 0.2, "transparency": 0.2, "colours": 0.3, "structure": 0.3}


@dataclass(frozen=True)
class Band:
    """How a measure becomes a value: `full` and better is 1, `none` and worse is 0, straight between."""

    full: float
    none: float

    def value(self, measure: float) -> float:
        return min(1.0, max(0.0, (measure - self.none) / (self.full - self.none)))


TRANSPARENCY = Band(full=0.92, none=0.5)
COLOURS = Band(full=2.0, none=12.0)
"""CIEDE2000: 2 is a difference that one sees side by side, 12 is another colour."""

STRUCTURE = Band(full=0.9, none=0.3)
"""SSIM. Two good renderers of one drawing agree to about 0.95 where there are edges; chance is about 0.1."""

DRAWING = Band(full=0.4, none=0.2)
"""SSIM of drawings laid on each other: the same one has 0.3 or more whatever its size, another one 0.15 or less."""

_STRAY = 0.03
"""The share of an area that may be off: renderers and JPEG disagree about the pixels beside an edge."""

_AREAS = 12
_SAMPLE = 20_000
"""Pixels of one area that are compared, evenly spaced."""


def compare_pictures(
    found: Path,
    expected: Path,
    *,
    weights: Mapping[str, float] = WEIGHTS,
    colours: Band = COLOURS,
    structure: Band = STRUCTURE,
    transparency: Band = TRANSPARENCY,
    drawing: Band = DRAWING,
    limits: PictureLimits | None = None,
) -> Score:
    """Size, transparency, colours and structure together; 0 when it is another drawing, or none: a blank canvas of the
    right size is no picture. One of another size is stretched before the rest is compared.

    Whatever `found` is, the answer is a Score. Raises GraderError if `expected` itself is unusable.
    """
    wanted = read_reference(expected)
    try:
        given = read_picture(found, limits)
    except FileNotFoundError:
        return Score(0.0, "no_output", sentence=f"{found.name} was not delivered")
    except PictureError as error:
        return Score(0.0, "wrong_shape", sentence=str(error))
    fitted = given.scaled(wanted.size)
    checks = {
        "size": same_size(given, wanted),
        "transparency": same_transparency(fitted, wanted, transparency),
        "colours": same_colours(fitted, wanted, colours),
        "structure": same_structure(fitted, wanted, structure),
    }
    total = weighted({name: (weights[name], score) for name, score in checks.items() if name in weights})
    if checks["structure"].value > 0:
        return total
    # Something in the wrong place has no structure in common either, but it is the same drawing.
    same = same_drawing(given, wanted, drawing)
    return total if same.value > 0 else gate({"shows what is expected": same}, total)


def read_reference(path: Path) -> Picture:
    """Raises GraderError: a reference that can't be read is never the agent's fault."""
    try:
        return read_picture(path)
    except (OSError, PictureError) as error:
        raise GraderError(f"the reference picture {path} can't be used: {error}") from None


def same_size(found: Picture, expected: Picture, tolerance: int = 0) -> Score:
    """1 or 0: both sides may differ by `tolerance` pixels."""
    right = all(abs(one - other) <= tolerance for one, other in zip(found.size, expected.size, strict=True))
    within = f" ± {tolerance}" if tolerance else ""
    shown, wanted = (f"{width} × {height}" for width, height in (found.size, expected.size))
    return Score(
        float(right),
        details={"found": found.size, "expected": expected.size, "tolerance": tolerance},
        sentence=f"found {shown} pixels, expected {wanted}{within}",
    )


def same_transparency(found: Picture, expected: Picture, band: Band = TRANSPARENCY) -> Score:
    """How far the covered parts agree (and the uncovered ones, where both exist): what both cover by what either
    covers, alpha counted as it is."""
    given, wanted = found.scaled(expected.size).alpha, expected.alpha
    measures = []
    for one, other in ((given, wanted), (1 - given, 1 - wanted)):
        if other.mean() > 0.01:  # a sliver would make the whole hang on a few pixels
            measures.append(float(np.minimum(one, other).sum() / np.maximum(one, other).sum()))
    measure = min(measures)
    return Score(
        band.value(measure),
        details={"found": measure, "expected": 1.0, "tolerance": band.full},
        sentence=(
            f"{given.mean():.1%} of the picture is covered, expected {wanted.mean():.1%}; "
            f"coverage agrees to {measure:.2f}, expected {band.full:g} or more"
        ),
    )


def same_colours(found: Picture, expected: Picture, band: Band = COLOURS) -> Score:
    """CIEDE2000 in each plain area of the expected picture, all areas alike; over all that is visible when it has no
    plain ones. Pixels that are see-through where they should not be count as wrong."""
    given = found.scaled(expected.size).rgba
    parts = {name: (1.0, _area(name, given[mask], expected.rgba[mask], band)) for name, mask in _areas(expected)}
    return weighted(parts) if parts else Score(1.0, sentence="nothing is visible, and nothing is expected to be")


def same_drawing(found: Picture, expected: Picture, band: Band = DRAWING) -> Score:
    """Whether it is the same drawing, wherever it stands, however large, in whatever colours: SSIM of what differs from
    the ground, moved and stretched so that its middle and its spread are the expected one's."""
    given, wanted = _ink(_shrunk(found, expected.size)), _ink(expected)
    if given is None or wanted is None:
        sentence = "nothing is drawn" if given is None else "something is drawn"
        return Score(
            float(given is wanted), sentence=f"{sentence}, expected {'nothing' if wanted is None else 'a drawing'}"
        )
    measure = _ssim(_aligned(given, wanted), wanted)
    return Score(
        band.value(measure),
        details={"found": measure, "expected": 1.0, "tolerance": band.full},
        sentence=f"the drawing by itself is similar to {measure:.3f}, expected {band.full:g} or more",
    )


def same_structure(found: Picture, expected: Picture, band: Band = STRUCTURE) -> Score:
    """SSIM (Wang et al., 2004) over the windows in which either picture has structure: plain surroundings, which any
    blank canvas shares, don't count. Transparent pictures are seen on black and on white, and the worse one counts."""
    given = found.scaled(expected.size)
    opaque = bool((given.rgba[..., 3] == 255).all() and (expected.rgba[..., 3] == 255).all())
    measure = min(_ssim(given.over(grey), expected.over(grey)) for grey in ((255,) if opaque else (0, 255)))
    return Score(
        band.value(measure),
        details={"found": measure, "expected": 1.0, "tolerance": band.full},
        sentence=f"structural similarity {measure:.3f}, expected {band.full:g} or more",
    )


def _areas(picture: Picture) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The largest areas of one opaque colour, without their edges."""
    packed = picture.rgba.astype(np.uint32) @ np.array([1 << 24, 1 << 16, 1 << 8, 1], dtype=np.uint32)
    inner = np.zeros(packed.shape, dtype=bool)
    centre = packed[1:-1, 1:-1]
    same = (centre & 0xFF) == 0xFF
    for down in (0, 1, 2):
        for right in (0, 1, 2):
            same &= packed[down : down + centre.shape[0], right : right + centre.shape[1]] == centre
    inner[1:-1, 1:-1] = same
    colours, counts = np.unique(packed[inner], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_AREAS]
    large = [index for index in order if counts[index] >= max(4, packed.size // 10_000)]
    for index in large:
        code = int(colours[index])
        yield hex_of([code >> 24, code >> 16 & 0xFF, code >> 8 & 0xFF]), inner & (packed == code)
    visible = picture.rgba[..., 3] >= 128
    if not large and visible.any():
        yield "all colours", visible


def _area(name: str, found: NDArray[np.uint8], expected: NDArray[np.uint8], band: Band) -> Score:
    step = -(-len(expected) // _SAMPLE)
    found, expected = found[::step], expected[::step]
    apart = difference(lab(found[:, :3]), lab(expected[:, :3]))
    solid = found[:, 3] >= 128
    values = np.where(solid, np.clip((band.none - apart) / (band.none - band.full), 0, 1), 0.0)
    middle = float(np.median(apart[solid])) if solid.any() else None
    shown = hex_of(np.median(found[solid], axis=0)) if solid.any() else "nothing"
    details: dict[str, Any] = {"where": name, "found": shown, "expected": name, "tolerance": band.full}
    return Score(
        min(1.0, float(values.mean()) / (1 - _STRAY)),
        details=details | {"difference": middle},
        sentence=(
            f"found {shown}"
            + (f" (ΔE {middle:.1f})" if middle is not None else "")
            + f", expected {name} within ΔE {band.full:g}; {(values > 0.99).mean():.0%} of the area is right"
        ),
    )


def _shrunk(picture: Picture, size: tuple[int, int]) -> Picture:
    """Sixteen times the pixels that are expected show no more, and cost memory."""
    factor = math.sqrt(16 * size[0] * size[1] / (picture.size[0] * picture.size[1]))
    if factor >= 1:
        return picture
    return picture.scaled((max(1, int(picture.size[0] * factor)), max(1, int(picture.size[1] * factor))))


def _ink(picture: Picture) -> Floats | None:
    """How much each pixel differs from the ground, which is what most of the border is made of: from 0 to 255, what a
    JPEG leaves around an edge is 0 and strong colours are all alike. None when nothing differs."""
    layers = np.concatenate([picture.over(0), picture.alpha[..., None] * 255], axis=2)
    border = np.concatenate([layers[0], layers[-1], layers[:, 0], layers[:, -1]])
    apart = np.abs(layers - np.median(border, axis=0)).max(axis=2)
    strong = min(float(apart.max()), 160.0)
    if strong < 8:
        return None
    return np.asarray(np.clip((apart - 0.3 * strong) / (0.5 * strong), 0, 1) * 255)


def _aligned(given: Floats, wanted: Floats) -> Floats:
    """`given` on the canvas of `wanted`, by the means and standard deviations of where the ink is: a box around it
    would hang on single pixels."""
    one, other = _placement(given), _placement(wanted)
    if one == other and given.shape == wanted.shape:
        return given
    (x1, sx1, y1, sy1), (x2, sx2, y2, sy2) = one, other
    stretch_x, stretch_y = sx1 / sx2, sy1 / sy2
    image = Image.fromarray(given.astype(np.float32))
    if max(stretch_x, stretch_y) > 2:  # sampling what is much larger would skip pixels
        smaller = [
            max(1, round(side / max(1, by))) for side, by in zip(image.size, (stretch_x, stretch_y), strict=True)
        ]
        return _aligned(
            np.asarray(image.resize((smaller[0], smaller[1]), Image.Resampling.BOX), dtype=np.float64), wanted
        )
    # Pillow counts from the pixels' corners, the means from their middles.
    affine = (stretch_x, 0, x1 + 0.5 - (x2 + 0.5) * stretch_x, 0, stretch_y, y1 + 0.5 - (y2 + 0.5) * stretch_y)
    moved = image.transform(wanted.shape[::-1], Image.Transform.AFFINE, affine, Image.Resampling.BICUBIC)
    return np.clip(np.asarray(moved, dtype=np.float64), 0, 255)


def _placement(ink: Floats) -> tuple[float, float, float, float]:
    """Mean and standard deviation along both sides."""
    found: list[float] = []
    for axis in (0, 1):
        weights = ink.sum(axis=axis)
        places = np.arange(len(weights))
        middle = float((weights * places).sum() / weights.sum())
        spread = float(np.sqrt((weights * (places - middle) ** 2).sum() / weights.sum()))
        found += [middle, max(spread, 0.3)]  # one row of pixels has a spread of about 0.3
    return found[0], found[1], found[2], found[3]


_RADIUS = 5
_KERNEL = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / 1.5) ** 2)
_KERNEL = _KERNEL / _KERNEL.sum()
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_PLAIN = 25.0
"""A variance below this (5 levels of 255) is no structure: the noise of a good JPEG is less."""


def _ssim(one: Floats, other: Floats) -> float:
    """The mean over the channels' windows with structure; 1 when there are none in either."""
    total, count = 0.0, 0
    for x, y in zip(*(np.moveaxis(np.atleast_3d(each), 2, 0) for each in (one, other)), strict=True):
        mean_x, mean_y = _blurred(x), _blurred(y)
        var_x, var_y = (np.maximum(_blurred(part * part) - mean * mean, 0) for part, mean in ((x, mean_x), (y, mean_y)))
        active = np.maximum(var_x, var_y) > _PLAIN
        if not active.any():
            continue
        both = _blurred(x * y) - mean_x * mean_y
        similar = (2 * mean_x * mean_y + _C1) * (2 * both + _C2)
        similar = similar / ((mean_x**2 + mean_y**2 + _C1) * (var_x + var_y + _C2))
        total += float(similar[active].sum())
        count += int(active.sum())
    return total / count if count else 1.0


def _blurred(plane: Floats) -> Floats:
    """By the Gaussian window, with the border repeated."""
    for axis in (0, 1):
        padded = np.pad(plane, [(_RADIUS, _RADIUS) if axis == each else (0, 0) for each in (0, 1)], mode="edge")
        turned, result = np.moveaxis(padded, axis, 0), np.zeros_like(np.moveaxis(plane, axis, 0))
        for shift, weight in enumerate(_KERNEL):
            result += weight * turned[shift : shift + len(result)]
        plane = np.moveaxis(result, 0, axis)
    return plane
