"""A throw-away box for builds: a command runs in it to its end, over an image and layers, without a computer server."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ale.sandbox.local import seccomp
from ale.sandbox.local.box import AGENT_ENVIRONMENT, AS_AGENT, PATH, Box
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.launch import Overlay, Program, launch, mount_point
from ale.sandbox.local.mapped import tool


@dataclass(frozen=True)
class Job:
    """One command in a box.

    lower: highest first. disk: gets `upper` and `work`; its parent must exist. network: the host's own.
    data: path inside → content, there while the command runs and in no layer; directories below /run are made.
    """

    command: tuple[str, ...]
    lower: tuple[Path, ...]
    disk: Path
    network: bool = False
    as_agent: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = 600.0


@dataclass(frozen=True)
class Done:
    """How a job ended. return_code: None when its time was up."""

    return_code: int | None
    stdout: str
    stderr: str


async def carry_out(job: Job, ids: IdRange) -> Done:
    """Run a job to its end; cancelled, it is dead when this returns."""
    worker = _Worker(job, ids)
    try:
        return await anyio.to_thread.run_sync(worker.run, abandon_on_cancel=True)
    finally:
        worker.kill()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(worker.ended.wait)


class _Worker:
    """The thread that starts the box also waits for it, since the box ends with its thread."""

    def __init__(self, job: Job, ids: IdRange) -> None:
        self._job = job
        self._ids = ids
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self._lock = threading.Lock()
        self.ended = threading.Event()

    def run(self) -> Done:
        try:
            return self._run()
        finally:
            self.ended.set()

    def kill(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                self._process.kill()

    def _run(self) -> Done:
        job = self._job
        job.disk.mkdir()
        job.disk.chmod(0o777)
        descriptors = {f"data{index}": _memory_file(content) for index, content in enumerate(job.data.values())}
        files = [
            word
            for index, path in enumerate(job.data)
            for word in ("--perms", "0444", "--ro-bind-data", f"@data{index}", path)
        ]
        user = AGENT_ENVIRONMENT if job.as_agent else ()
        box = Box(
            mount=mount_point(),
            hostname="build",
            network=job.network,
            first=False,
            setenv=(("PATH", f"{PATH}{self._harness_path()}"), *user, *job.env.items()),
            extra=tuple(files),
        )
        command = (*AS_AGENT, *job.command) if job.as_agent else job.command
        program = Program(
            argv=(tool("bwrap"), *box.arguments(command)),
            overlay=Overlay(job.lower, job.disk),
            seccomp=seccomp.program(),
            keep=descriptors,
        )
        try:
            with self._lock:
                if self._cancelled:
                    return Done(None, "", "")
                self._process = launch(program, self._ids, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)
        with self._process as process:
            try:
                out, err = process.communicate(timeout=job.timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                return Done(None, _text(out), _text(err))
        return Done(process.returncode, _text(out), _text(err))

    def _harness_path(self) -> str:
        names = {path.name for layer in self._job.lower for path in layer.glob("opt/harness/*") if path.is_dir()}
        return "".join(f":/opt/harness/{name}/bin" for name in sorted(names))


def _memory_file(content: bytes) -> int:
    descriptor = os.memfd_create("data", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
