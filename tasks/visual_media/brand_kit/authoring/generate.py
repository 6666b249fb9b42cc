"""Make input/ and reference/ of every instance: `python generate.py` (needs numpy and Pillow).

The references are drawn here from the geometry, by counting how much of each pixel a shape covers, and not by the
renderers that an agent would use: that the oracle's pictures agree shows that both are right.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

TASK = Path(__file__).resolve().parent.parent
FINE = 6
"""Samples along each side of a pixel."""


@dataclass(frozen=True)
class Shape:
    """kind and numbers in drawing units: rect x y w h; circle x y r; ring x y outer inner; polygon x1 y1 x2 y2 …"""

    kind: str
    at: tuple[float, ...]

    def covers(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.kind == "rect":
            left, top, width, height = self.at
            return (x >= left) & (x < left + width) & (y >= top) & (y < top + height)
        if self.kind == "polygon":
            inside = np.zeros(np.broadcast(x, y).shape, dtype=bool)
            points = list(zip(self.at[::2], self.at[1::2], strict=True))
            for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1], strict=True):
                if y1 != y2:
                    crosses = (y1 > y) != (y2 > y)
                    inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
            return inside
        away = (x - self.at[0]) ** 2 + (y - self.at[1]) ** 2
        hole = self.at[3] if self.kind == "ring" else 0
        return (away < self.at[2] ** 2) & (away >= hole**2)

    def svg(self, paint: str) -> str:
        n = [f"{value:g}" for value in self.at]
        if self.kind == "rect":
            return f'<rect x="{n[0]}" y="{n[1]}" width="{n[2]}" height="{n[3]}"{paint}/>'
        if self.kind == "circle":
            return f'<circle cx="{n[0]}" cy="{n[1]}" r="{n[2]}"{paint}/>'
        if self.kind == "polygon":
            points = " ".join(f"{x},{y}" for x, y in zip(n[::2], n[1::2], strict=True))
            return f'<polygon points="{points}"{paint}/>'
        rings = ""
        for radius in self.at[2:]:
            start, end = self.at[0] - radius, self.at[0] + radius
            arc = f"A{radius:g},{radius:g} 0 1 0"
            rings += f"M{start:g},{n[1]}{arc} {end:g},{n[1]}{arc} {start:g},{n[1]}Z"
        return f'<path fill-rule="evenodd" d="{rings}"{paint}/>'


@dataclass(frozen=True)
class Logo:
    """box: width and height of the drawing; the symbol alone is its left square."""

    box: tuple[float, float]
    mark: tuple[Shape, ...]
    word: tuple[Shape, ...]


@dataclass(frozen=True)
class Asset:
    """One line of the list, and what it comes to: size and margin in pixels, colours as r, g, b or None."""

    file: str
    size: tuple[int, int]
    margin: int
    artwork: str
    background: tuple[int, int, int] | None
    mark: tuple[int, int, int]
    word: tuple[int, int, int]


@dataclass(frozen=True)
class Sheet:
    columns: int
    cell: tuple[int, int]
    gutter: int
    border: int
    background: tuple[int, int, int]


def r(*at: float) -> Shape:
    return Shape("rect", at)


def poly(*at: float) -> Shape:
    return Shape("polygon", at)


def letters(text: str, x: float, y: float, height: float) -> tuple[Shape, ...]:
    """Words of square letters on a grid of 3 × 5, so that no font is needed."""
    rows = {
        "A": "###|# #|###|# #|# #",
        "C": "###|#  |#  |#  |###",
        "D": "## |# #|# #|# #|## ",
        "E": "###|#  |## |#  |###",
        "F": "###|#  |## |#  |#  ",
        "I": "###| # | # | # |###",
        "K": "# #|# #|## |# #|# #",
        "L": "#  |#  |#  |#  |###",
        "N": "###|# #|# #|# #|# #",
        "O": "###|# #|# #|# #|###",
        "R": "###|# #|## |# #|# #",
        "T": "###| # | # | # | # ",
        "V": "# #|# #|# #|# #| # ",
    }
    unit = height / 5
    shapes: list[Shape] = []
    for place, letter in enumerate(text):
        grid = rows[letter].split("|")
        left = x + place * 4 * unit
        shapes += [r(left + a * unit, y + b * unit, n * unit, unit) for b, row in enumerate(grid) for a, n in runs(row)]
        for a in range(3):
            column = "".join(row[a] for row in grid)
            shapes += [r(left + a * unit, y + b * unit, unit, n * unit) for b, n in runs(column)]
    return tuple(shapes)


def runs(line: str) -> list[tuple[int, int]]:
    """Start and length of what is filled for two squares or more. Bars along and across overlap at the corners, so that
    no renderer shows a seam between neighbours."""
    return [(found.start(), len(found[0])) for found in re.finditer("##+", line)]


def star(x: float, y: float, outer: float, inner: float, points: int) -> Shape:
    at = []
    for step in range(2 * points):
        radius, angle = (outer, inner)[step % 2], math.pi * step / points - math.pi / 2
        at += [round(x + radius * math.cos(angle), 2), round(y + radius * math.sin(angle), 2)]
    return poly(*at)


HARBOUR = Logo(
    (400, 120),
    (
        Shape("ring", (60, 60, 56, 44)),
        poly(56, 26, 66, 26, 66, 64, 90, 64, 78, 82, 42, 82, 30, 64, 56, 64),
        r(34, 88, 52, 6),
    ),
    (*letters("NALL", 140, 20, 50), r(140, 86, 240, 10)),
)
HARBOUR_OLD = Logo(
    (400, 120),
    (Shape("circle", (60, 60, 50)),),
    letters("NAIL", 140, 30, 60),
)
KILN = Logo(
    (480, 100),
    (
        poly(10, 90, 10, 46, 50, 8, 90, 46, 90, 90, 68, 90, 68, 58, 32, 58, 32, 90),
        Shape("circle", (50, 76, 12)),
    ),
    letters("KILN", 124, 25, 50) + letters("CO", 340, 25, 50),
)
KILN_OLD = Logo(
    (480, 100),
    (poly(10, 90, 50, 10, 90, 90),),
    letters("KILN", 124, 15, 70),
)
NIGHT = Logo(
    (360, 120),
    (
        Shape("ring", (60, 60, 54, 46)),
        star(60, 60, 38, 15, 5),
    ),
    letters("NOVA", 140, 14, 40) + letters("TRADE", 140, 68, 36),
)
NIGHT_OLD = Logo(
    (360, 120),
    (star(60, 60, 54, 20, 8),),
    letters("NOVA", 140, 30, 60),
)


@dataclass(frozen=True)
class Kit:
    company: str
    current: str
    outdated: str
    logo: Logo
    old: Logo
    paint: str
    colours: dict[str, tuple[int, int, int]]
    drawn: tuple[str, str]
    guide: str
    lines: tuple[tuple[str, ...], ...]
    assets: tuple[Asset, ...]
    sheet: Sheet


HEADER = ("file", "artwork", "width", "height", "resolution", "margin", "background", "mark", "word")

NAVY, TEAL, SAND, WHITE, CORAL = (18, 43, 74), (0, 128, 128), (238, 229, 211), (255, 255, 255), (224, 93, 68)
CLAY, CHAR, CREAM, SAGE = (176, 74, 44), (51, 46, 43), (250, 243, 230), (128, 153, 115)
PLUM, GOLD, INK, MIST = (68, 26, 92), (255, 191, 0), (26, 26, 46), (221, 225, 234)

HARBOUR_GUIDE = """\
# Nall Rowing Club: brand guide

