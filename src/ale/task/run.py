"""The task's side of one run: start(), solve() and evaluate(), each in a worker process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ale.computer.endpoint import Endpoint
from ale.computer.paths import OUTPUT
from ale.score import Score
from ale.task.discover import Workflow
from ale.task.process import Bounds, Job, JobPhase, run_job


@dataclass(frozen=True)
class TaskLimits:
    """Wall seconds of each phase, and memory of the worker process."""

    start_seconds: float = 600.0
    solve_seconds: float = 5 * 3600.0
    evaluate_seconds: float = 900.0
    memory_mb: int = 4096


@dataclass(frozen=True)
class Started:
    """What the agent is told, and the directory in the machine where it delivers."""

    instruction: str
    workspace: str = OUTPUT


@dataclass(frozen=True)
class Evaluation:
    score: Score
    stdout: Path
    stderr: Path


class TaskRun:
    """scratch: a directory of this run on the host, where start() and solve() leave what they printed."""

    def __init__(self, workflow: Workflow, instance: str, *, scratch: Path, limits: TaskLimits | None = None) -> None:
        self.workflow = workflow
        self.instance = instance
        self._scratch = scratch
        self._limits = limits or TaskLimits()

    async def stage_and_start(self, endpoint: Endpoint) -> Started:
        """Bring the machine to the task's starting state. Raises TaskError, SandboxLost."""
        job = self._job("start", endpoint)
        value = await run_job(job, self._bounds(self._limits.start_seconds), self._scratch / "start")
        return Started(value["instruction"], value["workspace"] or OUTPUT)

    async def solve(self, endpoint: Endpoint) -> None:
        """The oracle at work, as the agent's user. Raises TaskError, SandboxLost."""
        job = self._job("solve", endpoint)
        await run_job(job, self._bounds(self._limits.solve_seconds), self._scratch / "solve")

    async def evaluate(
        self, endpoint: Endpoint, output: Path, reference: Path | None, inputs: Path, log: Path
    ) -> Evaluation:
        """Grade what is in `output`. log: directory for what evaluate() printed.

        Raises GraderError (also when the reference is missing), JudgeError, SandboxLost, InfrastructureError.
        """
        job = self._grading_job(endpoint, {"output_dir": output, "input_dir": inputs}, reference)
        value = await run_job(job, self._bounds(self._limits.evaluate_seconds), log)
        return Evaluation(Score.from_json(value), log / "stdout.txt", log / "stderr.txt")

    def _grading_job(self, endpoint: Endpoint, places: dict[str, Path], reference: Path | None) -> Job:
        wanted = reference if reference is not None else self.workflow.folder / "reference"
        if wanted.is_dir():
            places["reference_dir"] = wanted
        return Job(
            phase="evaluate",
            name=self.workflow.name,
            folder=self.workflow.folder,
            root=self.workflow.root,
            instance=self.instance,
            endpoint=endpoint,
            directories={name: path.resolve() for name, path in places.items()},
            missing={"reference_dir": f"the reference is missing: there is no directory {wanted}"},
        )

    def _job(self, phase: JobPhase, endpoint: Endpoint) -> Job:
        inputs = self.workflow.folder_of("input", self.instance)
        return Job(
            phase=phase,
            name=self.workflow.name,
            folder=self.workflow.folder,
            root=self.workflow.root,
            instance=self.instance,
            endpoint=endpoint,
            user="agent" if phase == "solve" else "root",
            directories={} if inputs is None else {"input_dir": inputs.resolve()},
            missing={"input_dir": f"there is no directory {self.workflow.folder / 'input'}"},
        )

    def _bounds(self, seconds: float) -> Bounds:
        return Bounds(seconds, self._limits.memory_mb)
