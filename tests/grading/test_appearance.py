"""What a picture is worth: everything for the same, less for every damage, and the reasons say what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ale.errors import GraderError
from ale.grading.appearance import (
    Band,
    Picture,
    compare_pictures,
    same_colours,
    same_drawing,
    same_size,
    same_structure,
    same_transparency,
)
from ale.score import Score

Check = Callable[[Picture, Picture], Score]
CHECKS: tuple[Check, ...] = (same_size, same_transparency, same_colours, same_drawing, same_structure)
EVERY_CHECK = pytest.mark.parametrize("check", CHECKS)

NAVY, SAND, CLEAR = (18, 43, 74, 255), (238, 229, 211, 255), (0, 0, 0, 0)


def emblem(ground: tuple[int, ...] = SAND, ink: tuple[int, ...] = NAVY, *, shift: int = 0, side: int = 64) -> Picture:
    """A square ring with a bar: edges both ways and plain areas."""
    rgba = np.zeros((side, side, 4), dtype=np.uint8)
    rgba[:] = ground
    a, b = side // 8 + shift, side - side // 8 + shift
    rgba[a:b, a:b] = ink
    rgba[a + side // 8 : b - side // 8, a + side // 8 : b - side // 8] = ground
    rgba[side // 2 - 3 + shift : side // 2 + 3 + shift, a:b] = ink
    return Picture("emblem.png", rgba)


def noisy(picture: Picture, amount: float) -> Picture:
    grain = np.random.default_rng(7).normal(size=picture.rgba.shape[:2])[..., None] * amount
    rgba = picture.rgba.copy()
    rgba[..., :3] = np.clip(rgba[..., :3] + grain, 0, 255)
    return Picture(picture.name, rgba)


def pictures() -> st.SearchStrategy[Picture]:
    """Small pictures of any colours with any transparency."""
    shape = st.tuples(st.integers(1, 24), st.integers(1, 24), st.integers(0, 2**32 - 1), st.integers(1, 6))
    return shape.map(lambda drawn: some_picture(*drawn))


def some_picture(height: int, width: int, seed: int, colours: int) -> Picture:
    source = np.random.default_rng(seed)
    palette = source.integers(0, 256, size=(colours, 4), dtype=np.uint8)
    palette[source.random(colours) < 0.5, 3] = 255
    return Picture("some.png", palette[source.integers(0, colours, size=(height, width))])


@EVERY_CHECK
@settings(max_examples=40, deadline=None)
@given(picture=pictures())
def test_a_picture_is_as_itself(check: Check, picture: Picture) -> None:
    assert check(picture, picture).value == 1.0


@EVERY_CHECK
@settings(max_examples=40, deadline=None)
@given(found=pictures(), expected=pictures())
def test_every_value_lies_between_0_and_1_and_has_a_sentence(check: Check, found: Picture, expected: Picture) -> None:
    score = check(found, expected)
    assert 0.0 <= score.value <= 1.0
    assert score.sentence or score.parts


@pytest.mark.parametrize(
    ("check", "damaged"),
    [
        (same_structure, lambda amount: noisy(emblem(), 12.0 * amount)),
        (same_structure, lambda amount: emblem(shift=amount)),
        (same_colours, lambda amount: emblem(ink=(18 + 9 * amount, 43 + 6 * amount, 74, 255))),
        (same_colours, lambda amount: noisy(emblem(), 8.0 * amount)),
        (same_transparency, lambda amount: emblem(ground=(0, 0, 0, 25 * amount))),
    ],
)
def test_more_damage_is_never_worth_more(check: Check, damaged: Callable[[int], Picture]) -> None:
    expected = emblem(ground=CLEAR) if check is same_transparency else emblem()
    values = [check(damaged(amount), expected).value for amount in range(8)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1.0
    assert values[-1] < 0.6


def test_more_damage_is_never_worth_more_on_the_whole(tmp_path: Path) -> None:
    expected = save(emblem(), tmp_path / "expected.png")
    values = [
        compare_pictures(save(noisy(emblem(), 9.0 * n), tmp_path / "found.png"), expected).value for n in range(8)
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1.0


def test_size_says_both_and_knows_its_tolerance() -> None:
    score = same_size(emblem(side=63), emblem())
    assert score.value == 0
    assert score.sentence == "found 63 × 63 pixels, expected 64 × 64"
    assert same_size(emblem(side=63), emblem(), tolerance=1).value == 1


def test_a_ground_that_should_be_clear_costs_its_share_and_the_other_way_round() -> None:
    clear, filled = emblem(ground=CLEAR), emblem()
    for found, expected in ((clear, filled), (filled, clear)):
        score = same_transparency(found, expected)
        assert score.value < 0.3
        assert "of the picture is covered, expected" in score.sentence


def test_colours_are_judged_area_by_area() -> None:
    score = same_colours(emblem(ink=(224, 93, 68, 255)), emblem())
    right, wrong = (next(part for part in score.parts if part.name == name) for name in ("#eee5d3", "#122b4a"))
    assert (right.score.value, wrong.score.value) == (1.0, 0.0)
    assert "found #e05d44" in wrong.sentence
    assert "expected #122b4a within ΔE 2" in wrong.sentence
    assert score.value == 0.5


def test_a_colour_that_nobody_can_tell_apart_is_right() -> None:
    assert same_colours(emblem(ink=(19, 43, 75, 255)), emblem()).value == 1.0


def test_structure_without_colour_counts_and_a_blank_canvas_does_not() -> None:
    assert same_structure(emblem(ground=SAND, ink=SAND), emblem()).value == 0
    assert same_structure(noisy(emblem(ground=SAND, ink=SAND), 30), emblem()).value == 0
    assert same_structure(emblem(), emblem()).value == 1


def test_a_drawing_is_the_same_elsewhere_smaller_and_in_other_colours() -> None:
    for found in (emblem(shift=5), emblem(SAND, (0, 90, 0, 255)), emblem(ground=CLEAR)):
        assert same_drawing(found, emblem()).value == 1.0
    for side in (24, 32, 48, 256):
        page = np.zeros((300, 400, 4), dtype=np.uint8)
        page[:] = SAND
        page[20 : 20 + side, 90 : 90 + side] = emblem().scaled((side, side)).rgba
        assert same_drawing(Picture("page.png", page), emblem()).value == 1.0, side


def test_another_drawing_is_none() -> None:
    bar, disc = emblem(ink=SAND).rgba.copy(), emblem(ink=SAND).rgba.copy()
    bar[30:40, 4:60] = NAVY
    y, x = np.mgrid[:64, :64]
    disc[(x - 32) ** 2 + (y - 32) ** 2 < 400] = NAVY
    for other in (bar, disc, noisy(emblem(ink=SAND), 40).rgba):
        assert same_drawing(Picture("other.png", other), emblem()).value == 0


def test_a_drawing_far_larger_or_flatter_than_expected_costs_no_memory() -> None:
    wide = np.zeros((900, 16_000, 4), dtype=np.uint8)
    wide[::2] = NAVY
    thin = np.zeros((1, 16_000, 4), dtype=np.uint8)
    thin[:, 7] = NAVY
    for rgba in (wide, thin, thin.reshape(16_000, 1, 4)):
        assert same_drawing(Picture("wide.png", rgba), emblem()).value == 0


def test_a_drawing_where_none_is_expected_and_none_where_one_is() -> None:
    plain = emblem(ink=SAND)
    assert same_drawing(plain, plain).value == 1
    assert same_drawing(emblem(), plain).sentence == "something is drawn, expected nothing"
    assert same_drawing(plain, emblem()).sentence == "nothing is drawn, expected a drawing"


def test_a_misplaced_drawing_keeps_the_points_of_all_the_rest(tmp_path: Path) -> None:
    expected = save(emblem(), tmp_path / "expected.png")
    score = compare_pictures(save(emblem(shift=6), tmp_path / "found.png"), expected)
    values = {part.name: part.score.value for part in score.parts}
    assert values["size"] == values["transparency"] == 1.0
    assert values["structure"] < 0.2
    assert 0.45 < score.value < 0.8


def test_white_on_clear_is_seen() -> None:
    white = emblem(ground=CLEAR, ink=(255, 255, 255, 255))
    blank = emblem(ground=CLEAR, ink=CLEAR)
    assert same_structure(white, white).value == 1
    assert same_structure(blank, white).value == 0
    assert same_structure(emblem(ground=CLEAR, ink=(0, 0, 0, 255)), white).value < 0.5


def test_the_colour_below_clear_pixels_does_not_matter() -> None:
    one, other = emblem(ground=(255, 0, 0, 0)), emblem(ground=(0, 0, 255, 0))
    for check in CHECKS:
        assert check(one, other).value == 1.0


def save(picture: Picture, path: Path, **options: object) -> Path:
    image = Image.fromarray(picture.rgba, "RGBA")
    (image.convert("RGB") if path.suffix == ".jpg" else image).save(path, **options)  # type: ignore[arg-type]
    return path


def test_files_are_compared_part_by_part(tmp_path: Path) -> None:
    expected = save(emblem(), tmp_path / "expected.png")
    same = compare_pictures(save(emblem(), tmp_path / "same.png"), expected)
    assert same.value == 1.0
    assert [part.name for part in same.parts] == ["size", "transparency", "colours", "structure"]
    half = compare_pictures(save(emblem().scaled((32, 32)), tmp_path / "half.png"), expected)
    assert 0.5 < half.value < 0.9
    assert half.parts[0].score.value == 0


def test_a_blank_canvas_of_the_right_size_is_no_picture(tmp_path: Path) -> None:
    expected = save(emblem(), tmp_path / "expected.png")
    blank = compare_pictures(save(emblem(ink=SAND), tmp_path / "blank.png"), expected)
    assert (blank.value, blank.reason) == (0.0, "gate_failed")
    assert "nothing is drawn, expected a drawing" in blank.sentence


def test_a_jpeg_of_a_picture_is_nearly_the_picture(tmp_path: Path) -> None:
    expected = save(emblem(side=256), tmp_path / "expected.png")
    found = save(emblem(side=256), tmp_path / "found.jpg", quality=90)
    score = compare_pictures(found, expected, colours=Band(4, 14), structure=Band(0.85, 0.3))
    assert score.value == 1.0


@pytest.mark.parametrize("mode", ["RGB", "P", "L", "LA", "1", "I;16"])
def test_every_way_to_store_the_same_grey_picture_is_the_same(mode: str, tmp_path: Path) -> None:
    rgba = emblem(ground=(255, 255, 255, 255), ink=(0, 0, 0, 255))
    expected = save(rgba, tmp_path / "expected.png")
    image = Image.fromarray(rgba.rgba, "RGBA")
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    else:
        image = image.convert("RGB").convert(mode)
    image.save(tmp_path / "found.png")
    assert compare_pictures(tmp_path / "found.png", expected).value == 1.0


def test_a_reference_that_is_no_picture_is_the_graders_fault(tmp_path: Path) -> None:
    found = save(emblem(), tmp_path / "found.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for reference in ("missing.png", "broken.png"):
        with pytest.raises(GraderError, match="can't be used"):
            compare_pictures(found, tmp_path / reference)


def test_a_region_reaches_over_the_edge_without_harm() -> None:
    part = emblem().region(-10, 50, 30, 40)
    assert part.size == (30, 40)
    assert part.alpha[:, :10].max() == 0
    assert part.alpha[20:, :].max() == 0
    assert (part.rgba[:14, 10:] == emblem().rgba[50:, :20]).all()
    assert emblem().region(500, 500, 5, 5).alpha.max() == 0
