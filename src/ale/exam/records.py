"""The trajectory of a run that has ended: from its transcript, or from what the oracle was seen doing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ale.exam.ledger import Ledger
from ale.task.process import ACTIONS
from ale.trajectory.build import steps_from_transcript
from ale.trajectory.document import Meta, write_trajectory
from ale.trajectory.recorder import RecordedAction, steps_from_actions
from ale.trajectory.schema import Agent, Artifact, Step, TaskRef


def write_trajectory_records(folder: Path, ledger: Ledger) -> None:
    """Write trajectory.json and interaction_log.json from whatever was recorded, also of a run that was cut short."""
    plan = ledger.plan
    meta = Meta(
        run=plan.id,
        agent=Agent(
            name=plan.agent.name,
            harness=plan.agent.harness,
            harness_version=ledger.agent_version,
            model=plan.agent.model_name if plan.agent.model else None,
        ),
        task=TaskRef(workflow=plan.case.workflow.name, instance=plan.case.instance, digest=ledger.digests.get("task")),
        instruction=ledger.instruction,
        final_score=ledger.score.value if ledger.score is not None else None,
        outcome=ledger.outcome.value,
        artifacts=tuple(_artifacts(folder)),
    )
    write_trajectory(folder, meta, _steps(folder))


def _steps(folder: Path) -> Iterator[Step]:
    actions = folder / "debug" / "task" / "solve" / ACTIONS
    if (folder / "transcript.jsonl").is_file():
        yield from steps_from_transcript(folder)
    elif actions.is_file():
        yield from steps_from_actions(folder, _recorded(actions))


def _recorded(path: Path) -> Iterator[RecordedAction]:
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):  # a worker that was killed may have left half a line
                yield RecordedAction.model_validate_json(line)


def _artifacts(folder: Path) -> Iterator[Artifact]:
    manifest = folder / "workspace" / "manifest.json"
    if manifest.is_file():
        for file in json.loads(manifest.read_bytes())["files"]:
            if file["delivered"]:
                yield Artifact(path=file["path"], size=file["size"], sha256=file["sha256"])
