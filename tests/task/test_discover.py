"""Workflows are found, named, chosen and told apart by content."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.task.conftest import WriteWorkflow

from ale.errors import UsageError
from ale.task.discover import Catalogue, choose, discover, matching


@pytest.fixture
def catalogue(write_workflow: WriteWorkflow) -> Catalogue:
    write_workflow(name="legal/first", files={"input/a/x.txt": "1", "reference/y.txt": "2"})
    write_workflow(name="legal/second")
    write_workflow(name="business_finance/third")
    folder = write_workflow(name="legal/broken", card="id: broken\ntitel: x\n")
    return discover(folder.parents[1])


def test_a_broken_task_is_reported_and_does_not_stop_the_others(catalogue: Catalogue) -> None:
    assert [each.name for each in catalogue.workflows] == ["business_finance/third", "legal/first", "legal/second"]
    (broken,) = catalogue.broken
    assert broken.name == "legal/broken"
    assert "task.yaml:2: unknown key 'titel' (did you mean 'title'?)" in broken.problem


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["legal/*"], ["legal/first", "legal/second"]),
        (["*"], ["business_finance/third", "legal/first", "legal/second"]),
        (["*/first", "legal/first:a"], ["legal/first"]),
    ],
)
def test_patterns(catalogue: Catalogue, patterns: list[str], found: list[str]) -> None:
    assert sorted(workflow.name for workflow in matching(catalogue, patterns)) == found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("legal/frist", r"did you mean 'legal/first'"),
        ("legal/broken", r"task legal/broken is broken: .*task\.yaml:2"),
        ("", "no task pattern"),
    ],
)
def test_a_pattern_that_names_nothing_is_an_error(catalogue: Catalogue, pattern: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        matching(catalogue, ["legal/*", pattern])


def test_a_card_without_code_and_a_folder_without_tasks_are_named(
    write_workflow: WriteWorkflow, tmp_path: Path
) -> None:
    (write_workflow(name="legal/first") / "main.py").unlink()
    with pytest.raises(UsageError, match=r"legal/first is broken: .* has a task\.yaml but no main\.py"):
        matching(discover(tmp_path / "tasks"), ["legal/first"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"there is no task in .*empty: a task is a folder CLUSTER/NAME"):
        matching(discover(tmp_path / "empty"), ["legal/first"])


def test_instances_are_chosen_by_pattern(catalogue: Catalogue) -> None:
    workflow = catalogue.workflow("legal/first")
    patterns = matching(catalogue, ["legal/first:b*", "*:a"])[workflow]
    assert choose(workflow, patterns, ["a", "b1", "b2", "c"]) == ("a", "b1", "b2")
    with pytest.raises(UsageError, match=r"no instance 'insance1'.*did you mean 'instance1'"):
        choose(workflow, matching(catalogue, ["legal/first:insance1"])[workflow], ["instance1"])


def test_an_instance_has_its_own_folder_or_the_whole(catalogue: Catalogue) -> None:
    workflow = catalogue.workflow("legal/first")
    assert workflow.folder_of("input", "a") == workflow.folder / "input" / "a"
    assert workflow.folder_of("input", "b") == workflow.folder / "input"
    assert workflow.folder_of("reference", "a") == workflow.folder / "reference"
    assert workflow.folder_of("software", "a") is None


def test_the_digest_follows_content_and_nothing_else(write_workflow: WriteWorkflow) -> None:
    def digest() -> str:
        return discover(folder.parents[1]).workflow("legal/first").digest

    folder = write_workflow(files={"input/x": "1"})
    first = digest()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "main.pyc").write_bytes(b"x")
    (folder / "main.py~").write_bytes(b"x")
    (folder / "input" / "x").touch()
    assert digest() == first
    (folder / "input" / "x").chmod(0o755)
    executable = digest()
    (folder / "input" / "x").rename(folder / "input" / "y")
    renamed = digest()
    (folder / "input" / "y").write_text("2")
    assert len({first, executable, renamed, digest()}) == 4


def test_a_root_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--tasks-dir"):
        discover(tmp_path / "nothing")
