"""What docs/writing-a-task.md shows is what works."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from tests.task.conftest import WriteWorkflow

from ale.task.card import Card
from ale.task.discover import Workflow, discover
from ale.task.instances import list_instances
from ale.task.taxonomy import CLUSTERS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "writing-a-task.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_functions_on_the_page_are_those_that_ale_task_new_writes() -> None:
    template = (resources.files("ale.task") / "template" / "main.py.txt").read_text(encoding="utf-8")
    functions = [block for block in blocks("python") if "class " not in block]
    assert len(functions) == 4
    for block in functions:
        assert block in template


def test_the_clusters_on_the_page_are_all_there_are() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d.*) \|$", PAGE, re.MULTILINE)
    shown = {
        cluster: dict(entry.split(" ", 1) for entry in re.split(r", (?=\d+\.)", subdomains))
        for cluster, subdomains in rows
    }
    assert shown == CLUSTERS


async def test_the_class_on_the_page_loads(workflow_of: Callable[..., Workflow]) -> None:
    (block,) = [block for block in blocks("python") if "class " in block]
    (instance,) = await list_instances(workflow_of(block))
    assert instance.name == "base"


def test_the_card_on_the_page_is_valid_and_names_every_key(write_workflow: WriteWorkflow) -> None:
    (block,) = blocks("yaml")
    folder = write_workflow(name="business_finance/petty_cash", card=block)
    catalogue = discover(folder.parents[1])
    assert catalogue.broken == ()
    shown = set(re.findall(r"^(\w+):", block, re.MULTILINE))
    assert shown == set(Card.model_fields) - {"judge", "why_judge"}
