"""Make a company's logo files and a contact sheet from a vector drawing, a list and a brand guide with its errata."""

import json
from pathlib import Path

from ale.computer.paths import INPUT, OUTPUT
from ale.grading import weighted
from ale.task import Task

HERE = Path(__file__).parent

VARIANTS = [
    ("instance1", {"company": "Nall Rowing Club"}),
    ("instance2", {"company": "Kilnco ceramics"}),
    ("instance3", {"company": "Nova Trade"}),
]

PROMPT = """\
You are the designer who keeps the brand files of {company}. Make the logo files that are on the list, and a contact
sheet.

You find in {input}:
- brand_guide.md: which logo is in force, what its parts are, the colours, how the contact sheet is laid out. Later
  corrections in it hold against what is said above them.
- assets.csv: one line for each file (semicolons, UTF-8).
- two SVG drawings, one of which is the logo in force.

Deliver each file of the list in {output}/kit, under its name there:
- PNG or JPEG as the name says (JPEG at quality 90 or better), sRGB, exactly `width` × `height` pixels.
  Convert a size in mm or in at the line's resolution (1 in = 25.4 mm) and round to the nearest whole pixel.
- `artwork` is the whole logo (its box is the drawing's viewBox) or the symbol alone (the box that the guide gives).
- `margin` is kept free on all four sides; per cent are of the picture's shorter side, and the result is rounded to the
  nearest whole pixel. Inside it the artwork's box is as large as its proportions allow, in the centre.
- `background` fills the whole picture; transparent is alpha 0 wherever no artwork is.
- `mark` and `word` are the plain colours of the two parts, whatever colours the drawing has.

Deliver {output}/contact_sheet.png: all pictures of the list in its order, row by row from the left, on a ground of the
guide's colour, as large as the cells, the space between them and the border need. A picture that is larger than the
cell is scaled down to fit it (sides rounded to the nearest whole pixel), a smaller one keeps its size; each is in the
centre of its cell (an odd pixel goes to the right or below), and the ground shows through where it is transparent.

This machine has ImageMagick (convert), rsvg-convert and Python with Pillow.
"""


def load():
    return [
        Task(
            description=PROMPT.format(input=INPUT, output=OUTPUT, **settings),
            instance=name,
            metadata=settings,
        )
        for name, settings in VARIANTS
    ]


async def start(task, session):
    """The input files are all there is to this machine."""


async def solve(task, session):
    await session.write_file("/home/agent/make_kit.py", (HERE / "scripts" / "make_kit.py").read_text("utf-8"))
    await session.run_command(["python3", "/home/agent/make_kit.py", INPUT, OUTPUT])


async def evaluate(task, session):
    plan = json.loads((task.reference_dir / "plan.json").read_text("utf-8"))
    kit = {name: (1.0, picture_score(task, name)) for name in plan["files"]}
    return weighted({"kit": (0.75, weighted(kit)), "contact_sheet.png": (0.25, sheet_score(task, plan))})


def picture_score(task, name):
    from ale.grading.appearance import Band, compare_pictures

    stem, _, kind = name.rpartition(".")
    # JPEG at quality 90 with halved colour, the default of many programs, must still have full marks.
    loose = {"colours": Band(full=4, none=14), "structure": Band(full=0.85, none=0.3)} if kind == "jpg" else {}
    # Every reference is a PNG, the JPEG files' too.
    return compare_pictures(task.output_dir / "kit" / name, task.reference_dir / "kit" / f"{stem}.png", **loose)


def sheet_score(task, plan):
    """The sheet as a whole, and what is in each cell."""
    from ale.grading.appearance import Band, compare_pictures, read_picture, read_reference, same_structure

    found, expected = (folder / "contact_sheet.png" for folder in (task.output_dir, task.reference_dir))
    # Scaled copies of scaled pictures, some of them JPEG: each program has its own filter, and small letters show it.
    structure = Band(full=0.85, none=0.3)
    whole = compare_pictures(found, expected, structure=structure, colours=Band(full=4, none=14))
    if whole.reason in ("no_output", "wrong_shape"):
        return whole
    sheet, reference = read_picture(found), read_reference(expected)
    cells = {
        name: (1.0, same_structure(sheet.region(*cell), reference.region(*cell), structure))
        for name, cell in zip(plan["files"], plan["cells"], strict=True)
    }
    return weighted({"whole": (0.5, whole), "cells": (0.5, weighted(cells))})
