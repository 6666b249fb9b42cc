"""The worker process: one phase of one task's code, then the end. Started by `ale.task.process`, never by hand.

The job comes on stdin as JSON. The result leaves on a file descriptor of its own, so that nothing that the task prints
can be taken for it; while the oracle works, a line for each of its actions goes before it.
"""

from __future__ import annotations

import gc
import inspect
import json
import linecache
import os
import resource
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ale.errors import GraderError, InfrastructureError, JudgeError, SandboxLost, TaskError
from ale.task.loader import Module, load_module
from ale.task.task import Task


def main(result_fd: int) -> None:
    job = json.loads(sys.stdin.buffer.read())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    _limit_memory(job["memory_mb"])
    try:
        answer = {"ok": True, "value": _perform(job, result_fd)}
        encoded = json.dumps(answer, allow_nan=False).encode()
    except BaseException as error:  # noqa: BLE001 - the boundary: whatever task code raises is reported with its place
        traceback.print_exc()
        encoded = json.dumps({"ok": False, **_report(error, Path(job["folder"]), job["phase"])}).encode()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(result_fd, "wb") as channel:
        channel.write(encoded)
    os._exit(0)  # threads that task code left running must not keep the worker


def _perform(job: Mapping[str, Any], result_fd: int) -> Any:
    folder = Path(job["folder"])
    module = load_module(folder, Path(job["root"]))
    if job["phase"] == "instances":
        return [_described(task) for task in module.tasks]
    task = module.task(job["instance"])
    task.enter_phase({name: Path(path) for name, path in job["directories"].items()}, job["missing"])

    import anyio

    return anyio.run(_on_machine, job, folder, module, task, result_fd)


async def _on_machine(job: Mapping[str, Any], folder: Path, module: Module, task: Task, result_fd: int) -> Any:
    from ale.computer.client import connect
    from ale.computer.endpoint import Endpoint

    given = dict(job["endpoint"])
    given["address"] = tuple(given["address"]) if given.get("address") else None
    session = await connect(Endpoint(**given), user=job["user"])
    try:
        acting = session if job["phase"] != "solve" else _recorded(session, result_fd)
        value = await _phase(job["phase"], folder, module, task, acting)
    finally:
        await session.aclose()
    return value


def _recorded(session: Any, result_fd: int) -> Any:
    """The oracle's Session: each call that it ends is one line on the result's descriptor, before the result itself."""
    from ale.computer.recording import RecordingSession

    def report(action: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(action).encode() + b"\n")
        while line:
            line = line[os.write(result_fd, line) :]

    return RecordingSession(session, report)


async def _phase(phase: str, folder: Path, module: Module, task: Task, session: Any) -> Any:
    if module.phases:
        function = module.phases.get(phase)  # type: ignore[call-overload]
        if function is None:
            raise TaskError(f"{folder / 'main.py'}: there is no {phase}()")
        with _nothing_unawaited(folder, phase):
            value = function(task, session)
            if inspect.isawaitable(value):
                value = await value
    else:
        from anyio.to_thread import run_sync

        from ale.computer.sync import VmSession

        private = phase == "evaluate"  # what grading brings into the machine is for its root alone
        value = await run_sync(_class_phase, phase, task, VmSession(session, folder, private=private))
    if phase == "start":
        started = _started(value if not module.phases else None, task, folder)
        if started["workspace"] is not None:
            await _give_to_agent(session, started["workspace"])
        return started
    if phase == "evaluate":
        return _scored(value)
    return None


