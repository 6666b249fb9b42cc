"""The page of a run that really took place, in a real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.exam.conftest import Bench
from tests.report.html import Page, foreign, told

from ale.exam.conductor import carry_out
from ale.exam.experiment import Experiment
from ale.exam.planning import make_plan
from ale.report.page import run_page

pytestmark = pytest.mark.sandbox


async def test_the_oracles_steps_and_its_deliverable_are_on_its_page(tmp_path: Path, base_image: str) -> None:
    folder = await examined(Bench(tmp_path), "oracle")
    page = Page("".join(run_page(folder)))
    assert foreign(page) == []
    assert page.of("title")[0].text[0].startswith("1.000: oracle on computing_math/sums:one")
    assert "answer.txt" in told(page.by_id("step-1"))
    assert "42" in told(page.by_id("file-1"))
    assert "a new machine from the same image, which the agent never saw" in told(page.by_id("trust"))
    assert "that none is left was seen from inside the machine and the host" in told(page.by_id("trust"))


async def test_an_idle_agents_zero_has_its_reason(tmp_path: Path, base_image: str) -> None:
    page = Page("".join(run_page(await examined(Bench(tmp_path), "idle"))))
    assert foreign(page) == []
    assert "no_output: nothing was delivered" in page.text
    assert "No step was recorded." in told(page.by_id("steps"))


async def examined(bench: Bench, agent: str) -> Path:
    experiment: Experiment = bench.experiment(agent)
    plan = await make_plan(experiment)
    await carry_out(plan, observer=bench.events.append, finished=lambda _: None, say=bench.said.append)
    return plan.runs[0].folder
