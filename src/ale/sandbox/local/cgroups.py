"""Memory, process and CPU limits by control groups, where this process may make them: version 2 (also delegated to a
user's session) or version 1. Where it may not, the strength that is reported says so."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ale.sandbox.protocol import Size

PROCESS_LIMIT = 4096
"""Processes and threads of a whole sandbox; the agent's own limit is lower, so that the server always can start one."""

_SWAP = ("memory.swap.max", "memory.memsw.limit_in_bytes")
"""Not there where the kernel does not account for swap."""

_PERIOD = 100_000  # microseconds, the kernel's default


@dataclass(frozen=True)
class Hierarchy:
    """Where groups can be made. parents: controller → directory; all the same in version 2."""

    version: int
    parents: Mapping[str, Path]

    @property
    def name(self) -> str:
        return f"cgroup v{self.version}"

    def has(self, controller: str) -> bool:
        return controller in self.parents


def find_hierarchy(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Hierarchy:
    """What can be used here; without any parent when nothing can."""
    membership = own.read_text(encoding="utf-8", errors="replace") if own.exists() else ""
    if (root / "cgroup.controllers").exists():
        return Hierarchy(2, _version2(root, membership))
    parents = {}
    for controller in ("memory", "pids", "cpu"):
        place = root / controller
        if (place / "cgroup.procs").exists() and os.access(place, os.W_OK):
            parents[controller] = place
    return Hierarchy(1, parents)


def _version2(root: Path, membership: str) -> dict[str, Path]:
    """The root for root; for others the parent of their own group, if a session manager delegated it."""
    mine = next((line[3:] for line in membership.splitlines() if line.startswith("0::")), "/").strip()
    parent = root if os.geteuid() == 0 and os.access(root, os.W_OK) else (root / mine.lstrip("/")).parent
    if not (os.access(parent, os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)):
        return {}
    if os.geteuid() == 0:
        for controller in ("memory", "pids", "cpu"):
            with contextlib.suppress(OSError):  # a controller that can't be switched on is not in the list read below
                (parent / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
    enabled = (parent / "cgroup.subtree_control").read_text(encoding="ascii").split()
    return {controller: parent for controller in ("memory", "pids", "cpu") if controller in enabled}


def make(hierarchy: Hierarchy, name: str, size: Size) -> tuple[Path, ...]:
    """The group's directories, one in version 2, with their limits set."""
    made: list[Path] = []
    for controller, parent in hierarchy.parents.items():
        path = parent / name
        if path not in made:
            path.mkdir(exist_ok=True)
            made.append(path)
        for file, value in _limits(hierarchy.version, controller, size).items():
            if file not in _SWAP or (path / file).exists():
                (path / file).write_text(value, encoding="ascii")
    return tuple(made)


def _limits(version: int, controller: str, size: Size) -> dict[str, str]:
    memory, quota = str(size.memory_mb * 2**20), size.vcpus * _PERIOD
    if controller == "pids":
        return {"pids.max": str(PROCESS_LIMIT)}
    if controller == "memory":
        if version == 2:
            return {"memory.max": memory, "memory.swap.max": "0"}
        return {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
    return {"cpu.max": f"{quota} {_PERIOD}"} if version == 2 else {"cpu.cfs_quota_us": str(quota)}


def enter(paths: tuple[Path, ...], pid: int) -> None:
    """Before anything of the machine runs. Its first process gets the highest priority where that counts inside the
    machine alone; the programs that it starts have the ordinary one."""
    for path in paths:
        (path / "cgroup.procs").write_text(str(pid), encoding="ascii")
    if any((path / file).exists() for path in paths for file in ("cpu.max", "cpu.cfs_quota_us")):
        with contextlib.suppress(PermissionError):  # without it the server lowers its programs instead
            os.setpriority(os.PRIO_PROCESS, pid, -20)


@contextmanager
def without_forks(paths: tuple[Path, ...]) -> Iterator[Path | None]:
    """While this lasts no process of the group can make another one. Gives the group's directory, None where process
    numbers can't be limited."""
    place = next((path for path in paths if (path / "pids.max").exists()), None)
    if place is None:
        yield None
        return
    before = (place / "pids.max").read_text(encoding="ascii")
    (place / "pids.max").write_text("0", encoding="ascii")
    try:
        yield place
    finally:
        (place / "pids.max").write_text(before, encoding="ascii")


def members(path: Path) -> list[int]:
    """Pids, as the host numbers them."""
    return [int(line) for line in (path / "cgroup.procs").read_text(encoding="ascii").split()]


def out_of_memory_kills(paths: tuple[Path, ...]) -> int:
    """Processes that the kernel ended since the group's memory was used up."""
    for path in paths:
        for file in ("memory.events", "memory.oom_control"):
            try:
                text = (path / file).read_text(encoding="ascii")
            except FileNotFoundError:
                continue
            pairs = dict(line.split() for line in text.splitlines())
            return int(pairs.get("oom_kill", 0))
    return 0


def remove(paths: tuple[Path, ...], seconds: float = 5.0) -> None:
    """No error for what is gone already. Every process of the group must have ended; the kernel may take a moment to
    notice that. Blocks. Raises OSError(EBUSY) that names who is left."""
    end = time.monotonic() + seconds
    for path in paths:
        while path.exists():
            try:
                path.rmdir()
            except FileNotFoundError:
                break
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > end:
                    left = (path / "cgroup.procs").read_text(encoding="ascii").split()
                    raise OSError(error.errno, f"processes {' '.join(left)} are still in", str(path)) from error
                time.sleep(0.01)