Kept by the communications group. Questions to the secretary.

## The logo

The logo in force is the one that was adopted on 11 February 2025: the boat in the ring, with the line below the name.
It is in `logo_2025-02.svg`. The file `logo_final.svg` holds the disc of 2019 and is kept for the archive; don't use it.

The drawing has two groups: `mark` (the symbol) and `word` (the name). The symbol alone is the left square of the
drawing, from 0,0 to 120,120 in its own units. The file was drawn before the colours below were settled: take every
colour from this guide, none from the file.

## Colours

| name  | value           | where                        |
|-------|-----------------|------------------------------|
| Navy  | `#122b4a`       | mark and word on light ground |
| Teal  | `rgb(0, 128, 128)` | accents                   |
| Sand  | `hsl(40, 44.3%, 88%)` | calm ground            |
| Coral | `#ff7f50`       | invitations, social media    |
| White | `#fff`          |                              |

## Contact sheet

3 columns. Cells of 200 × 120 px, 16 px between cells, 24 px around. Ground: Sand.

## Changes

- 2025-03-02: Coral was too loud in print. From now on Coral is `#e05d44`; the table will follow with the next edition.
- 2025-02-11: new logo, see above.
"""

KILN_GUIDE = """\
# Kilnco ceramics: how we look

## Which logo

