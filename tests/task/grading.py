"""Grade a directory with one of the workflows of tasks/, as the conductor would: in a worker, with a fresh machine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import anyio

from ale.computer.paths import INPUT, OUTPUT
from ale.sandbox.protocol import Provider, Sandbox, SandboxSpec
from ale.score import Part, Score
from ale.task.discover import Workflow, discover
from ale.task.run import TaskRun

ROOT = Path(__file__).resolve().parents[2]


def workflow(name: str) -> Workflow:
    return discover(ROOT / "tasks").workflow(name)


@asynccontextmanager
async def new_machine(provider: Provider) -> AsyncIterator[Sandbox]:
    sandbox = await provider.create(SandboxSpec(label="test-task", image="base"))
    try:
        yield sandbox
    finally:
        await sandbox.destroy()


async def graded(provider: Provider, name: str, instance: str, output: Path, log: Path) -> Score:
    task = workflow(name)
    run = TaskRun(task, instance, scratch=log)
    inputs, reference = task.folder_of("input", instance), task.folder_of("reference", instance)
    assert inputs is not None
    with anyio.fail_after(120):
        async with new_machine(provider) as machine:
            await machine.session().upload(inputs, INPUT, read_only=True)
            await machine.session().upload(output, OUTPUT, owner="agent")
            return (await run.evaluate(machine.endpoint, output, reference, inputs, log)).score


def part(score: Score, *names: str) -> Score:
    """The score of a part of a part …"""
    for name in names:
        found: Part = next(part for part in score.parts if part.name == name)
        score = found.score
    return score


def module_of(path: Path) -> ModuleType:
    """A Python file of a task, imported."""
    spec = importlib.util.spec_from_file_location(f"task_{path.parts[-3]}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
