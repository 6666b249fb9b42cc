"""Only what is a PNG or a JPEG by its bytes, and bearable, becomes a picture of the page."""

from __future__ import annotations

import base64
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.folders import chunk, png

from ale.report.pictures import NoPicture, picture

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + b"\0" * 10 + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 30, 50) + b"\0" * 30


def test_a_picture_is_a_data_uri_of_its_own_kind_and_size() -> None:
    shown = picture(png(20, 10))
    assert (shown.width, shown.height) == (20, 10)
    assert base64.b64decode(shown.uri.removeprefix("data:image/png;base64,")) == png(20, 10)
    jpeg = picture(JPEG)
    assert (jpeg.width, jpeg.height) == (50, 30)
    assert jpeg.uri.startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "neither a PNG nor a JPEG"),
        (b"GIF89a\x01\x00\x01\x00", "neither a PNG nor a JPEG"),
        (b"", "neither"),
        (png(60_000, 60_000, b""), "claims 60,000 × 60,000 pixels"),
        (png(9_000, 9_000, b""), "claims 9,000 × 9,000 pixels"),
        (png(0, 5, b""), "claims 0 × 5 pixels"),
        (png(20, 10)[:40], "without any pixels"),
        (b"\x89PNG\r\n\x1a\n", "damaged PNG"),
        (png(2, 2, before=chunk(b"acTL", b"\0" * 8)), "animated"),
        (png(2, 2, before=chunk(b"tEXt", b"") * 20_000), "without any pixels"),
        (b"\xff\xd8\xff" * 1000, "damaged JPEG"),
        (b"\xff\xd8" + b"\xff" * 2**20, "damaged JPEG"),
    ],
)
def test_whatever_else_it_is_it_is_not_shown_and_the_reason_is_named(data: bytes, why: str) -> None:
    with pytest.raises(NoPicture, match=why):
        picture(data)


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"]), st.binary(max_size=200))
def test_any_bytes_are_a_picture_or_a_reason(start: bytes, rest: bytes) -> None:
    with suppress(NoPicture):
        shown = picture(start + rest)
        assert 0 < shown.width * shown.height <= 40_000_000