| file               | what it is                                 | status                    |
|--------------------|--------------------------------------------|---------------------------|
| `kilnco_v3.svg`    | triangle, name without CO                  | withdrawn since May 2024  |
| `kilnco_v2b.svg`   | the kiln with the round door, name with CO | in force                  |

(Yes, v2b is the newer one. The numbering went wrong once.)

Groups in the drawing: `mark` is the kiln, `word` the name. The symbol alone is the left square of the drawing, 100
units wide and high. The colours in the file are those of the designer's screen; ours are these.

## Our colours

- **Clay**: `rgb(69%, 29%, 17.25%)`
- **Charcoal**: `#332e2b`
- **Cream**: `#FAF3E6`
- **Sage**: `hsl(110, 30%, 42%)`
- **White**: `white`

## Contact sheet

2 columns, cells 260 px wide and 110 px high, gap 20 px, 30 px around everything, on Cream.

## Decided since the last edition

- Sage turned out to be hard to mix. It is now `#809973`. (board, 14 January)
"""

NIGHT_GUIDE = """\
# Nova Trade: brand sheet

**Logo.** Current: `nova.svg` (star with five points in a ring, two lines of text). `nova_new.svg` was a proposal with
eight points that was turned down; someone left it in the folder.

**Parts.** Group `mark` is the ring with the star, group `word` is the text. A hidden group holds the construction lines
and is never shown. Symbol alone: the left square of the drawing (0 to 120 units both ways).

**Colours** (the values in the drawing are placeholders)

| name | sRGB | also |
|------|------|------|
| Plum | `hsl(278, 55.9%, 23.1%)` | Pantone is for print only |
| Gold | `#FFD700` | |
| Ink  | `rgb(26, 26, 46)` | |
| Mist | `#dde1ea` | |
| White | `#FFFFFF` | |

**Contact sheet.** 4 columns; cells 160 × 100 px; 12 px between cells; 20 px around; ground Ink.

