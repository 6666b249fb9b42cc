"""What `ale task new` writes passes: its oracle has full marks in a real machine, and an idle agent none."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from ale.computer.paths import INPUT, OUTPUT
from ale.sandbox import open_provider
from ale.sandbox.protocol import SandboxSpec
from ale.task.discover import discover
from ale.task.run import TaskRun
from ale.task.scaffold import scaffold


@pytest.mark.sandbox
async def test_a_new_task_passes(tmp_path: Path, base_image: str) -> None:
    scaffold(tmp_path, "business_finance/petty_cash")
    workflow = discover(tmp_path).workflow("business_finance/petty_cash")
    run = TaskRun(workflow, "instance1", scratch=tmp_path / "scratch")
    inputs, reference = workflow.folder_of("input", "instance1"), workflow.folder_of("reference", "instance1")
    assert inputs is not None
    with anyio.fail_after(120):
        machine = await open_provider("local").create(SandboxSpec(label="test-scaffold", image=base_image))
        try:
            root = machine.session("root")
            await root.upload(inputs, INPUT, read_only=True)
            await root.run_command(["install", "-d", "-o", "agent", "-g", "agent", OUTPUT])
            started = await run.stage_and_start(machine.endpoint)
            assert "March 2025" in started.instruction
            await run.solve(machine.endpoint)
            await root.download(OUTPUT, tmp_path / "output")
            done = await run.evaluate(machine.endpoint, tmp_path / "output", reference, inputs, tmp_path / "log")
        finally:
            await machine.destroy()
    assert done.score.value == 1.0, done.score.to_json()
