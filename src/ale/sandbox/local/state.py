"""Where local sandboxes keep what they need on the host, and the locks that say who owns what.

    images/<digest>/{rootfs/, image.json}      built once, never changed
    layers/<digest>/{fs/, layer.json}          the same
    sandboxes/<id>/{sandbox.json, control.sock, lock, log}
    disks/<id>/{upper/, work/}                 what a machine wrote; a fork's machine lists its ancestor's disk too

The root is closed to other users. A lock is an flock: the kernel takes it back from a process that dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ale.errors import SandboxUnavailable
from ale.home import home
from ale.replacing import replacing
from ale.sandbox.protocol import Say


@dataclass(frozen=True)
class State:
    root: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> State:
        """`$ALE_HOME`, else `ale` in the user's data directory."""
        return cls(home(environ))

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def layers(self) -> Path:
        return self.root / "layers"

    @property
    def sandboxes(self) -> Path:
        return self.root / "sandboxes"

    @property
    def disks(self) -> Path:
        return self.root / "disks"

    def prepare(self) -> None:
        """Raises SandboxUnavailable when the directories can't be made."""
        try:
            for path in (self.images, self.layers, self.sandboxes, self.disks):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxUnavailable(
                f"{self.root} can't be used for sandboxes: {error.strerror}; set ALE_HOME to a directory of your own"
            ) from error

    @contextmanager
    def locked(self, name: str = "state") -> Iterator[None]:
        """Waits for a lock of this state by name. Blocks."""
        descriptor = os.open(self.root / f".{name}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def free_mb(self) -> int:
        return free_mb(self.root)


@asynccontextmanager
async def held(state: State, name: str, say: Say) -> AsyncIterator[None]:
    """A lock of the state, waited for without blocking the loop: another process may build for a minute."""
    path = state.root / f".{name}.lock"
    waiting = False
    while (descriptor := try_lock(path)) is None:
        if not waiting:
            say("waiting for another process that builds the same")
            waiting = True
        await anyio.sleep(0.2)
    try:
        yield
    finally:
        os.close(descriptor)


def free_mb(path: Path) -> int:
    return shutil.disk_usage(path).free // 2**20


def try_lock(path: Path) -> int | None:
    """The descriptor that holds the lock, or None when another holder lives."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Whole or not at all; readable by this user alone."""
    with replacing(path, mode=0o600) as file:
        file.write(json.dumps(data, indent=1).encode())


def read_json(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{path} is no JSON object")  # noqa: TRY004 - what is wrong is the file
    return data
