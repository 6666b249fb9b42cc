"""Whatever a sandbox says is text on the page: it makes no element, no attribute, no address, and no long page."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.report.folders import RunFolder, at, step
from tests.report.html import Page, foreign

from ale.exam.result import AgentRecord, ErrorRecord
from ale.outcome import Outcome
from ale.report.page import run_page
from ale.report.shown import visible
from ale.score import Part, Score
from ale.trajectory.schema import Action, Observation

ATTACKS = [
    "<script>document.title='owned'</script>",
    "</title></style></pre></script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<!--", "-->", "<![CDATA[", "]]>", "<?xml", "&lt;b&gt;", "&#0;", "&",
    "{{ 7*7 }}{% raw %}{# x #}${7*7}",
    "data:text/html,<script>alert(1)</script>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<base href=//127.0.0.1:9/><link rel=stylesheet href=//127.0.0.1:9/x>",
    "</details></section></main></body></html>",
    "<style>*{display:none}</style>",
    "\x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07\x1b[2J",
    "\u202eslx.erocs\u2066\u200b\ufeff\x00",
    "<textarea><plaintext><xmp><noscript><template>",
]  # fmt: skip

TEXT = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from([*"<>\"'&/=`!-?[]{}%#\n\r\t\0\x1b;: ab", "script", "pre"]), max_size=30).map("".join),
)
VALUE = st.recursive(
    TEXT | st.integers() | st.none() | st.booleans(), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


def write(folder: Path, draw: Any) -> Path:
    """A run in which every text that an agent, a grader or a file name can bring in is drawn."""
    run = RunFolder(folder)
    run.agent = AgentRecord(
        name=draw(), harness="qwen-code", model=draw(), model_name=draw(), settings={draw(): draw()}
    )
    run.instruction, run.last_message = draw(), draw()
    run.refused = [{"path": draw(), "reason": draw(), "detail": draw()}]
    run.files = {"a.txt": draw().encode(), "b.csv": f"x,{draw()}\n{draw()},1\n".encode(), "c.png": draw().encode()}
    mistake = {"where": {"key": draw(), "row": draw()}, "found": draw(), "expected": draw(), "tolerance": draw()}
    leaf = Part(draw(), 1, Score(0.5, sentence=draw(), details={"mistakes": [mistake], draw(): draw()}))
    score = Score(0.5, parts=(leaf, Part(draw(), 0, Score(0, sentence=draw()))), sentence=draw())
    seen = Observation(timestamp=at(4), stdout=draw(), stderr=draw(), text=draw(), error=draw(), image_path=draw())
    steps = [
        step(1, draw(), draw(), reasoning=draw(), actor=draw()),
        step(
            2, "", action=Action(type="Other", tool=draw(), args={draw(): draw(), draw(): [draw()]}), observation=seen
        ),
    ]
    run.put("harness/stderr.log", draw().encode())
    run.put("debug/task/start/stdout.txt", draw().encode())
    error = ErrorRecord(kind=draw(), phase=draw(), message=draw(), evidence=draw())
    freeze = {"killed": [draw()], "checked": [draw()], "seconds": 1}
    made = run.write(score, steps, error, Outcome.SCORED, experiment=draw(), workflow=draw(), versions={draw(): draw()})
    result = json.loads((made / "run_result.json").read_bytes())
    result["integrity"] |= {"freeze": freeze, "strength": {draw(): {draw(): draw()}}}
    result["limits"]["reached"] = draw()
    (made / "run_result.json").write_text(json.dumps(result))
    manifest = json.loads((made / "workspace/manifest.json").read_bytes())
    manifest["files"].append({"path": draw(), "size": 1, "sha256": draw(), "executable": True, "delivered": True})
    (made / "workspace/manifest.json").write_text(json.dumps(manifest))
    return made


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_known_attack_is_text_wherever_it_stands(attack: str, tmp_path: Path) -> None:
    page = Page("".join(run_page(write(tmp_path / "run", lambda: attack))))
    assert foreign(page) == []
    assert page.text.count(" ".join(visible(attack).split())) >= 20


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_no_text_whatever_becomes_markup(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Page("".join(run_page(write(Path(folder, "run"), lambda: data.draw(TEXT)))))
        assert foreign(page) == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXT, VALUE, max_size=5), TEXT)
def test_arguments_of_any_shape_have_a_place(args: dict[str, Any], tool: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder, "run"))
        made = run.write(Score(1.0), [step(1, "", action=Action(type="File", tool=tool, args=args))])
        assert foreign(Page("".join(run_page(made)))) == []


def test_the_page_forbids_everything_but_its_own_style_and_pictures(tmp_path: Path) -> None:
    page = Page("".join(run_page(RunFolder(tmp_path / "run").write(Score(1.0)))))
    [policy] = page.of("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy.attributes["content"] == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    assert page.elements.index(policy) < page.elements.index(page.of("style")[0])


@pytest.mark.parametrize("filler", ["x", "<", "\U000e0041", "字"], ids=ascii)
def test_lines_of_20_mb_make_a_page_of_bounded_size(tmp_path: Path, filler: str) -> None:
    run = RunFolder(tmp_path / "run")
    line = filler * (20_000_000 // len(filler.encode()))
    run.files = {"line.txt": line.encode(), "line.csv": line.encode()}
    run.last_message = run.instruction = line[:200_000]
    steps = [step(number, line, line, reasoning=line[:1000]) for number in (1, 2)]
    page = "".join(run_page(run.write(Score(0.5, sentence=line[:100_000]), steps)))
    assert len(page.encode()) < 600_000
    assert "characters are left out here; all of them: trajectory.json, step 1." in page


def test_5000_steps_of_much_text_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    noise = "<b>\"noise\" & 'more'\x1b[0m" * 200
    made = run.write(Score(0.5), (step(number, noise, noise, reasoning=noise) for number in range(1, 5001)))
    html = "".join(run_page(made))
    assert len(html.encode()) < 20_000_000
    assert html.count('id="step-') == 5000


def test_100000_files_and_refusals_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    made = run.write(Score(1.0))
    entry = {"size": 1, "sha256": "0" * 64, "executable": False, "delivered": True}
    many = range(100_000)
    manifest = {
        "root": "/task/output",
        "files": [entry | {"path": f"{number}/{'<' * 200}"} for number in many],
        "refused": [{"path": f"{number}{'&' * 200}", "reason": "link", "detail": ""} for number in many],
    }
    (made / "workspace/manifest.json").write_text(json.dumps(manifest))
    html = "".join(run_page(made))
    assert len(html) < 1_500_000
    assert "99,700 more files" in html
    assert "99,800 more" in html