@contextmanager
def _nothing_unawaited(folder: Path, phase: str) -> Iterator[None]:
    """A forgotten `await` does nothing, and Python only warns of it. Raises TaskError with its place."""
    forgotten: list[str] = []
    show = warnings.showwarning

    def look(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if str(message).endswith("was never awaited") and Path(filename).is_relative_to(folder):
            code = linecache.getline(filename, lineno).strip()[:80]
            forgotten.append(f"{filename}:{lineno}: {phase}: without `await` this does nothing: {code}")
        show(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = look
        yield
        gc.collect()  # a coroutine that is part of a circle warns only now
    if forgotten:
        raise TaskError(forgotten[0])


def _class_phase(phase: str, task: Task, vm_session: Any) -> Any:
    if phase == "start":
        return task.stage_inputs(vm_session)
    if phase == "solve":
        if type(task).solve is Task.solve:
            raise TaskError(f"{type(task).__name__} has no solve()")
        return task.solve(vm_session)
    task.stage_reference(vm_session)
    return task.evaluate(vm_session)


def _described(task: Task) -> dict[str, Any]:
    description, computer = task.description, task.computer
    if not isinstance(description, str):
        raise TaskError(f"the description of {task.instance} is not text but {type(description).__name__}")
    if computer is not None and not isinstance(computer, Mapping):
        raise TaskError(f"the computer of {task.instance} is not a mapping but {type(computer).__name__}")
    return {"name": task.instance, "description": description, "computer": dict(computer) if computer else None}


def _started(staged: Any, task: Task, folder: Path) -> dict[str, Any]:
    """What the agent is told, and where it delivers (None: in output/)."""
    instruction, workspace = task.description, None
    if staged is not None:
        if not isinstance(staged, Mapping):
            raise TaskError(
                f"{folder / 'main.py'}: stage_inputs() must return a mapping with 'instruction' and 'workspace'"
            )
        instruction = staged.get("instruction") or instruction
        workspace = staged.get("workspace")
        if workspace is not None and (not isinstance(workspace, str) or not workspace.startswith("/")):
            raise TaskError(
                f"{folder / 'main.py'}: stage_inputs() returned workspace {workspace!r}, not an absolute path"
            )
    if not isinstance(instruction, str) or not instruction.strip():
        raise TaskError(f"{folder / 'main.py'}: {task.instance} has no instruction for the agent")
    return {"instruction": instruction, "workspace": workspace}


async def _give_to_agent(session: Any, workspace: str) -> None:
    """A workspace plays the part of output/: it is there, and the agent may write in it, staged files included."""
    await session.create_dir(workspace)
    await session.run_command(["chown", "-R", "agent:agent", workspace])


def _scored(value: Any) -> dict[str, Any]:
    from ale.score import Score

    if value is None:
        raise GraderError("evaluate() returned None; it must `return` a score: a number in [0, 1], a list or a Score")
    score = Score.of(value).to_json()
    try:
        json.dumps(score, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraderError(f"the details of the score are not JSON: {error}") from None
    return score


def _limit_memory(memory_mb: int) -> None:
    """RLIMIT_AS is right here: this process is our Python, not an agent's Node."""
    bytes_ = memory_mb * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (bytes_ if hard == resource.RLIM_INFINITY else min(bytes_, hard), hard))


def _report(error: BaseException, folder: Path, phase: str) -> dict[str, Any]:
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return _report(error.exceptions[0], folder, phase)
    if isinstance(error, SandboxLost):
        return {"kind": "lost", "message": str(error), "sandbox": error.sandbox, "evidence": error.evidence}
    if isinstance(error, JudgeError):
        return {"kind": "judge", "message": str(error)}
    if isinstance(error, InfrastructureError):
        return {"kind": "infrastructure", "message": str(error)}
    where = _place(error, folder)
    if isinstance(error, TaskError | GraderError) and (str(folder) in str(error) or not where):
        return {"kind": "code", "message": str(error)}
    called = "load" if phase == "instances" else phase
    return {"kind": "code", "message": f"{where or folder / 'main.py'}: {called}: {_sentence(error)}"}


def _sentence(error: BaseException) -> str:
    if isinstance(error, TaskError | GraderError):
        return str(error)
    if isinstance(error, MemoryError):
        return "the task's code ran out of its memory limit"
    if isinstance(error, SystemExit):
        return f"the task's code called sys.exit({error.code!r})"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    text = str(error).strip()
    if isinstance(error, ModuleNotFoundError):
        text += "; task code may import Python's own modules, `ale` with what it needs, and files beside main.py"
    return f"{type(error).__name__}: {text[:2000]}" if text else type(error).__name__


def _place(error: BaseException, folder: Path) -> str:
    """`file:line` of the innermost frame that belongs to the task's folder."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}"
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).is_relative_to(folder):
            place = f"{frame.filename}:{frame.lineno}"
    return place