**Errata.** Gold was printed with a wrong value above. Gold is `#ffbf00`.
"""


def kits() -> dict[str, Kit]:
    return {
        "instance1": Kit(
            company="Nall Rowing Club",
            current="logo_2025-02.svg",
            outdated="logo_final.svg",
            logo=HARBOUR,
            old=HARBOUR_OLD,
            paint="group",
            colours={"Navy": NAVY, "Teal": TEAL, "Sand": SAND, "White": WHITE, "Coral": CORAL},
            drawn=("#1f4e79", "#333"),
            guide=HARBOUR_GUIDE,
            lines=(
                ("badge.png", "symbol", "64 px", "64 px", "", "8 px", "transparent", "Navy", ""),
                ("header.png", "logo", "600 px", "200 px", "", "10 %", "Sand", "Navy", "Navy"),
                ("letterhead.png", "logo", "2.5 in", "1 in", "200 dpi", "0.1 in", "transparent", "Teal", "Navy"),
                ("invitation.jpg", "logo", "640 px", "320 px", "", "40 px", "Coral", "White", "White"),
                ("flag.png", "symbol", "240 px", "160 px", "", "12.5 %", "Navy", "White", ""),
                ("mono_white.png", "logo", "60 mm", "25 mm", "150 dpi", "3 mm", "transparent", "White", "White"),
            ),
            assets=(
                Asset("badge.png", (64, 64), 8, "symbol", None, NAVY, NAVY),
                Asset("header.png", (600, 200), 20, "logo", SAND, NAVY, NAVY),
                Asset("letterhead.png", (500, 200), 20, "logo", None, TEAL, NAVY),
                Asset("invitation.jpg", (640, 320), 40, "logo", CORAL, WHITE, WHITE),
                Asset("flag.png", (240, 160), 20, "symbol", NAVY, WHITE, WHITE),
                Asset("mono_white.png", (354, 148), 18, "logo", None, WHITE, WHITE),
            ),
            sheet=Sheet(3, (200, 120), 16, 24, SAND),
        ),
        "instance2": Kit(
            company="Kilnco ceramics",
            current="kilnco_v2b.svg",
            outdated="kilnco_v3.svg",
            logo=KILN,
            old=KILN_OLD,
            paint="class",
            colours={"Clay": CLAY, "Charcoal": CHAR, "Cream": CREAM, "Sage": SAGE, "White": WHITE},
            drawn=("#c1440e", "#222222"),
            guide=KILN_GUIDE,
            lines=(
                ("stamp.png", "symbol", "20 mm", "20 mm", "127 dpi", "10 %", "transparent", "Charcoal", ""),
                ("web_header.png", "logo", "560 px", "140 px", "", "20 px", "Cream", "Clay", "Charcoal"),
                ("web_header_dark.png", "logo", "560 px", "140 px", "", "20 px", "Charcoal", "Clay", "Cream"),
                ("sticker.png", "logo", "3 in", "1.25 in", "160 dpi", "0.125 in", "Sage", "White", "White"),
                ("market_banner.jpg", "logo", "600 px", "240 px", "", "15 %", "Clay", "Cream", "White"),
            ),
            assets=(
                Asset("stamp.png", (100, 100), 10, "symbol", None, CHAR, CHAR),
                Asset("web_header.png", (560, 140), 20, "logo", CREAM, CLAY, CHAR),
                Asset("web_header_dark.png", (560, 140), 20, "logo", CHAR, CLAY, CREAM),
                Asset("sticker.png", (480, 200), 20, "logo", SAGE, WHITE, WHITE),
                Asset("market_banner.jpg", (600, 240), 36, "logo", CLAY, CREAM, WHITE),
            ),
            sheet=Sheet(2, (260, 110), 20, 30, CREAM),
        ),
        "instance3": Kit(
            company="Nova Trade",
            current="nova.svg",
            outdated="nova_new.svg",
            logo=NIGHT,
            old=NIGHT_OLD,
            paint="style",
            colours={"Plum": PLUM, "Gold": GOLD, "Ink": INK, "Mist": MIST, "White": WHITE},
            drawn=("rgb(128,0,128)", "black"),
            guide=NIGHT_GUIDE,
            lines=(
                ("app_icon.png", "symbol", "128 px", "128 px", "", "12.5 %", "Plum", "Gold", ""),
                ("favicon.png", "symbol", "48 px", "48 px", "", "0 px", "transparent", "Plum", ""),
                ("on_light.png", "logo", "480 px", "200 px", "", "20 px", "Mist", "Plum", "Ink"),
                ("on_dark.png", "logo", "480 px", "200 px", "", "20 px", "Ink", "Gold", "White"),
                ("ticket.png", "logo", "50.8 mm", "25.4 mm", "180 dpi", "2.54 mm", "Gold", "Ink", "Ink"),
                ("poster.jpg", "logo", "5 in", "3 in", "120 dpi", "12.5 %", "Plum", "Gold", "Mist"),
                ("watermark.png", "logo", "300 px", "120 px", "", "5 %", "transparent", "Mist", "Mist"),
            ),
            assets=(
                Asset("app_icon.png", (128, 128), 16, "symbol", PLUM, GOLD, GOLD),
                Asset("favicon.png", (48, 48), 0, "symbol", None, PLUM, PLUM),
                Asset("on_light.png", (480, 200), 20, "logo", MIST, PLUM, INK),
                Asset("on_dark.png", (480, 200), 20, "logo", INK, GOLD, WHITE),
                Asset("ticket.png", (360, 180), 18, "logo", GOLD, INK, INK),
                Asset("poster.jpg", (600, 360), 45, "logo", PLUM, GOLD, MIST),
                Asset("watermark.png", (300, 120), 6, "logo", None, MIST, MIST),
            ),
            sheet=Sheet(4, (160, 100), 12, 20, INK),
        ),
    }


def main() -> None:
    for name, kit in kits().items():
        source = TASK / "input" / name
        source.mkdir(parents=True, exist_ok=True)
        (source / kit.current).write_text(drawing(kit.logo, kit), encoding="utf-8")
        (source / kit.outdated).write_text(drawing(kit.old, kit), encoding="utf-8")
        (source / "brand_guide.md").write_text(kit.guide, encoding="utf-8")
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\r\n").writerows([HEADER, *kit.lines])
        (source / "assets.csv").write_bytes(text.getvalue().encode("utf-8-sig"))

        target = TASK / "reference" / name
        (target / "kit").mkdir(parents=True, exist_ok=True)
        for asset in kit.assets:
            save(render(kit.logo, asset), target / "kit" / f"{asset.file.rpartition('.')[0]}.png")
        save(contact_sheet(kit.logo, kit.assets, kit.sheet), target / "contact_sheet.png")
        plan = {
            "files": [asset.file for asset in kit.assets],
            "cells": cells(len(kit.assets), kit.sheet),
        }
        (target / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def drawing(logo: Logo, kit: Kit) -> str:
    """The SVG as some program would have saved it: colours on groups, in classes, or in each shape's style."""
    width, height = logo.box
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    if kit.paint == "group":
        lines += [f'{head} width="{width:g}" height="{height:g}">', f"  <title>{kit.company}</title>"]
    elif kit.paint == "class":
        lines += [f"{head}>", '  <style type="text/css">']
        lines += [f"    .st{index}{{fill:{colour};}}" for index, colour in enumerate(kit.drawn)]
        lines += ["  </style>"]
    else:
        lines += [f'{head} width="95.25mm" height="31.75mm">', "  <metadata>saved by hand</metadata>"]
        lines += [
            '  <g id="guides" style="display:none">',
            f'    <rect width="{height:g}" height="{height:g}"/>',
            "  </g>",
        ]
    for index, (group, shapes) in enumerate((("mark", logo.mark), ("word", logo.word))):
        colour = kit.drawn[index]
        lines.append(f'  <g id="{group}"' + (f' fill="{colour}">' if kit.paint == "group" else ">"))
        paint = {"group": "", "class": f' class="st{index}"', "style": f' style="fill:{colour};stroke:none"'}[kit.paint]
        lines += [f"    {shape.svg(paint)}" for shape in shapes]
        lines.append("  </g>")
    return "\n".join([*lines, "</svg>", ""])


