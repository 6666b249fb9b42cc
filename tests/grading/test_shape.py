"""What can be said of a deliverable before its grader is asked."""

from __future__ import annotations

import pytest

from ale.computer.session import Collected, CollectedFile, Refusal
from ale.grading.shape import check_shape
from ale.task.card import OutputFile

REPORT = OutputFile(path="report.xlsx", max_mb=1)
NOTES = OutputFile(path="notes.md", required=False)
FRAMES = OutputFile(path="frames", kind="directory", max_mb=1)


def collected(
    files: dict[str, int], directories: tuple[str, ...] = (), refused: tuple[Refusal, ...] = ()
) -> tuple[Collected, dict[str, int]]:
    entries = tuple(CollectedFile(path, size, "0" * 64, executable=False) for path, size in files.items())
    return Collected(entries, directories, refused), files


@pytest.mark.parametrize(
    ("outputs", "left", "reason", "words"),
    [
        ([], collected({}), "no_output", "nothing was delivered"),
        ([], collected({"anything": 0}), None, ""),
        ([REPORT], collected({}), "no_output", "report.xlsx was not delivered"),
        (
            [REPORT],
            collected({"Report.xlsx": 5, "a": 1}),
            "no_output",
            "report.xlsx was not delivered; delivered was Report.xlsx, a",
        ),
        ([REPORT], collected({"report.xlsx": 5}), None, ""),
        ([REPORT, NOTES], collected({"report.xlsx": 5}), None, ""),
        ([REPORT, NOTES], collected({"notes.md": 5}), "no_output", "report.xlsx was not delivered"),
        ([REPORT, NOTES], collected({}), "no_output", "report.xlsx, notes.md were not delivered"),
        ([REPORT], collected({"report.xlsx": 2 * 2**20}), "wrong_shape", "2.0 MB"),
        ([REPORT], collected({"report.xlsx/a": 5}, ("report.xlsx",)), "wrong_shape", "is a directory where a file"),
        ([REPORT], collected({}, ("report.xlsx",)), "wrong_shape", "is a directory where a file"),
        (
            [REPORT],
            collected({}, (), (Refusal("report.xlsx", "link", "to /etc/passwd"),)),
            "wrong_shape",
            "link (to /etc/passwd)",
        ),
        ([FRAMES], collected({"frames/1.png": 5}), None, ""),
        ([FRAMES], collected({}, ("frames",)), "no_output", "frames was not delivered"),
        ([FRAMES], collected({"frames": 5}), "wrong_shape", "is a file where a directory"),
        ([FRAMES], collected({"frames/1": 2**20, "frames/2": 1}), "wrong_shape", "at most 1 MB"),
    ],
)
def test_shapes(
    outputs: list[OutputFile], left: tuple[Collected, dict[str, int]], reason: str | None, words: str
) -> None:
    score = check_shape(outputs, *left)
    if reason is None:
        assert score is None
        return
    assert score is not None
    assert (score.value, score.reason) == (0.0, reason)
    assert words in score.sentence


def test_inputs_that_did_not_change_are_no_output() -> None:
    left, _ = collected({"clip.mp4": 5})
    score = check_shape([], left, {})
    assert score is not None
    assert score.reason == "no_output"
