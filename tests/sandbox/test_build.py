"""Image builds: what they refuse, and what they leave."""

import os
from pathlib import Path

import pytest

from ale.errors import SandboxUnavailable
from ale.sandbox.images import ImageRecipe
from ale.sandbox.local import build
from ale.sandbox.local.build import build_image, clean_scratch
from ale.sandbox.local.idmap import find_range
from ale.sandbox.local.state import State, read_json


def recipe(**changes: object) -> ImageRecipe:
    return ImageRecipe.model_validate({"name": "tiny", "description": "x", "packages": ["bash"], **changes})


@pytest.mark.sandbox
async def test_too_little_room_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"needs about 999999500 MB .* are free; free space or set ALE_HOME"):
        await build_image(recipe(size_mb=999_999_000), State(tmp_path / "ale"), print)
    assert list((tmp_path / "ale/images").iterdir()) == []


@pytest.mark.sandbox
@pytest.mark.network
async def test_a_missing_package_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    state = State(tmp_path / "ale")
    with pytest.raises(SandboxUnavailable, match=r"'tiny' can't be built: \w+ has no package ale-no-such-package in"):
        await build_image(recipe(packages=["ale-no-such-package"], size_mb=100), state, print)
    assert list(state.images.iterdir()) == []
    assert clean_scratch(state, find_range()) == []


def test_other_failures_repeat_the_tools_own_words() -> None:
    words = ["I: running apt-get update...", "E: something broke", "I: removing tempdir"]
    assert "mmdebstrap said: something broke" in build._why(recipe(), "bookworm", words)
    assert "the disk is full" in build._why(recipe(), "bookworm", ["E: write: No space left on device"])


@pytest.mark.sandbox
def test_a_built_image_is_recorded_and_free_of_this_machines_configuration(base_image: str, state: State) -> None:
    facts = [read_json(path) for path in state.images.glob("*/image.json")]
    (base,) = [found for found in facts if found["name"] == base_image and (state.images / found["recipe"]).is_dir()][
        :1
    ]
    assert len(base["content"]) == 64
    assert base["packages"]["bash"]
    rootfs = state.images / base["recipe"] / "rootfs"
    assert list((rootfs / "etc/apt/sources.list.d").iterdir()) == []
    assert not (rootfs / "etc/apt/apt.conf.d/99mmdebstrap").exists()
    assert (rootfs / "etc/resolv.conf").read_text() == ""
    assert [path.name for path in (rootfs / "dev").iterdir()] == []


@pytest.mark.sandbox
def test_the_scratch_of_a_dead_build_is_cleaned_and_a_living_one_spared(tmp_path: Path) -> None:
    state = State(tmp_path / "ale")
    state.prepare()
    dead = state.root / f"ale-build-{os.geteuid()}-dead"
    dead.mkdir()
    with build._scratch(recipe(size_mb=999_999_000), state, find_range()) as living:
        removed = clean_scratch(state, find_range())
        assert dead in removed
        assert living not in removed
        assert living.is_dir()
    assert not living.exists()
