"""A reviewer who doubts a score walks from the number to the reason to the step, whatever became of the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.report.folders import RunFolder, at, png, step, workbook
from tests.report.html import Page, foreign, told

from ale.errors import UsageError
from ale.exam.result import ErrorRecord
from ale.grading.compose import gate, weighted
from ale.outcome import AgentEnd, Outcome
from ale.report import files as report_files
from ale.report import steps as report_steps
from ale.report.page import run_page
from ale.score import Part, Score
from ale.trajectory.schema import Action, Observation


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def page_of(folder: Path) -> Page:
    page = Page("".join(run_page(folder)))
    assert foreign(page) == []
    return page


SCORE = weighted(
    {
        "totals.csv": (
            3.0,
            weighted(
                {
                    "amount": (
                        1.0,
                        Score(
                            0.5,
                            sentence="amount: 1 of 2 right; north (row 2): found 40, expected 42 ± 0.5",
                            details={
                                "mistakes": [
                                    {
                                        "where": {"key": "north", "row": 2},
                                        "found": "40",
                                        "expected": "42",
                                        "tolerance": 0.5,
                                    }
                                ],
                                "of": 2,
                            },
                        ),
                    ),
                    "region": (1.0, Score(1.0, sentence="region: 2 of 2 right")),
                }
            ),
        ),
        "note.txt": (1.0, Score(0.0, "no_output", sentence="note.txt was not delivered")),
    }
)


def test_the_way_from_the_number_to_the_reason_to_the_step_and_back(run: RunFolder) -> None:
    run.files = {"totals.csv": b"region,amount\nnorth,40\nsouth,7\n"}
    steps = [step(1, "cat /task/input/sales.csv", "north 21 21"), step(2, "python3 sum.py > /task/output/totals.csv")]
    page = page_of(run.write(SCORE, steps))

    assert page.of("title")[0].text == ["0.562: writer on education_info/sums:one, attempt 1 (run 0123456789abcdef)"]
    costs = [told(item) for item in page.of("ul", **{"class": "plain costs"})]
    note = "✗ no marks −0.250 note.txt: note.txt was not delivered"
    amount = "◐ partly right −0.188 totals.csv › amount: 1 of 2 right; north (row 2): found 40, expected 42 ± 0.5"
    assert costs == [f"{note} {amount}"]
    assert "amount: 1 of 2 right" in told(page.by_id("part-3"))
    assert "north, row 2 40 42 ± 0.5 1" in told(page.by_id("part-3"))
    assert "totals.csv : the file; steps that name it: 2" in told(page.by_id("part-2"))
    assert page.of("a", href="#file-1")
    assert "Steps that name it: 2" in told(page.by_id("file-1"))
    assert told(page.by_id("step-2")).startswith("Bash, answered after 0.4 s, exit code 0")
    assert "names totals.csv" in told(page.by_id("step-2"))
    assert "names north" in told(page.by_id("step-1"))
    assert "model call 2" in told(page.by_id("step-2"))
    assert "step 2" in told(page.by_id("call-2"))


def test_a_part_whose_value_is_no_mean_of_its_parts_claims_no_costs(run: RunFolder) -> None:
    lowest = Score(0.2, parts=(Part("a", 1, Score(0.2)), Part("b", 1, Score(0.8))), sentence="the lowest counts")
    page = page_of(run.write(lowest))
    assert "What cost the most" not in page.text.replace("the whole", "")
    assert "0.200 · 0.2 of 1 points" in told(page.by_id("score"))


def test_a_failed_condition_comes_first(run: RunFolder) -> None:
    score = gate({"opens": Score(0.0, sentence="book.xlsx is damaged"), "signed": True}, Score(1.0))
    page = page_of(run.write(score))
    assert "gate_failed: a condition that everything else hangs on was not met" in page.text
    assert "✗ no marks not met opens: book.xlsx is damaged" in told(page.of("ul", **{"class": "plain costs"})[0])
    assert "signed condition, met" in told(page.by_id("score"))


def test_nearly_all_is_not_shown_as_all(run: RunFolder) -> None:
    page = page_of(run.write(Score(0.99996)))
    assert "Scored 0.99996 of 1." in page.text


@pytest.mark.parametrize(
    ("outcome", "words", "means"),
    [
        (Outcome.UNSCORED_INFRASTRUCTURE, "The machine, the network or the model provider failed", "left out of both"),
        (Outcome.UNSCORED_GRADER, "The grader or the task's own code failed", "counts as 0 in the strict mean"),
        (Outcome.UNSCORED_HARNESS, "The agent's program could not be", "counts as 0 in the strict mean"),
    ],
)
def test_a_run_without_a_score_says_whose_fault_it_is_and_shows_the_evidence(
    run: RunFolder, outcome: Outcome, words: str, means: str
) -> None:
    error = ErrorRecord(kind="SandboxLost", phase="freeze", message="sandbox x no longer answers", evidence="oom: 7")
    page = page_of(run.write(None, [step(1, "true")], error, outcome))
    assert page.of("title")[0].text[0].startswith("No score: ")
    for text in (outcome.value, words, means, "in the phase freeze", "sandbox x no longer answers", "oom: 7"):
        assert text in told(page.of("body")[0])
    assert "The grader was not asked" in page.text


def test_a_cancelled_run_has_a_page_too(run: RunFolder) -> None:
    page = page_of(run.write(None, (), None, Outcome.CANCELLED, agent_end=None, phases={}))
    assert "A person stopped the run." in page.text
    assert "not reached" in page.text


def test_the_agents_end_and_the_limit_that_ended_it(run: RunFolder) -> None:
    folder = run.write(Score(0.0, "no_output", sentence="nothing was delivered"), agent_end=AgentEnd.TIME_LIMIT)
    page = page_of(folder)
    assert "time_limit" in page.text
    assert "no_output: nothing was delivered" in page.text


def test_delivered_files_are_previewed_by_what_they_are(run: RunFolder, tmp_path: Path) -> None:
    many = [["region", "amount"], *([f"r{number}", number] for number in range(100))]
    run.files = {
        "wide.csv": b";".join(b"c%d" % number for number in range(40)) + b"\n" + b";".join([b"1"] * 40),
        "book.xlsx": workbook(tmp_path / "book.xlsx", {"Figures": many, "Notes": [["checked"]], "Empty": []}),
        "report.md": b"# Report\n\nAll is **well**.\n",
        "chart.png": png(30, 20),
        "fake.png": b"<script>alert(1)</script>",
        "bomb.png": png(60_000, 60_000, b""),
        "data.bin": bytes(range(256)) * 8,
        "broken.xlsx": b"PK\x03\x04 and no more",
        "not.csv": b"\0\1\2\3",
        "empty.txt": b"",
        "latin.txt": "Zürich, 5 €".encode("cp1252"),
        "wide.txt": "schön".encode("utf-16"),
    }
    page = page_of(run.write(Score(1.0)))
    previews = {}
    for number, name in enumerate(sorted(run.files), start=1):
        previews[name] = told(page.by_id(f"file-{number}")).partition(" ")[2].partition(" ")[2]
    assert "all 2 rows, first 24 columns (delimiter ';') 1 c0 c1" in previews["wide.csv"]
    assert "Sheet Figures: first 30 rows 1 region amount 2 r0 0" in previews["book.xlsx"]
    assert "Sheet Notes: one row 1 checked" in previews["book.xlsx"]
    assert "Sheet Empty: no rows" in previews["book.xlsx"]
    assert "# Report All is **well**." in previews["report.md"]
    assert "<script>alert(1)</script>" in previews["fake.png"]
    assert "claims 60,000 × 60,000 pixels" in previews["bomb.png"]
    assert "No preview: it is binary data." in previews["data.bin"]
    assert "broken.xlsx is a damaged workbook" in previews["broken.xlsx"]
    assert "not.csv is binary data" in previews["not.csv"]
    assert "the file is empty" in previews["empty.txt"]
    assert "Zürich, 5 €" in previews["latin.txt"]
    assert "schön" in previews["wide.txt"]
    [image] = page.of("img")
    assert (image.attributes["width"], image.attributes["height"]) == ("30", "20")


def test_inputs_that_did_not_change_and_refused_entries_are_told_apart(run: RunFolder) -> None:
    run.files = {"input.csv": b"a,b\n", "answer.txt": b"42\n"}
    run.unchanged = {"input.csv"}
    run.refused = [{"path": "link", "reason": "link", "detail": "to /etc/passwd"}]
    page = page_of(run.write(Score(1.0)))
    assert [told(each) for each in page.of("summary") if "answer" in told(each)] == ["≡ answer.txt 3 bytes"]
    assert "input.csv (an input that did not change: does not count)" in page.text
    assert "entry reason detail link link to /etc/passwd" in told(page.by_id("files"))
    assert "1 file, 1 refused" in told(page.of("header")[0])


def test_steps_show_what_was_thought_done_and_answered(run: RunFolder) -> None:
    click = Action(type="GUI", tool="click", args={"x": 3, "y": 4, "options": {"why": "w" * 200}})
    steps = [
        step(1, "false", reasoning="I try.", observation=Observation(timestamp=at(3), stderr="bad", exit_code=1)),
        step(2, "", action=click, observation=Observation(timestamp=at(4), image_path=run.screenshot(2, png(40, 30)))),
        step(3, "sleep 9", saw=None),
        step(4, "", saw=None, action=Action(type="message", args={"text": "I am done."}), call_id=None, usage=None),
        step(5, "", actor="oracle", observation=Observation(error="TimeoutError: it took too long")),
    ]
    page = page_of(run.write(Score(1.0), steps))
    first = told(page.by_id("step-1"))
    assert "thought and said I try. command false standard error bad" in first
    assert "exit code 1" in first
    assert "x 3 y 4" in told(page.by_id("step-2"))
    assert page.of("img", alt="What the agent saw in step 2")
    assert "No answer to this was seen." in told(page.by_id("step-3"))
    assert "said I am done." in told(page.by_id("step-4"))
    assert "by oracle" in told(page.by_id("step-5"))
    assert "Steps that failed: 1, 5" in told(page.by_id("steps"))


def test_a_picture_that_comes_again_is_shown_once(run: RunFolder) -> None:
    first = run.screenshot(1, png(40, 30))
    again = "traj/screenshots/step_2.png"
    os.link(run.folder / first, run.folder / again)
    steps = [
        step(number, "look", observation=Observation(timestamp=at(9), image_path=name))
        for number, name in enumerate((first, again), start=1)
    ]
    page = page_of(run.write(Score(1.0), steps))
    assert len(page.of("img")) == 1
    assert "The same picture as in step 1." in told(page.by_id("step-2"))


def test_more_pictures_than_there_is_room_for_are_thinned_out_evenly(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [run.screenshot(number, png(40, 30 + number)) for number in range(1, 11)]
    size = (run.folder / names[-1]).stat().st_size
    monkeypatch.setattr(report_steps, "PICTURE_BYTES", 4 * size)
    steps = [
        step(number, "look", observation=Observation(timestamp=at(9), image_path=name))
        for number, name in enumerate(names, start=1)
    ]
    page = page_of(run.write(Score(1.0), steps))
    shown = [image.attributes["alt"] for image in page.of("img")]
    assert shown == [f"What the agent saw in step {number}" for number in (1, 4, 7, 10)]
    assert "4 of 10 pictures are shown" in page.text
    assert "to keep the page small: traj/screenshots/step_2.png" in told(page.by_id("step-2"))


def test_too_many_steps_leave_out_the_middle_and_say_so(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_steps, "MOST_STEPS", 300)
    page = page_of(run.write(Score(1.0), [step(number, "true") for number in range(1, 501)]))
    shown = [
        int(found.attributes["id"].removeprefix("step-"))
        for found in page.of("div", **{"class": "body"})
        if found.attributes["id"].startswith("step-")
    ]
    assert shown == [*range(1, 181), *range(381, 501)]
    assert "500 steps" in told(page.by_id("h-steps"))
    assert "200 steps between 180 and 381 are left out" in told(page.by_id("steps"))


def test_more_files_than_previews(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_files, "MOST_PREVIEWS", 2)
    monkeypatch.setattr(report_files, "MOST_FILES", 3)
    run.files = {f"{number}.txt": b"text" for number in range(5)}
    page = page_of(run.write(Score(1.0)))
    assert "Only the first 2 files have a preview." in told(page.by_id("file-3"))
    assert "2 more files: workspace/manifest.json" in told(page.by_id("files"))
    assert "3+ files" in page.text


def test_what_is_not_in_the_run_folder_is_not_read(run: RunFolder, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png(7, 7))
    (run.folder / "traj/screenshots").mkdir(parents=True)
    (run.folder / "traj/screenshots/step_2.png").symlink_to(secret)
    os.mkfifo(run.folder / "traj/screenshots/step_3.png")
    names = ("../secret.png", "traj/screenshots/step_2.png", "traj/screenshots/step_3.png", str(secret), "", "a\0b")
    steps = [
        step(number, "look", observation=Observation(timestamp=at(9), image_path=name))
        for number, name in enumerate(names, start=1)
    ]
    run.files = {"real.csv": b"a\n"}
    folder = run.write(Score(1.0), steps)
    (folder / "workspace/output/real.csv").unlink()
    (folder / "workspace/output/real.csv").symlink_to(secret)
    (folder / "harness").mkdir()
    (folder / "harness/stdout.log").symlink_to(secret)
    page = page_of(folder)
    assert not page.of("img")
    assert page.text.count("is not shown: ") == len(names)
    assert "Nothing was printed" in page.text


@pytest.mark.parametrize("damage", ["gone", "cut", "garbage", "deep", "wrong"])
def test_a_damaged_folder_still_has_a_page_that_says_what_is_damaged(run: RunFolder, damage: str) -> None:
    folder = run.write(SCORE, [step(number, "true") for number in range(1, 6)])
    for name in ("trajectory.json", "events.jsonl", "debug/eval/result.json", "workspace/manifest.json"):
        path = folder / name
        data = path.read_bytes()
        if damage == "gone":
            path.unlink()
        else:
            other = {
                "cut": data[: len(data) // 2],
                "garbage": b"\xff\xfe\x00{",
                "deep": b"[" * 10**6,
                "wrong": b"[1]\n",
            }
            path.write_bytes(other[damage])
    page = page_of(folder)
    assert "Scored 0.562 of 1." in page.text
    if damage == "gone":
        assert "There is no trajectory.json." in page.text
        assert "There is no events.jsonl." in page.text
        assert "Nothing was collected" in page.text
    if damage == "cut":
        assert "trajectory.json is damaged after step" in page.text
        assert "The grader's parts can't be shown" in page.text
        assert "workspace/manifest.json is damaged" in page.text


def test_earlier_tries_and_logs_are_there(run: RunFolder) -> None:
    error = ErrorRecord(kind="SandboxLost", phase="agent", message="the machine went away")
    RunFolder(run.folder / "tries" / "1").write(None, (), error, Outcome.UNSCORED_INFRASTRUCTURE)
    (run.folder / "tries" / "2").mkdir()
    run.put("harness/stderr.log", b"x" * 100_000 + b"\nthe end\n")
    page = page_of(run.write(Score(1.0)))
    assert "unscored.infrastructure: the machine went away" in page.text
    assert "it was cut short and has no result" in page.text
    assert "The last part of 100,009 bytes" in told(page.by_id("logs"))
    assert "the end" in told(page.by_id("logs"))


def test_a_run_under_way_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no result yet"):
        run_page(tmp_path)
