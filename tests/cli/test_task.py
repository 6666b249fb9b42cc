"""`ale task`: lists, shows and scaffolds; its errors are one sentence and exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ale.cli.task import task
from ale.errors import UsageError
from ale.task.discover import discover
from ale.task.scaffold import scaffold
from ale.task.taxonomy import CLUSTERS


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALE_HOME", str(tmp_path / "home"))
    root = tmp_path / "tasks"
    scaffold(root, "legal/first")
    scaffold(root, "visual_media/second")
    return root


def call(*arguments: object) -> Result:
    return CliRunner().invoke(task, [str(argument) for argument in arguments])


def test_list(tasks: Path) -> None:
    result = call("list", "--tasks-dir", tasks)
    assert result.exit_code == 0, result.output
    assert "legal/first  [instance1]" in result.stdout
    assert "2 tasks, 2 instances" in result.stderr
    assert (tasks.parent / "home" / "cache" / "instances").is_dir()


def test_list_as_json_by_pattern(tasks: Path) -> None:
    result = call("list", "--json", "--tasks-dir", tasks, "legal/*:instance1")
    document = json.loads(result.stdout)
    assert [entry["name"] for entry in document["tasks"]] == ["legal/first"]
    assert document["tasks"][0]["instances"][0]["description"].startswith("The file /task/input/sales.csv")
    assert document["broken"] == []


def test_a_broken_task_is_reported_beside_the_others(tasks: Path) -> None:
    (tasks / "legal" / "first" / "main.py").write_text("import json\nraise ValueError('no')\n")
    result = call("list", "--tasks-dir", tasks)
    assert result.exit_code == 1
    assert "visual_media/second  [instance1]" in result.stdout
    assert "task legal/first is broken" in result.stderr
    assert "main.py:2: load: ValueError: no" in result.stderr
    document = json.loads(call("list", "--json", "--tasks-dir", tasks).stdout)
    assert [entry["name"] for entry in document["broken"]] == ["legal/first"]


def test_new_says_the_command_that_tries_it(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tasks.parent)
    try_it = "--tasks legal/third --agent oracle --agent idle\n"
    assert call("new", "legal/third").stderr == f"now: ale run {try_it}"
    assert (
        call("new", "legal/third", "--tasks-dir", "my tasks").stderr == f"now: ale run --tasks-dir 'my tasks' {try_it}"
    )


def test_show(tasks: Path) -> None:
    result = call("show", "legal/first:instance1", "--tasks-dir", tasks)
    assert result.exit_code == 0, result.output
    assert "7.1 Litigation Support" in result.stdout
    assert "legal/first:instance1\n  The file /task/input/sales.csv" in result.stdout
    assert json.loads(call("show", "legal/first", "--json", "--tasks-dir", tasks).stdout)["card"]["tier"] == "near-term"


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_new_makes_a_sound_task_in_every_cluster(tmp_path: Path, cluster: str) -> None:
    scaffold(tmp_path, f"{cluster}/petty_cash")
    catalogue = discover(tmp_path)
    assert catalogue.broken == ()
    assert [workflow.name for workflow in catalogue.workflows] == [f"{cluster}/petty_cash"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("legl/x", "did you mean 'legal'"),
        ("legal", "write CLUSTER/NAME"),
        ("legal/Two Words", "write CLUSTER/NAME"),
        ("legal/../x", "write CLUSTER/NAME"),
        ("legal/first", "exists already"),
    ],
)
def test_new_refuses_what_would_not_work(tasks: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        scaffold(tasks, name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "legal/frist"], "did you mean 'legal/first'"),
        (["list", "legal/first:instance9"], "has no instance 'instance9'"),
        (["show", "legal/frist"], "did you mean 'legal/first'"),
        (["show", "legal/first:x"], "has no instance 'x'"),
        (["new", "legl/x"], "did you mean 'legal'"),
        (["new", "legal/Two-Words"], "CLUSTER/NAME with small letters, digits and _"),
        (["new", "legal/x", "--tasks-dir", "/proc/x"], "/proc/x can't be written"),
        (["list", "--tasks-dir", "/nothing/here"], "there is no task directory /nothing/here"),
    ],
)
def test_errors_are_one_sentence_with_exit_code_2(tasks: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ale.cli", "task", *arguments],
        cwd=tasks.parent,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("ale: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
