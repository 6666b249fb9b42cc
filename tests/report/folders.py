"""Run folders written with the models that write the real ones, for tests that need a run of a certain kind."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from ale.exam.events import Event
from ale.exam.folder import RESULT, write_record
from ale.exam.result import (
    AgentRecord,
    AgentResultRecord,
    ErrorRecord,
    Integrity,
    LimitRecord,
    PhaseTime,
    RunResult,
    ScoreRecord,
    UsageRecord,
)
from ale.outcome import AgentEnd, Outcome
from ale.score import Score
from ale.trajectory.document import Meta, write_trajectory
from ale.trajectory.schema import Action, Agent, Observation, Step, TaskRef, Usage

BEGIN = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def step(number: int, did: str, saw: str | None = "", **changes: Any) -> Step:
    """A shell command and its output; `action`, `observation` and whatever else a Step has can be given instead."""
    given: dict[str, Any] = {
        "step": number,
        "timestamp": at(1 + number),
        "call_id": number,
        "action": Action(type="Bash", tool="run_shell_command", args={"command": did}),
        "observation": None if saw is None else Observation(timestamp=at(1.4 + number), stdout=saw, exit_code=0),
        "usage": Usage(input_tokens=1000 + number, output_tokens=20, cost_usd=0.01),
    }
    return Step(**given | changes)


def png(width: int, height: int, rows: bytes | None = None, before: bytes = b"") -> bytes:
    """A picture of grey bands; `rows` replaces its packed pixels, `before` comes in front of them."""
    pixels = b"".join(b"\0" + bytes([40 + (y * 7) % 200]) * width for y in range(height)) if rows is None else rows
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), before, chunk(b"IDAT", zlib.compress(pixels)), chunk(b"IEND", b"")]
    )


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


class RunFolder:
    """A run in the making; `write` completes it. Whatever a test does not set is that of an ordinary run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.agent = AgentRecord(name="writer", harness="qwen-code", version="0.24.4", model="m", model_name="model-1")
        self.instruction = "Write the answer to /task/output/answer.txt."
        self.files: dict[str, bytes] = {}
        self.unchanged: set[str] = set()
        self.refused: list[dict[str, str]] = []
        self.last_message = "done"

    def write(
        self,
        score: Score | None = None,
        steps: Iterable[Step] = (),
        error: ErrorRecord | None = None,
        outcome: Outcome = Outcome.SCORED,
        **changes: Any,
    ) -> Path:
        if score is not None:
            text = json.dumps({"schema": "ale.evaluation/1", "score": score.to_json()})
            self.put("debug/eval/result.json", text.encode())
        task = TaskRef(workflow="education_info/sums", instance="one")
        totals = write_trajectory(
            self.folder, Meta("0123456789abcdef", Agent(name=self.agent.name), task, self.instruction), steps
        )
        self._write_output()
        self._write_events(totals.calls)
        result = RunResult(
            id="0123456789abcdef",
            experiment="exam",
            workflow="education_info/sums",
            instance="one",
            attempt=1,
            agent=self.agent,
            outcome=outcome,
            score=ScoreRecord(value=score.value, reason=score.reason) if score is not None else None,
            agent_end=AgentEnd.FINISHED,
            error=error,
            started=BEGIN,
            ended=at(20),
            phases={"agent": PhaseTime(start=at(1), end=at(15), seconds=14)},
            limits=LimitRecord(time=300, time_set_by="task", steps=50),
            usage=UsageRecord(
                model_calls=totals.calls,
                input_tokens=totals.usage.input_tokens,
                output_tokens=totals.usage.output_tokens,
                cost_usd=totals.usage.cost_usd,
                agent_seconds=14,
            ),
            integrity=Integrity(
                graded_on="fresh",
                freeze={"killed": ["51 sleep"], "checked": ["guest", "host"], "seconds": 0.01},
                strength={"memory": "cgroup v2"},
                reference_absent=True,
            ),
            versions={"ale": "0.1.0"},
            digests={"task": "0" * 64, "image": {"name": "base", "content": "1" * 64}},
            sandboxes=["aaaa", "bbbb"],
        ).model_copy(update=changes)
        write_record(self.folder / RESULT, result)
        ended = AgentResultRecord(
            status="finished",
            agent_end=AgentEnd.FINISHED,
            exit_code=0,
            last_message=self.last_message,
            started=at(1),
            ended=at(15),
        )
        write_record(self.folder / "agent_result.json", ended)
        return self.folder

    def put(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def screenshot(self, number: int, data: bytes) -> str:
        self.put(name := f"traj/screenshots/step_{number}.png", data)
        return name

    def _write_output(self) -> None:
        for name, data in self.files.items():
            self.put(f"workspace/output/{name}", data)
        manifest = {
            "schema": "ale.manifest/1",
            "root": "/task/output",
            "files": [self._file(name, data) for name, data in self.files.items()],
            "directories": [],
            "refused": self.refused,
        }
        self.put("workspace/manifest.json", json.dumps(manifest).encode())

    def _file(self, name: str, data: bytes) -> Mapping[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        facts = {"path": name, "size": len(data), "sha256": digest, "executable": False}
        return facts | {"delivered": name not in self.unchanged}

    def _write_events(self, calls: int) -> None:
        moments = {
            "plan": (0, 0.1),
            "provision": (0.1, 0.6),
            "agent": (1, 15),
            "freeze": (15, 15.1),
            "evaluate": (16, 19),
        }
        events = [
            event
            for phase, (start, end) in moments.items()
            for event in (_event(f"{phase}.start", start), _event(f"{phase}.end", end, seconds=end - start))
        ]
        for number in range(1, calls + 1):
            times = {"start": at(number).isoformat(), "end": at(number + 0.5).isoformat()}
            usage = {"input_tokens": 1000 + number, "output_tokens": 20, "cost_usd": 0.01}
            events.append(_event("model.call", number, n=number, status=200, usage=usage, error=None, **times))
        self.put("events.jsonl", b"".join(event.model_dump_json().encode() + b"\n" for event in events))


def _event(name: str, when: float, **data: Any) -> Event:
    return Event(event=name, run="0123456789abcdef", time=at(when), mono=1000 + when, data=data)


def workbook(path: Path, sheets: Mapping[str, list[list[Any]]]) -> bytes:
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path.read_bytes()
