"""The class form from upload to score, in real machines: what is staged when, and who sees what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ale.errors import GraderError
from ale.sandbox import open_provider
from ale.sandbox.protocol import Sandbox, SandboxSpec
from ale.task.discover import Workflow
from ale.task.run import Evaluation, Started, TaskRun

pytestmark = pytest.mark.sandbox

VIDEO_EDIT = """\
from ale.task import Task


class VideoEditTask(Task):
    def stage_inputs(self, vm_session):
        vm_session.upload_file("input/clip.mp4", "/workspace/")
        vm_session.upload_file("input/titles.srt", "/workspace/subtitles/en.srt")
        vm_session.exec("mkdir -p /workspace/exports")
        return {"instruction": "Cut the clip to its first 64 bytes as exports/cut.mp4.", "workspace": "/workspace/"}

    def stage_reference(self, vm_session):
        vm_session.upload_file("reference/cut.mp4", "/grading/")
        vm_session.upload_file("scripts/compare", "/grading/")

    def evaluate(self, vm_session):
        result = vm_session.exec("/grading/compare /workspace/exports/cut.mp4 /grading/cut.mp4")
        return float(result.stdout)
"""

COMPARE = """\
#!/usr/bin/env python3
import sys
found, expected = (open(name, "rb").read() for name in sys.argv[1:])
print(sum(a == b for a, b in zip(found, expected)) / max(len(found), len(expected)))
"""

CLIP = b"\x00\x00\x00\x18ftypmp42" + bytes(range(256))

FILES = {
    "input/clip.mp4": CLIP,
    "input/titles.srt": "1\n00:00:00,000 --> 00:00:01,000\nHello\n",
    "reference/cut.mp4": CLIP[:64],
    "scripts/compare": COMPARE,
}


@asynccontextmanager
async def new_machine(image: str) -> AsyncIterator[Sandbox]:
    sandbox = await open_provider("local").create(SandboxSpec(label="test-class-form", image=image))
    try:
        yield sandbox
    finally:
        await sandbox.destroy()


async def examine(workflow: Workflow, image: str, tmp_path: Path, work: str) -> tuple[Started, Evaluation]:
    """What the conductor does, without its records: the agent's machine, then a fresh one to grade in."""
    run = TaskRun(workflow, "base", scratch=tmp_path / "scratch")
    with anyio.fail_after(120):
        async with new_machine(image) as machine:
            started = await run.stage_and_start(machine.endpoint)
            await machine.session("agent").run_command(work, cwd=started.workspace)
            await machine.freeze()
            root = machine.session("root")
            assert not await root.exists("/grading")
            await root.download(started.workspace, tmp_path / "output")
        async with new_machine(image) as machine:
            await machine.session("root").upload(tmp_path / "output", started.workspace, owner="agent")
            (tmp_path / "inputs").mkdir()
            reference = workflow.folder_of("reference", "base")
            done = await run.evaluate(
                machine.endpoint, tmp_path / "output", reference, tmp_path / "inputs", tmp_path / "log"
            )
    return started, done


async def test_from_upload_to_score(workflow_of: Callable[..., Workflow], base_image: str, tmp_path: Path) -> None:
    workflow = workflow_of(VIDEO_EDIT, files=FILES)
    work = "head -c 64 clip.mp4 > exports/cut.mp4 && cat subtitles/en.srt && echo more >> subtitles/en.srt"
    started, done = await examine(workflow, base_image, tmp_path, work)
    assert started.workspace == "/workspace/"
    assert done.score.value == 1.0


async def test_half_the_work_is_half_the_score(
    workflow_of: Callable[..., Workflow], base_image: str, tmp_path: Path
) -> None:
    _, done = await examine(
        workflow_of(VIDEO_EDIT, files=FILES), base_image, tmp_path, "head -c 32 clip.mp4 > exports/cut.mp4"
    )
    assert done.score.value == 0.5


async def test_no_work_makes_this_grader_fail_and_that_is_said(
    workflow_of: Callable[..., Workflow], base_image: str, tmp_path: Path
) -> None:
    with pytest.raises(GraderError, match=r"main\.py:17: evaluate: ValueError: could not convert string to float"):
        await examine(workflow_of(VIDEO_EDIT, files=FILES), base_image, tmp_path, "true")
