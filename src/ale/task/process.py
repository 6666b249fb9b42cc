"""Run task code in a worker process of its own: walled in, bounded in time and memory, killed as a whole."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
from anyio.abc import ByteReceiveStream, Process

from ale.computer.endpoint import Endpoint
from ale.computer.paths import User
from ale.errors import AleError, GraderError, InfrastructureError, JudgeError, SandboxLost, TaskError
from ale.task.confine import ENVIRONMENT, confined, interpreter_paths, module_paths, walls

JobPhase = Literal["instances", "start", "solve", "evaluate"]

MAX_RESULT = 64 * 2**20
ACTIONS = "actions.jsonl"
"""What solve() did, one line a call of its Session, beside what it printed."""

MAX_LOG = 64 * 2**20
"""Bytes of stdout and of stderr that are kept; a note at the end says how many more there were."""

_SECRET_FOLDERS = ("reference", "authoring")
"""What only evaluate() may see."""

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from ale.task.child import main; main(int(sys.argv[2]))"
)


@dataclass(frozen=True)
class Job:
    """One phase of one task. directories: what the task finds at `task.<name>`; missing: why another isn't there."""

    phase: JobPhase
    name: str
    folder: Path
    root: Path
    instance: str = ""
    endpoint: Endpoint | None = None
    user: User = "root"
    directories: Mapping[str, Path] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bounds:
    seconds: float
    memory_mb: int = 4096


async def run_job(job: Job, bounds: Bounds, logs: Path) -> Any:
    """The phase's JSON value; what it printed is in `logs`/stdout.txt and stderr.txt, whole or with a note.

    Raises TaskError (GraderError when evaluating) with file and line, JudgeError, SandboxLost, InfrastructureError.
    """
    await anyio.Path(logs).mkdir(parents=True, exist_ok=True)
    receiving, sending = os.pipe()
    try:
        process = await anyio.open_process(
            _command(job, sending),
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            pass_fds=(sending,),
        )
    except BaseException:
        os.close(receiving)
        raise
    finally:
        os.close(sending)
    answer = bytearray()
    finished = False
    try:
        with anyio.move_on_after(bounds.seconds) as limit:
            async with anyio.create_task_group() as group:
                group.start_soon(_send_job, process, job, bounds)
                group.start_soon(_keep, process.stdout, logs / "stdout.txt")
                group.start_soon(_keep, process.stderr, logs / "stderr.txt")
                group.start_soon(_receive, receiving, answer, logs / ACTIONS)
                await process.wait()
                finished = True
                _kill(process)  # without bubblewrap, children may still hold the pipes
    finally:
        _kill(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
        os.close(receiving)
    if limit.cancelled_caught or not finished:
        raise _failure(job, f"{job.phase} was stopped after its limit of {bounds.seconds:g} s")
    return _value(job, bytes(answer), process.returncode, logs / "stderr.txt")


def _command(job: Job, result_fd: int) -> list[str]:
    python = [sys.executable, "-I", "-B", "-c", _START, json.dumps(module_paths()), str(result_fd)]
    readable = [*interpreter_paths(), job.folder, *_shared_modules(job)]
    masked: list[Path] = []
    if job.phase != "evaluate":
        masked = [job.folder / name for name in _SECRET_FOLDERS if (job.folder / name).is_dir()]
    late = list(job.directories.values())
    if job.endpoint is not None:
        if job.endpoint.socket is None:
            raise InfrastructureError(
                f"sandbox {job.endpoint.sandbox} has no Unix control socket, and a worker process has no network; "
                "its provider must offer one"
            )
        late.append(Path(job.endpoint.socket))
    return confined(python, readable=readable, masked=masked, late=late)


def _shared_modules(job: Job) -> Sequence[Path]:
    """Python files and packages beside the workflows, that tasks of one collection share; never another workflow."""
    found: list[Path] = []
    for place in (job.folder.parent, job.root):
        found += place.glob("*.py")
        found += [path.parent for path in place.glob("*/__init__.py") if _is_package(path.parent)]
    return found


def _is_package(folder: Path) -> bool:
    return not (folder / "main.py").exists() and not any(folder.glob("*/main.py"))


async def _send_job(process: Process, job: Job, bounds: Bounds) -> None:
    endpoint = job.endpoint
    message = {
        "phase": job.phase,
        "folder": str(job.folder),
        "root": str(job.root),
        "instance": job.instance,
        "user": job.user,
        "endpoint": None
        if endpoint is None
        else {
            "sandbox": endpoint.sandbox,
            "token": endpoint.token,
            "socket": endpoint.socket,
            "address": endpoint.address,
            "os": endpoint.os,
        },
        "directories": {name: str(path) for name, path in job.directories.items()},
        "missing": dict(job.missing),
        "memory_mb": bounds.memory_mb,
    }
    assert process.stdin is not None
    try:
        await process.stdin.send(json.dumps(message).encode())
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # the worker died early; its exit says why
    await process.stdin.aclose()


async def _keep(stream: ByteReceiveStream | None, path: Path) -> None:
    assert stream is not None
    kept = dropped = 0
    with path.open("wb") as file:
        async for chunk in stream:
            room = MAX_LOG - kept
            file.write(chunk[:room])
            file.flush()
            kept += min(room, len(chunk))
            dropped += max(0, len(chunk) - room)
        if dropped:
            file.write(f"\n[{dropped} more bytes are not kept; the limit is {MAX_LOG}]\n".encode())


async def _receive(fd: int, answer: bytearray, actions: Path) -> None:
    """The last line is the answer; the ones before it are what was done, kept as they come."""
    os.set_blocking(fd, False)
    while True:
        await anyio.wait_readable(fd)
        try:
            chunk = os.read(fd, 2**16)
        except BlockingIOError:
            continue
        if not chunk:
            return
        if len(answer) <= MAX_RESULT:
            answer += chunk
        whole = answer.rfind(b"\n") + 1
        if whole:
            with actions.open("ab") as file:
                file.write(answer[:whole])
            del answer[:whole]


def _kill(process: Process) -> None:
    """The process group; behind bubblewrap its death takes the whole pid namespace along."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _value(job: Job, answer: bytes, exit_code: int | None, stderr: Path) -> Any:
    if len(answer) > MAX_RESULT:
        raise _failure(job, f"{job.phase} returned more than {MAX_RESULT // 2**20} MiB")
    try:
        message = json.loads(answer)
        if message["ok"]:
            return message["value"]
        kind, text = message["kind"], str(message["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        tail = _tail(stderr)
        ended = f"by signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"with exit code {exit_code}"
        raise _failure(job, f"{job.phase} ended {ended} without a result" + (f": {tail}" if tail else "")) from None
    if kind == "lost":
        raise SandboxLost(str(message.get("sandbox", "")), str(message.get("evidence", text)))
    if kind == "judge":
        raise JudgeError(text)
    if kind == "infrastructure":
        raise InfrastructureError(text)
    raise _failure(job, text)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2000))
        lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""


def _failure(job: Job, text: str) -> AleError:
    name = f"{job.name}:{job.instance}" if job.instance else job.name
    error = GraderError if job.phase == "evaluate" else TaskError
    walled = "" if walls() else " (bubblewrap is missing, so this ran without walls)"
    return error(f"task {name}: {text}{walled}")
