"""Files that are made to hurt whoever looks at them are a 0 with a sentence, within bounded memory."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ale.grading.appearance import Picture, PictureError, PictureLimits, compare_pictures, read_picture

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int, depth: int = 8, colour: int = 6) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def encoded(kind: str = "PNG", **options: object) -> bytes:
    raw = io.BytesIO()
    image = Image.effect_mandelbrot((40, 30), (-2, -1, 1, 1), 20).convert("RGB")
    image.save(raw, kind, **options)  # type: ignore[arg-type]
    return raw.getvalue()


def bomb(width: int, height: int) -> bytes:
    """Few bytes that promise, and keep, many pixels."""
    rows = zlib.compress(b"\0" * (width // 8 + 1) * height, 9)
    return SIGNATURE + header(width, height, 1, 0) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def animation() -> bytes:
    raw = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]
    frames[0].save(raw, "PNG", save_all=True, append_images=frames[1:])
    return raw.getvalue()


def text_bomb() -> bytes:
    return encoded()[:33] + chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * 80_000_000, 9)) + encoded()[33:]


def profile_bomb() -> bytes:
    return encoded()[:33] + chunk(b"iCCP", b"a\0\0" + zlib.compress(b"x" * 80_000_000, 9)) + encoded()[33:]


HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "empty": ("a.png", lambda: b"", "is empty"),
    "text": ("a.png", lambda: b"not a picture", "no picture file"),
    "svg": ("a.png", lambda: b'<svg xmlns="http://www.w3.org/2000/svg"/>', "no picture file"),
    "postscript": ("a.png", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n(/etc/passwd) run", "no picture file"),
    "gif": ("a.png", lambda: encoded("GIF"), "no picture file"),
    "jpeg named png": ("a.png", lambda: encoded("JPEG"), "is a JPEG picture file, expected PNG"),
    "png named jpeg": ("a.jpg", lambda: encoded("PNG"), "is a PNG picture file, expected JPEG"),
    "another name": ("a.tiff", lambda: encoded("TIFF"), "not named as a PNG or JPEG"),
    "signature only": ("a.png", lambda: SIGNATURE, "broken PNG"),
    "cut short": ("a.png", lambda: encoded()[:-400], "broken PNG"),
    "jpeg cut short": ("a.jpg", lambda: encoded("JPEG")[:-400], "broken JPEG"),
    "wrong checksum": ("a.png", lambda: encoded()[:60] + b"\xff" + encoded()[61:], "broken PNG"),
    "no pixels at all": ("a.png", lambda: SIGNATURE + header(0, 0) + chunk(b"IEND", b""), "broken PNG"),
    "promises more than it has": (
        "a.png",
        lambda: SIGNATURE + header(4000, 4000) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b""),
        "broken PNG",
    ),
    "bomb": ("a.png", lambda: bomb(8_000, 8_000), "pictures are read up to"),
    "huge bomb": ("a.png", lambda: SIGNATURE + header(2**31 - 1, 2**31 - 1), "a.png"),
    "a very long line": ("a.png", lambda: bomb(400_000, 4), "pictures are read up to"),
    "huge jpeg": (
        "a.jpg",
        lambda: encoded("JPEG").replace(struct.pack(">HH", 30, 40), struct.pack(">HH", 65_500, 65_500), 1),
        "a.jpg",
    ),
    "animation": ("a.png", animation, "is an animation"),
    "text bomb": ("a.png", text_bomb, "broken PNG"),
    "profile bomb": ("a.png", profile_bomb, "broken PNG"),
    "endless chunk": ("a.png", lambda: SIGNATURE + header(4, 4) + b"\x7f\xff\xff\xffIDAT", "broken PNG"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_0_with_a_sentence(name: str, tmp_path: Path) -> None:
    file, content, sentence = HOSTILE[name]
    found, expected = tmp_path / file, tmp_path / "expected.png"
    found.write_bytes(content())
    expected.write_bytes(encoded())
    score = compare_pictures(found, expected)
    assert (score.value, score.reason) == (0.0, "wrong_shape")
    assert sentence in score.sentence
    assert "\n" not in score.sentence
    assert len(score.sentence) < 400


def test_what_is_no_file_is_a_0_too(tmp_path: Path) -> None:
    expected = tmp_path / "expected.png"
    expected.write_bytes(encoded())
    assert compare_pictures(tmp_path / "missing.png", expected).reason == "no_output"
    (tmp_path / "folder.png").mkdir()
    assert compare_pictures(tmp_path / "folder.png", expected).reason == "wrong_shape"


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(PictureError, match="pictures are read up to"):
        read_picture(path)
    path.write_bytes(encoded())
    with pytest.raises(PictureError, match="pixels"):
        read_picture(path, PictureLimits(pixels=100))


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(["png", "jpg"]), data=st.data())
def test_any_damage_is_a_picture_or_a_sentence(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(encoded("PNG" if kind == "png" else "JPEG"))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(8, len(content) - 1))
        content[place : place + data.draw(st.integers(1, 4))] = data.draw(st.binary(max_size=6))
    path = tmp_path_factory.getbasetemp() / f"damaged.{kind}"
    path.write_bytes(content)
    assert answer(path)


def answer(path: Path) -> Picture | str:
    try:
        return read_picture(path)
    except PictureError as error:
        return str(error)
