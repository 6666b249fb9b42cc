"""The instances of a workflow, read from its code once for each digest of its folder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ale.errors import TaskError
from ale.task.discover import Workflow
from ale.task.process import Bounds, Job, run_job

_BOUNDS = Bounds(seconds=60.0, memory_mb=4096)


@dataclass(frozen=True)
class InstanceInfo:
    name: str
    description: str
    computer: Mapping[str, Any] | None = None


async def list_instances(workflow: Workflow, cache: Path | None = None) -> tuple[InstanceInfo, ...]:
    """The instances in the workflow's order. cache: a directory of earlier answers; losing it costs only time.

    Raises TaskError with workflow, file and line when the module can't be loaded, and when the folders can't be meant.
    """
    found = await _known(workflow, cache)
    if problem := workflow.folder_problem([instance.name for instance in found]):
        raise TaskError(f"task {workflow.name}: {problem}")
    return found


async def _known(workflow: Workflow, cache: Path | None) -> tuple[InstanceInfo, ...]:
    digest = await anyio.to_thread.run_sync(lambda: workflow.digest)
    remembered = None if cache is None else cache / f"{digest}.json"
    if remembered is not None and (known := _recall(remembered)) is not None:
        return known
    job = Job(phase="instances", name=workflow.name, folder=workflow.folder, root=workflow.root)
    with tempfile.TemporaryDirectory(prefix="ale-task-") as logs:
        entries = await run_job(job, _BOUNDS, Path(logs))
    try:
        found = _infos(entries)
    except (TypeError, KeyError):
        raise TaskError(f"task {workflow.name}: load() gave no list of instances") from None
    if remembered is not None:
        _remember(remembered, entries)
    return found


def _infos(entries: Any) -> tuple[InstanceInfo, ...]:
    return tuple(InstanceInfo(entry["name"], entry["description"], entry["computer"]) for entry in entries)


def _recall(path: Path) -> tuple[InstanceInfo, ...] | None:
    try:
        return _infos(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remember(path: Path, entries: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(entries, file)
    Path(temporary).replace(path)
