"""The brand kit: full marks for the right pictures however they are drawn, and each kind of mistake costs its share."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.cli.commands import ale
from tests.task.grading import ROOT, graded, module_of, part, workflow

from ale.computer.paths import INPUT, OUTPUT
from ale.sandbox.fake import FakeProvider
from ale.score import Score
from ale.task.instances import list_instances

NAME = "visual_media/brand_kit"
FOLDER = ROOT / "tasks" / NAME
INSTANCES = ("instance1", "instance2", "instance3")
EVERY_INSTANCE = pytest.mark.parametrize("instance", INSTANCES)


@pytest.fixture(scope="module")
def authoring() -> Any:
    return module_of(FOLDER / "authoring" / "generate.py")


def deliver(authoring: Any, kit: Any, target: Path) -> Path:
    """What somebody would deliver who took the list for `kit`."""
    (target / "kit").mkdir(parents=True)
    for asset in kit.assets:
        image = authoring.image(authoring.render(kit.logo, asset))
        if asset.file.endswith(".jpg"):
            image.convert("RGB").save(target / "kit" / asset.file, quality=90)
        else:
            image.save(target / "kit" / asset.file)
    authoring.save(authoring.contact_sheet(kit.logo, kit.assets, kit.sheet), target / "contact_sheet.png")
    return target


async def score_of(output: Path, instance: str) -> Score:
    return await graded(FakeProvider(), NAME, instance, output, output.parent / "log")


async def test_the_instances_and_their_prompts() -> None:
    found = await list_instances(workflow(NAME))
    assert tuple(instance.name for instance in found) == INSTANCES
    for instance in found:
        assert INPUT in instance.description
        assert OUTPUT in instance.description
        assert "{" not in instance.description


def test_inputs_and_references_are_what_the_generator_makes(tmp_path: Path) -> None:
    (tmp_path / "authoring").mkdir()
    shutil.copy(FOLDER / "authoring" / "generate.py", tmp_path / "authoring")
    subprocess.run([sys.executable, tmp_path / "authoring" / "generate.py"], check=True, timeout=120)
    made = sorted(
        path.relative_to(tmp_path) for kind in ("input", "reference") for path in (tmp_path / kind).rglob("*.*")
    )
    kept = sorted(path.relative_to(FOLDER) for kind in ("input", "reference") for path in (FOLDER / kind).rglob("*.*"))
    assert made == kept
    for path in made:
        if path.suffix == ".png":  # how the pixels are packed is the library's affair
            assert (np.asarray(Image.open(tmp_path / path)) == np.asarray(Image.open(FOLDER / path))).all(), path
        else:
            assert (tmp_path / path).read_bytes() == (FOLDER / path).read_bytes(), path


@EVERY_INSTANCE
def test_the_oracle_reads_the_guide_as_its_author_meant_it(authoring: Any, instance: str) -> None:
    source = (FOLDER / "scripts" / "make_kit.py").read_text(encoding="utf-8")
    oracle: dict[str, Any] = {}
    exec(source.replace("main(Path(sys.argv[1])", "0 and main(Path(sys.argv[1])"), oracle)
    kit = authoring.kits()[instance]
    assert oracle["current_logo"](kit.guide) == kit.current
    for name, rgb in kit.colours.items():
        found = oracle["colour"](name, kit.guide)
        assert found == "#{:02x}{:02x}{:02x}".format(*rgb), name


@EVERY_INSTANCE
async def test_the_right_pictures_have_full_marks(authoring: Any, instance: str, tmp_path: Path) -> None:
    score = await score_of(deliver(authoring, authoring.kits()[instance], tmp_path / "output"), instance)
    assert score.value == 1.0


async def test_the_outdated_logo_is_worth_nothing_but_its_cells(authoring: Any, tmp_path: Path) -> None:
    kit = authoring.kits()["instance1"]
    score = await score_of(deliver(authoring, replace(kit, logo=kit.old), tmp_path / "output"), "instance1")
    assert score.value < 0.2
    wrong = part(score, "kit", "header.png")
    assert wrong.reason == "gate_failed"
    assert "the drawing by itself is similar to" in wrong.sentence


async def test_an_overlooked_correction_costs_the_files_with_that_colour(authoring: Any, tmp_path: Path) -> None:
    kit = authoring.kits()["instance1"]
    loud = tuple(
        replace(asset, background=(255, 127, 80)) if asset.file == "invitation.jpg" else asset for asset in kit.assets
    )
    score = await score_of(deliver(authoring, replace(kit, assets=loud), tmp_path / "output"), "instance1")
    assert 0.9 < score.value < 1.0
    wrong = part(score, "kit", "invitation.jpg", "colours", "#e05d44")
    assert wrong.value < 0.5
    assert "found #ff7f50" in wrong.sentence
    assert "expected #e05d44 within ΔE 4" in wrong.sentence
    assert part(score, "kit", "header.png").value == 1.0


async def test_margins_sizes_and_transparency_cost_their_share(authoring: Any, tmp_path: Path) -> None:
    kit = authoring.kits()["instance3"]
    assets = {asset.file: asset for asset in kit.assets}
    assets["app_icon.png"] = replace(assets["app_icon.png"], margin=0)
    assets["ticket.png"] = replace(assets["ticket.png"], size=(356, 178))
    assets["watermark.png"] = replace(assets["watermark.png"], background=(255, 255, 255))
    changed = replace(kit, assets=tuple(assets.values()))
    score = await score_of(deliver(authoring, changed, tmp_path / "output"), "instance3")
    assert 0.6 < score.value < 0.98
    assert part(score, "kit", "app_icon.png", "structure").value < 0.5
    assert part(score, "kit", "app_icon.png", "size").value == 1.0
    assert part(score, "kit", "ticket.png", "size").sentence == "found 356 × 178 pixels, expected 360 × 180"
    assert part(score, "kit", "watermark.png", "transparency").value < 0.5
    assert part(score, "kit", "on_dark.png").value == 1.0


async def test_half_a_kit_is_half_the_points(authoring: Any, tmp_path: Path) -> None:
    output = deliver(authoring, authoring.kits()["instance1"], tmp_path / "output")
    (output / "contact_sheet.png").unlink()
    for name in ("badge.png", "header.png", "flag.png"):
        (output / "kit" / name).unlink()
    score = await score_of(output, "instance1")
    assert score.value == pytest.approx(0.375)
    assert part(score, "kit", "badge.png").reason == "no_output"
    assert part(score, "contact_sheet.png").reason == "no_output"


async def test_the_drawings_handed_back_under_the_right_names_are_worth_nothing(authoring: Any, tmp_path: Path) -> None:
    kit = authoring.kits()["instance1"]
    (tmp_path / "output" / "kit").mkdir(parents=True)
    drawing = FOLDER / "input" / "instance1" / kit.current
    for asset in kit.assets:
        shutil.copy(drawing, tmp_path / "output" / "kit" / asset.file)
    shutil.copy(drawing, tmp_path / "output" / "contact_sheet.png")
    score = await score_of(tmp_path / "output", "instance1")
    assert (score.value, score.reason) == (0.0, "wrong_shape")


async def test_blank_canvases_of_the_right_size_are_worth_nothing(authoring: Any, tmp_path: Path) -> None:
    kit = authoring.kits()["instance2"]
    blank = replace(kit, logo=replace(kit.logo, mark=(), word=()))
    score = await score_of(deliver(authoring, blank, tmp_path / "output"), "instance2")
    assert part(score, "kit").value == 0
    assert part(score, "kit").reason == "gate_failed"
    # The pictures' grounds do stand in their cells.
    assert score.value < 0.2


@pytest.mark.sandbox
def test_the_oracle_in_its_machine_and_the_idle_agent(tmp_path: Path, studio_image: str) -> None:
    assert studio_image == workflow(NAME).card.image
    command = ("run", "--tasks", NAME, "--tasks-dir", str(ROOT / "tasks"), "--agent", "oracle", "--agent", "idle")
    done = ale(*command, "--output", str(tmp_path / "results"), "--json", cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    values = {(run["agent"]["name"], run["instance"]): run["score"]["value"] for run in json.loads(done.stdout)}
    assert values == {(agent, each): float(agent == "oracle") for agent in ("oracle", "idle") for each in INSTANCES}
