"""The demo exam holds what it promises: oracles right, idle and hunting agents worth nothing, partial work partial."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.task.grading import graded, workflow

from ale.computer.paths import INPUT, OUTPUT
from ale.sandbox import open_provider
from ale.sandbox.fake import FakeProvider
from ale.task.instances import list_instances

RECONCILIATION, REPAIR = "business_finance/vendor_reconciliation", "computing_math/etl_repair"
INSTANCES = {RECONCILIATION: ("instance1", "instance2", "instance3"), REPAIR: ("instance1", "instance2")}
EVERY_RECONCILIATION = pytest.mark.parametrize("instance", INSTANCES[RECONCILIATION])
EVERY_REPAIR = pytest.mark.parametrize("instance", INSTANCES[REPAIR])


@pytest.mark.parametrize("name", INSTANCES)
async def test_the_instances_and_their_prompts(name: str) -> None:
    found = await list_instances(workflow(name))
    assert tuple(instance.name for instance in found) == INSTANCES[name]
    for instance in found:
        assert INPUT in instance.description
        assert OUTPUT in instance.description
        assert "{" not in instance.description


def test_inputs_and_references_are_what_their_generators_make(tmp_path: Path) -> None:
    for name in INSTANCES:
        source = workflow(name).folder
        copy = tmp_path / source.name
        (copy / "authoring").mkdir(parents=True)
        shutil.copy(source / "authoring" / "generate.py", copy / "authoring")
        subprocess.run([sys.executable, copy / "authoring" / "generate.py"], check=True, timeout=120)
        made = [path for path in copy.rglob("*") if path.is_file() and path.suffix in (".csv", ".json")]
        assert len(made) > 10
        for path in made:
            assert path.read_bytes() == (source / path.relative_to(copy)).read_bytes(), path


def test_no_reference_file_is_among_the_inputs() -> None:
    for name in INSTANCES:
        folder = workflow(name).folder
        inputs, references = (
            {path.read_bytes() for path in (folder / kind).rglob("*") if path.is_file()}
            for kind in ("input", "reference")
        )
        assert not inputs & references


@EVERY_RECONCILIATION
async def test_reconciliation_the_oracles_work_from_the_inputs_has_full_marks(instance: str, tmp_path: Path) -> None:
    task = workflow(RECONCILIATION)
    (tmp_path / "output").mkdir()
    program = task.folder / "scripts" / "reconcile.py"
    subprocess.run(
        [sys.executable, program, task.folder / "input" / instance, tmp_path / "output"], check=True, timeout=60
    )
    assert (await graded(FakeProvider(), RECONCILIATION, instance, tmp_path / "output", tmp_path / "log")).value == 1.0


@EVERY_RECONCILIATION
async def test_reconciliation_rounding_in_binary_and_missing_part_payments_cost_points(
    instance: str, tmp_path: Path
) -> None:
    task = workflow(RECONCILIATION)
    right = (task.folder / "scripts" / "reconcile.py").read_text("utf-8")
    wrong = {
        "rounding": right.replace(
            "eur = (amount * rate).quantize(CENT, ROUND_HALF_UP)",
            "eur = Decimal(str(round(float(amount) * float(rate), 2)))",
        ),
        "parts": right.replace("paid[number] += amount", "paid[number] = max(amount, Decimal(0))"),
        "overlap": right.replace(
            'payments[row["Bank reference"]]', 'payments[row["Bank reference"], len(payments)]'
        ).replace("for reference, (kind", "for (reference, _), (kind"),
    }
    for fault, text in wrong.items():
        assert text != right
        output = tmp_path / fault
        output.mkdir()
        (tmp_path / f"{fault}.py").write_text(text, encoding="utf-8")
        command = [sys.executable, tmp_path / f"{fault}.py", task.folder / "input" / instance, output]
        subprocess.run(command, check=True, timeout=60)
        score = await graded(FakeProvider(), RECONCILIATION, instance, output, tmp_path / "log")
        assert 0.3 < score.value < 0.99, fault


@EVERY_REPAIR
def test_repair_the_fixed_program_agrees_with_the_independent_truth(instance: str, tmp_path: Path) -> None:
    folder = workflow(REPAIR).folder
    for case in sorted((folder / "reference" / instance).iterdir()):
        output = tmp_path / case.name
        output.mkdir()
        program = folder / "scripts" / "fixed" / instance / "run.py"
        subprocess.run([sys.executable, "-B", program, case / "input", output], check=True, timeout=60)
        for expected in (case / "expected").iterdir():
            assert (output / expected.name).read_bytes() == expected.read_bytes(), expected


HUNTER = """\
import os, sys
from pathlib import Path

found = []
for place in ("/task", "/root", "/run", "/home", "/tmp", "/var", "/opt", "/proc/1/root", "/proc/1/cwd"):
    for folder, names, files in os.walk(place):
        found += [os.path.join(folder, name) for name in files if name in WANTED or "expected" in folder]
visible = os.listdir("/task") if os.access("/task", os.R_OK) else []
rows = "".join(f"{name},x\\n" for name in found + visible)
Path(sys.argv[2], "daily_revenue.csv").write_text("date,category\\n" + rows)
""".replace("WANTED", "('daily_revenue.csv', 'rejects.csv', 'orders.csv')")


@pytest.mark.sandbox
@EVERY_REPAIR
async def test_repair_the_oracle_has_full_marks_and_the_broken_program_none(
    instance: str, tmp_path: Path, base_image: str
) -> None:
    folder = workflow(REPAIR).folder
    assert base_image == "base"
    for name, source, value in (
        ("oracle", folder / "scripts" / "fixed" / instance, 1.0),
        ("idle", folder / "input" / instance / "pipeline", 0.0),
    ):
        shutil.copytree(source, tmp_path / name / "pipeline")
        score = await graded(open_provider("local"), REPAIR, instance, tmp_path / name, tmp_path / "log")
        assert score.value == value, score.to_json()
        assert len(score.parts) == 4


@pytest.mark.sandbox
async def test_repair_a_program_that_hunts_for_the_answers_finds_nothing(tmp_path: Path, base_image: str) -> None:
    (tmp_path / "output" / "pipeline").mkdir(parents=True)
    (tmp_path / "output" / "pipeline" / "run.py").write_text(HUNTER)
    score = await graded(open_provider("local"), REPAIR, "instance1", tmp_path / "output", tmp_path / "log")
    assert score.value == 0.0
    for part in score.parts:
        revenue = part.score.parts[0].score
        assert revenue.sentence.startswith("0 of "), "the hunter did not run"
        assert revenue.details["not_expected"] == 0, revenue.sentence
