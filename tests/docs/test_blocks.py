"""The exam file that the documentation shows is a valid one, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ale.exam.experiment import read_experiment

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_exam_file_of_the_guide_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "docs/running-exams.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "exam.yaml").write_text(block, encoding="utf-8")
    exam = read_experiment(tmp_path / "exam.yaml")
    assert [agent.name for agent in exam.agents] == ["oracle", "idle", "qwen-scripted"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
