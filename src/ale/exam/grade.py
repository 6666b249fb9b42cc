"""Stage the reference, only now, and let evaluate() judge what was left, in a process and a machine of its own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ale.computer.paths import REFERENCE
from ale.exam.collecting import Artifacts
from ale.exam.events import EventLog
from ale.exam.folder import write_whole
from ale.exam.staging import Captured, stage_captured
from ale.grading.shape import check_shape
from ale.sandbox.protocol import Sandbox
from ale.score import Score
from ale.task.card import Card
from ale.task.run import TaskRun


async def grade(
    card: Card,
    task: TaskRun,
    *,
    machine: Callable[[], Awaitable[Sandbox]],
    restage: bool,
    captured: Captured,
    artifacts: Artifacts,
    workspace: str,
    reference: Path | None,
    folder: Path,
    log: EventLog,
) -> Score:
    """The score, also written to debug/eval/result.json. Nothing is asked of evaluate() when the deliverable is missing
    or has the wrong shape.

    Raises GraderError, JudgeError, and what making the grading machine raises.
    """
    with log.phase("reference") as notes:
        score = check_shape(card.outputs, artifacts.collected, artifacts.delivered)
        if score is not None:
            notes["skipped"] = score.reason
        else:
            grading_machine = await machine()
            notes["sandbox"] = grading_machine.id
            session = grading_machine.session("root")
            if restage:
                await stage_captured(session, captured, artifacts.folder, workspace)
            if card.reference_in_machine and reference is not None:
                await session.upload(reference, REFERENCE, owner="root", read_only=True, private=True)
    with log.phase("evaluate") as notes:
        evaluation: dict[str, Any] = {"schema": "ale.evaluation/1"}
        if score is None:
            done = await task.evaluate(
                grading_machine.endpoint,
                output=artifacts.folder,
                reference=reference,
                inputs=captured.folder / "input",
                log=folder / "debug" / "eval",
            )
            score = done.score
            evaluation |= {"stdout": done.stdout.name, "stderr": done.stderr.name}
        notes |= {"value": score.value, "reason": score.reason}
        evaluation["score"] = score.to_json()
        write_whole(folder / "debug" / "eval" / "result.json", json.dumps(evaluation, indent=1).encode())
    return score
