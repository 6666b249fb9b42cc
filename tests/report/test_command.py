"""`ale show RUN --html`, as it is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.report.folders import RunFolder
from tests.report.html import Page, foreign

from ale.cli import command
from ale.score import Score


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return RunFolder(tmp_path / "results/exam/writer/education_info/sums/one/1").write(Score(0.25))


def ale(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("given", [[], ["page.html"]])
def test_the_page_is_written_and_its_name_printed(folder: Path, given: list[str]) -> None:
    done = ale("show", str(folder), "--html", *given)
    name = (given or ["run-0123456789abcdef.html"])[0]
    assert (done.exit_code, done.stdout) == (0, f"{name}\n")
    page = Page(Path(name).read_text(encoding="utf-8"))
    assert foreign(page) == []
    assert page.of("title")[0].text[0].startswith("0.250: writer on")
    assert names_in(Path()) == sorted([name, "results"])


def test_a_dash_is_stdout_and_an_id_is_as_good_as_a_folder(folder: Path) -> None:
    assert folder.is_dir()
    done = ale("show", "0123456789abcdef", "--html", "-")
    assert done.exit_code == 0
    assert done.stdout.startswith("<!DOCTYPE html>\n")
    assert done.stdout.endswith("</html>\n")
    assert names_in(Path()) == ["results"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["results/exam", "--html"], "a page is made of one run"),
        (
            ["0123456789abcdef", "--html", "nowhere/page.html"],
            "the page can't be written to nowhere/page.html: No such",
        ),
        (["0123456789abcdef", "--html", "results"], "the page can't be written to results: Is a directory"),
        (["0123456789abcdef", "--html", "--json"], "--json and --html are two answers"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(folder: Path, arguments: list[str], why: str) -> None:
    done = ale("show", *arguments)
    assert done.exit_code != 0
    assert why in str(done.exception)
    assert names_in(folder.parents[6]) == ["results"]


def test_a_pipe_is_written_to_and_stays_a_pipe(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = ale("show", str(folder), "--html", str(pipe))
    assert done.exit_code == 0
    assert os.read(reading, 100).startswith(b"<!DOCTYPE html>")
    os.close(reading)
    assert pipe.is_fifo()
