"""What a real browser makes of the page: it runs nothing, loads nothing, and leads where its links say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.browser import CHROMIUM, Browser, open_browser
from tests.report.folders import RunFolder, at, png, step
from tests.report.test_hostile import ATTACKS, write

from ale.report.page import run_page, write_page
from ale.score import Part, Score
from ale.trajectory.schema import Observation

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: scripts/system-packages tests"),
]


@pytest.fixture
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


def page_file(folder: Path, path: Path) -> Path:
    write_page(path, run_page(folder))
    return path


def test_no_attack_runs_loads_or_renames_anything(browser: Browser, tmp_path: Path) -> None:
    everything = "".join(ATTACKS)
    path = page_file(write(tmp_path / "run", lambda: everything), tmp_path / "page.html")
    title = "0.500: "
    browser.open(path)
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    browser.picture(tmp_path / "hostile.png")
    assert browser.evaluate("document.title").startswith(title)
    assert browser.told("Page.javascriptDialogOpening", "Runtime.exceptionThrown", "Log.entryAdded") == []
    assert [event["request"]["url"] for event in browser.told("Network.requestWillBeSent")] == [path.as_uri()]
    assert browser.evaluate("document.scripts.length + document.querySelectorAll('iframe,object,embed').length") == 0
    assert browser.evaluate("location.href") == path.as_uri()


def test_the_policy_holds_even_against_a_script_in_the_page(browser: Browser, tmp_path: Path) -> None:
    path = page_file(RunFolder(tmp_path / "run").write(Score(1.0)), tmp_path / "page.html")
    script = "document.title='owned'"
    attack = f'<script>{script}</script><img src="http://127.0.0.1:9/x"><img src=x onerror="{script}">'
    path.write_text(path.read_text(encoding="utf-8").replace("<main>", f"<main>{attack}"), encoding="utf-8")
    browser.open(path)
    assert browser.evaluate("document.title").startswith("1.000: ")
    assert any("Content Security Policy" in event["entry"]["text"] for event in browser.told("Log.entryAdded"))
    assert browser.told("Network.responseReceived")[1:] == []


def test_a_link_opens_the_closed_step_that_it_leads_to(browser: Browser, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    score = Score(0.5, parts=(Part("answer.txt", 1, Score(0.5, sentence="answer.txt says 41, expected 42")),))
    steps = [step(number, "echo 41 > answer.txt" if number == 250 else "true") for number in range(1, 301)]
    browser.open(page_file(run.write(score, steps), tmp_path / "page.html"))
    is_open = "document.getElementById('step-250').closest('details').open"
    assert browser.evaluate(is_open) is False
    browser.evaluate("document.querySelector('#part-2 a[href=\"#step-250\"]').focus()")
    browser.press("Enter", 13)
    where = browser.evaluate(
        "new Promise(done => setTimeout(() => done([" + is_open + ", document.getElementById('step-250')"
        ".getBoundingClientRect().top, innerHeight, location.hash]), 200))"
    )
    assert where[0] is True
    assert 0 <= where[1] < where[2]
    assert where[3] == "#step-250"


def test_everything_that_opens_can_be_reached_by_tab(browser: Browser, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.files = {"a.txt": b"text"}
    browser.open(page_file(run.write(Score(1.0), [step(1, "true")]), tmp_path / "page.html"))
    reached = set()
    for _ in range(60):
        browser.press("Tab", 9)
        reached.add(browser.evaluate("document.activeElement.innerText"))
    wanted = browser.evaluate(
        "[...document.querySelectorAll('summary')].filter(s => s.checkVisibility()).map(s => s.innerText)"
    )
    assert set(wanted) <= reached


def test_pictures_are_decoded_and_nothing_is_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    name = run.screenshot(1, png(1280, 800))
    wide = "W" * 5000
    steps = [step(1, wide, observation=Observation(timestamp=at(3), stdout=wide, image_path=name))]
    run.files = {"wide.csv": (",".join(["column name"] * 40) + "\n").encode(), f"{'n' * 200}.txt": b"x"}
    score = Score(0.5, sentence=wide[:900], parts=(Part(wide[:200], 1, Score(0.5)),))
    path = page_file(run.write(score, steps), tmp_path / "page.html")
    browser.picture(tmp_path / "first.png", 390, 800)
    browser.open(path, "#step-1")
    assert browser.evaluate("document.images[0].decode().then(() => document.images[0].naturalWidth)") == 1280
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.evaluate("document.images[0].getBoundingClientRect().width") < 390


def test_5000_steps_are_laid_out_only_where_one_looks(browser: Browser, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    text = "some output of a command\n" * 60
    made = run.write(Score(0.5), (step(number, text, text) for number in range(1, 5001)))
    browser.open(page_file(made, tmp_path / "page.html"), "#step-4321")
    assert browser.evaluate("document.getElementById('step-4321').closest('details').open") is True
    assert browser.evaluate("document.querySelectorAll('details.step').length") == 5000
    assert browser.evaluate("document.querySelectorAll('details.step[open]').length") == 1
