"""What the host knows of one sandbox, on disk, so that another process can find, attach to and remove it."""

from __future__ import annotations

import os
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ale.computer.endpoint import Endpoint
from ale.sandbox.local import processes
from ale.sandbox.local.processes import ProcessId
from ale.sandbox.local.state import State, read_json, try_lock, write_json
from ale.sandbox.protocol import ImageIdentity, SandboxInfo, SandboxSpec, Screen, Size


@dataclass(frozen=True)
class Record:
    """disks: this machine's own first, then those of its ancestors, newest first. monitor is bubblewrap, init the
    machine's first process; None while it starts."""

    id: str
    spec: SandboxSpec
    image: ImageIdentity
    token: str
    created: str
    disks: tuple[str, ...]
    cgroups: tuple[str, ...] = ()
    monitor: ProcessId | None = None
    init: ProcessId | None = None
    frozen: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        spec = dict(data["spec"])
        spec["size"] = Size(**spec["size"])
        spec["screen"] = Screen(**spec["screen"]) if spec["screen"] else None
        spec["layers"] = tuple(spec["layers"])
        return cls(
            id=data["id"],
            spec=SandboxSpec(**spec),
            image=ImageIdentity(**data["image"]),
            token=data["token"],
            created=data["created"],
            disks=tuple(data["disks"]),
            cgroups=tuple(data["cgroups"]),
            monitor=ProcessId(**data["monitor"]) if data["monitor"] else None,
            init=ProcessId(**data["init"]) if data["init"] else None,
            frozen=data["frozen"],
        )


class Shelf:
    """The records of all sandboxes of one state. Calls block, briefly."""

    def __init__(self, state: State) -> None:
        self._state = state

    def folder(self, sandbox: str) -> Path:
        return self._state.sandboxes / sandbox

    def disk(self, disk: str) -> Path:
        return self._state.disks / disk

    def endpoint(self, record: Record) -> Endpoint:
        return Endpoint(sandbox=record.id, token=record.token, socket=str(self.folder(record.id) / "control.sock"))

    def reserve(self, spec: SandboxSpec, image: ImageIdentity, inherited: tuple[str, ...]) -> tuple[Record, int]:
        """A new record with an empty disk, and the descriptor that holds its lock. It is visible to others only
        together with its lock, so that no sweep takes it for left over."""
        name = secrets.token_hex(5)
        record = Record(
            id=name,
            spec=spec,
            image=image,
            token=secrets.token_urlsafe(32),
            created=datetime.now(UTC).isoformat(),
            disks=(name, *inherited),
        )
        folder = self.folder(name)
        with self._state.locked():
            folder.mkdir(mode=0o700)
            lock = try_lock(folder / "lock")
            assert lock is not None, "nobody else knows this name yet"
            try:
                self.disk(name).mkdir()
                self.disk(name).chmod(0o777)  # the mapped root makes `upper` and `work` in it; its parent is closed
                write_json(folder / "sandbox.json", record.to_json())
            except BaseException:
                os.close(lock)
                raise
        return record, lock

    def update(self, record: Record, **changes: Any) -> Record:
        record = replace(record, **changes)
        write_json(self.folder(record.id) / "sandbox.json", record.to_json())
        return record

    def read(self, sandbox: str) -> Record | None:
        """None when there is no such sandbox, or none any more."""
        if "/" in sandbox or not sandbox or sandbox.startswith("."):
            return None
        try:
            return Record.from_json(read_json(self.folder(sandbox) / "sandbox.json"))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def all(self) -> list[Record]:
        names = sorted(path.name for path in self._state.sandboxes.iterdir() if path.is_dir())
        return [record for name in names if (record := self.read(name)) is not None]

    def info(self, record: Record, disk_bytes: int) -> SandboxInfo:
        state: Literal["running", "frozen", "dead"] = "dead"
        if record.init is not None and record.init.alive():
            state = "frozen" if record.frozen else "running"
        return SandboxInfo(
            id=record.id,
            label=record.spec.label,
            image=record.image.name,
            created=datetime.fromisoformat(record.created),
            state=state,
            kept=record.spec.keep,
            disk_bytes=disk_bytes,
        )

    def unused_disks(self) -> list[Path]:
        """Disks that no record names. Only under the state's lock is this true for longer than a moment."""
        used = {disk for record in self.all() for disk in record.disks}
        return [path for path in sorted(self._state.disks.iterdir()) if path.name not in used]


def stop(record: Record, seconds: float = 30.0) -> bool:
    """Kill a machine's first process, and with it all others; whether nothing of it is left. Blocks."""
    init = record.init.open() if record.init else None
    monitor = record.monitor.open() if record.monitor else None
    ended = True
    if init is not None:
        processes.kill(init)
        ended = processes.wait_ended(init, seconds)
        os.close(init)
    if monitor is not None:
        # it ends by itself after it has collected its child, which else would be left to the host's init
        if init is None or not processes.wait_ended(monitor, 5.0):
            processes.kill(monitor)
        ended = processes.wait_ended(monitor, seconds) and ended
        os.close(monitor)
    return ended
