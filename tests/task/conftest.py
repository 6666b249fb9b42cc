"""Workflows that tests write down in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from ale.task.discover import Workflow, discover

CARD = """\
id: {name}
title: A test
cluster: {cluster}
subdomain: "{subdomain}"
occupation: {{code: "13-2011.00", title: Accountants}}
tier: near-term
time_budget_s: 60
criteria: [{{text: right, weight: 1}}]
authors: [us]
licence: Apache-2.0
canary: ale-canary-test
"""

SUBDOMAINS = {"legal": "7.1", "business_finance": "6.1"}

MAIN = """\
from ale.task import Task

def load():
    return [Task(description="Do it.")]

async def start(task, session):
    pass

async def evaluate(task, session):
    return 1.0
"""

WriteWorkflow = Callable[..., Path]


@pytest.fixture
def write_workflow(tmp_path: Path) -> WriteWorkflow:
    """write_workflow(main, name="legal/first", card=..., files={relative: text}) → the workflow's folder."""

    def write(
        main: str = MAIN,
        name: str = "legal/first",
        card: str | None = None,
        files: Mapping[str, str | bytes] | None = None,
    ) -> Path:
        cluster, _, workflow = name.partition("/")
        folder = tmp_path / "tasks" / cluster / workflow
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.py").write_text(dedent(main), encoding="utf-8")
        text = CARD.format(name=workflow, cluster=cluster, subdomain=SUBDOMAINS[cluster]) if card is None else card
        (folder / "task.yaml").write_text(text, encoding="utf-8")
        for relative, content in (files or {}).items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write


@pytest.fixture
def workflow_of(write_workflow: WriteWorkflow) -> Callable[..., Workflow]:
    """The same, but found by discover()."""

    def make(main: str = MAIN, **how: object) -> Workflow:
        folder = write_workflow(main, **how)
        catalogue = discover(folder.parents[1])
        assert catalogue.broken == ()
        return catalogue.workflow(f"{folder.parent.name}/{folder.name}")

    return make
