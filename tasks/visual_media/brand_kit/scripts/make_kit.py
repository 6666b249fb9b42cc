"""The oracle: read the guide and the list, draw each file with rsvg-convert, lay out the sheet with ImageMagick."""

import colorsys
import csv
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

SVG = "http://www.w3.org/2000/svg"
ET.register_namespace("", SVG)


def main(source, target):
    guide = (source / "brand_guide.md").read_text(encoding="utf-8")
    with (source / "assets.csv").open(newline="", encoding="utf-8-sig") as file:
        assets = list(csv.DictReader(file, delimiter=";"))
    logo = source / current_logo(guide)
    (target / "kit").mkdir(exist_ok=True)
    for asset in assets:
        draw(asset, logo, guide, target / "kit" / asset["file"])
    contact_sheet([target / "kit" / asset["file"] for asset in assets], guide, target / "contact_sheet.png")


def current_logo(guide):
    text = " ".join(guide.split())
    for pattern in (
        r"`([\w.-]+\.svg)` *\|[^|]*\| *in force",
        r"in force is [^`]*`([\w.-]+\.svg)`",
        r"Current: `([\w.-]+\.svg)`",
    ):
        if found := re.search(pattern, text):
            return found[1]
    raise SystemExit("the guide does not say which logo is in force")


def colour(name, guide):
    """What the guide says last."""
    values = []
    for paragraph in re.split(r"\n\n|\n- ", guide):
        values += re.findall(rf"\b{name}\b[^`]{{0,80}}`([^`]+)`", paragraph)
    return parsed(values[-1])


def parsed(text):
    """A CSS colour as #rrggbb."""
    if text == "white":
        return "#ffffff"
    if text.startswith("#"):
        digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
        return f"#{digits.lower()}"
    numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
    if text.startswith("hsl"):
        parts = colorsys.hls_to_rgb(numbers[0] / 360, numbers[2] / 100, numbers[1] / 100)
    else:
        parts = [number / (100 if "%" in text else 255) for number in numbers]
    return "#" + "".join(f"{math.floor(part * 255 + 0.5):02x}" for part in parts)


def pixels(length, resolution, shorter=None):
    number, unit = length.split()
    value = Fraction(number)
    if unit == "%":
        value = value * shorter / 100
    elif unit != "px":
        value *= Fraction(resolution.split()[0])
        if unit == "mm":
            value /= Fraction("25.4")
    return math.floor(value + Fraction(1, 2))


def draw(asset, logo, guide, path):
    width, height = (pixels(asset[side], asset["resolution"]) for side in ("width", "height"))
    margin = pixels(asset["margin"], asset["resolution"], min(width, height))
    drawing = ET.parse(logo).getroot()
    box = [float(number) for number in drawing.get("viewBox").split()]
    if asset["artwork"] == "symbol":
        box[2] = box[3]
    page = ET.Element(f"{{{SVG}}}svg", {"width": str(width), "height": str(height)})
    if asset["background"] != "transparent":
        fill = colour(asset["background"], guide)
        ET.SubElement(page, f"{{{SVG}}}rect", {"width": "100%", "height": "100%", "fill": fill})
    place = {"x": margin, "y": margin, "width": width - 2 * margin, "height": height - 2 * margin}
    place = {name: str(value) for name, value in place.items()} | {"viewBox": " ".join(map(str, box))}
    inner = ET.SubElement(page, f"{{{SVG}}}svg", place | {"overflow": "hidden"})
    for part in ("mark", "word"):
        if not asset[part]:
            continue
        group = drawing.find(f".//{{{SVG}}}g[@id='{part}']")
        for element in group.iter():
            for name in ("fill", "style", "class"):
                element.attrib.pop(name, None)
        group.set("fill", colour(asset[part], guide))
        inner.append(group)
    with tempfile.TemporaryDirectory() as scratch:
        svg, png = Path(scratch, "page.svg"), Path(scratch, "page.png")
        ET.ElementTree(page).write(svg)
        subprocess.run(["rsvg-convert", svg, "-o", png], check=True)
        if path.suffix == ".jpg":
            subprocess.run(["convert", png, "-quality", "95", "-sampling-factor", "4:4:4", path], check=True)
        else:
            path.write_bytes(png.read_bytes())


def contact_sheet(pictures, guide, path):
    text = next(
        part
        for part in re.split(r"\n\n", guide.replace("## Contact sheet\n\n", "Contact sheet. "))
        if "ontact sheet" in part
    )
    columns = int(re.search(r"(\d+) columns", text)[1])
    cell = [int(side) for side in re.search(r"(\d+)(?: px wide and | × )(\d+)", text).groups()]
    gap = int(re.search(r"gap (\d+) px|(\d+) px between", text).expand(r"\1\2"))
    border = int(re.search(r"(\d+) px around", text)[1])
    ground = colour(re.search(r"(\w+)\W*$", text)[1], guide)
    rows = -(-len(pictures) // columns)
    size = [2 * border + n * side + (n - 1) * gap for n, side in zip((columns, rows), cell, strict=True)]
    command = ["convert", "-size", f"{size[0]}x{size[1]}", f"xc:{ground}"]
    for number, picture in enumerate(pictures):
        answer = subprocess.run(["identify", "-format", "%w %h", picture], check=True, capture_output=True, text=True)
        width, height = map(int, answer.stdout.split())
        scale = min(Fraction(1), Fraction(cell[0], width), Fraction(cell[1], height))
        width, height = (math.floor(side * scale + Fraction(1, 2)) for side in (width, height))
        left = border + number % columns * (cell[0] + gap) + (cell[0] - width) // 2
        top = border + number // columns * (cell[1] + gap) + (cell[1] - height) // 2
        command += ["(", picture, "-resize", f"{width}x{height}!", ")", "-geometry", f"+{left}+{top}", "-composite"]
    subprocess.run([*command, path], check=True)


main(Path(sys.argv[1]), Path(sys.argv[2]))