def render(logo: Logo, asset: Asset, size: tuple[int, int] | None = None) -> np.ndarray:
    """r, g, b, alpha from 0 to 1, not multiplied. size: the picture stretched to so many pixels."""
    width, height = size or asset.size
    x = (np.arange(width * FINE) + 0.5)[None, :] / FINE * asset.size[0] / width
    y = (np.arange(height * FINE) + 0.5)[:, None] / FINE * asset.size[1] / height
    box = (logo.box[1], logo.box[1]) if asset.artwork == "symbol" else logo.box
    room = [side - 2 * asset.margin for side in asset.size]
    scale = min(room[0] / box[0], room[1] / box[1])
    x = (x - (asset.size[0] - box[0] * scale) / 2) / scale
    y = (y - (asset.size[1] - box[1] * scale) / 2) / scale
    colour = np.zeros((height, width, 3))
    alpha = np.zeros((height, width, 1))
    if asset.background is not None:
        colour[:], alpha[:] = asset.background, 1
    parts = [(logo.mark, asset.mark)] + ([(logo.word, asset.word)] if asset.artwork == "logo" else [])
    for shapes, paint in parts:
        fine = np.zeros((height * FINE, width * FINE), dtype=bool)
        for shape in shapes:
            fine |= shape.covers(x, y)
        cover = fine.reshape(height, FINE, width, FINE).mean(axis=(1, 3))[..., None]
        colour = np.array(paint) * cover + colour * (1 - cover)
        alpha = cover + alpha * (1 - cover)
    plain = np.divide(colour, alpha, out=np.zeros_like(colour), where=alpha > 0)
    return np.concatenate([plain / 255, alpha], axis=2)


def cells(count: int, sheet: Sheet) -> list[tuple[int, int, int, int]]:
    """left, top, width, height of each picture's cell."""
    return [
        (
            sheet.border + (place % sheet.columns) * (sheet.cell[0] + sheet.gutter),
            sheet.border + (place // sheet.columns) * (sheet.cell[1] + sheet.gutter),
            *sheet.cell,
        )
        for place in range(count)
    ]


def contact_sheet(logo: Logo, assets: tuple[Asset, ...], sheet: Sheet) -> np.ndarray:
    rows = -(-len(assets) // sheet.columns)
    width, height = (
        2 * sheet.border + count * side + (count - 1) * sheet.gutter
        for count, side in zip((sheet.columns, rows), sheet.cell, strict=True)
    )
    page = np.ones((height, width, 4))
    page[..., :3] = np.array(sheet.background) / 255
    for asset, (left, top, *_) in zip(assets, cells(len(assets), sheet), strict=True):
        scale = min(1, sheet.cell[0] / asset.size[0], sheet.cell[1] / asset.size[1])
        size = (math.floor(asset.size[0] * scale + 0.5), math.floor(asset.size[1] * scale + 0.5))
        picture = render(logo, asset, size)
        x, y = left + (sheet.cell[0] - size[0]) // 2, top + (sheet.cell[1] - size[1]) // 2
        place = page[y : y + size[1], x : x + size[0], :3]
        place[:] = picture[..., :3] * picture[..., 3:] + place * (1 - picture[..., 3:])
    return page


def image(picture: np.ndarray) -> Image.Image:
    return Image.fromarray(np.floor(picture * 255 + 0.5).astype(np.uint8), "RGBA")


def save(picture: np.ndarray, path: Path) -> None:
    image(picture).save(path, optimize=True)


if __name__ == "__main__":
    main()
