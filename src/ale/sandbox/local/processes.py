"""Processes of a sandbox as the host sees them. A pid alone names nobody for long; with its start time it does."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ale.sandbox.local import cgroups
from ale.text import one_line

_PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessId:
    """start: ticks since the boot at which the process began, field 22 of its `stat`."""

    pid: int
    start: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        start = _start_time(pid)
        return None if start is None else cls(pid, start, boot_id())

    def open(self) -> int | None:
        """A pidfd, or None when the process has ended."""
        if self.boot != boot_id():
            return None
        descriptor = _open(self.pid)
        if descriptor is None:
            return None
        if _start_time(self.pid) != self.start:
            os.close(descriptor)
            return None
        return descriptor

    def alive(self) -> bool:
        descriptor = self.open()
        if descriptor is None:
            return False
        try:
            return not wait_ended(descriptor, 0)
        finally:
            os.close(descriptor)


def boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def kill(pidfd: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return


def wait_ended(pidfd: int, seconds: float) -> bool:
    """Whether the process ended in time. For the first process of a pid namespace the kernel reports the end only
    when no process of the namespace is left. Blocks."""
    poll = select.poll()  # select() would stop at descriptor 1024
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(int(seconds * 1000)))


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in (_PROC / f"{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def running_as(uid: int, init: int) -> list[str]:
    """`pid name` of each live process with this host uid in the pid namespace whose first process is `init`.

    Raises PermissionError when a candidate's namespace can't be seen, ProcessLookupError when init has ended.
    """
    try:
        wanted = (_PROC / f"{init}/ns/pid").stat().st_ino
    except FileNotFoundError:
        raise ProcessLookupError(init) from None
    found = []
    for pid, name, state, uids in _all():
        if uid not in uids or state in "ZX":
            continue
        try:
            if (_PROC / f"{pid}/ns/pid").stat().st_ino == wanted:
                found.append(f"{pid} {name}")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def end_members(paths: tuple[Path, ...], uid: int, seconds: float) -> list[str]:
    """Kill every process of a control group whose real uid is this one, as `pid name`.

    From the host a bomb of a thousand busy processes does not slow this down, and with forks forbidden none escapes.
    Does nothing where there is no such group. Blocks.
    """
    killed: dict[int, str] = {}
    end = time.monotonic() + seconds
    with cgroups.without_forks(paths) as group:
        while group is not None and time.monotonic() < end:
            left = [(pid, name) for pid in cgroups.members(group) if (name := _name_if_real(pid, uid)) is not None]
            if not left:
                break
            killed |= {pid: name for pid, name in left if _kill_if_real(pid, uid)}
            time.sleep(0.002)  # the kernel takes them apart; whether it has is looked at, not assumed
    return [f"{pid} {name}" for pid, name in sorted(killed.items())]


def _kill_if_real(pid: int, uid: int) -> bool:
    descriptor = _open(pid)
    if descriptor is None:
        return False
    try:
        if _name_if_real(pid, uid) is None:
            return False
        kill(descriptor)
        return True
    finally:
        os.close(descriptor)


def _name_if_real(pid: int, uid: int) -> str | None:
    """The name of a live process whose real uid is this one."""
    try:
        text = (_PROC / f"{pid}/status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = _fields(text)
    real = fields.get("Uid", "").split()[:1] == [str(uid)]  # the kernel's own lines come after the name, and win
    return _name(fields) if real and fields.get("State", "?")[:1] not in "ZX" else None


def _open(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _fields(status: str) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)


def _all() -> Iterator[tuple[int, str, str, set[int]]]:
    for entry in _PROC.iterdir():
        name = entry.name
        if not name.isdigit():
            continue
        try:
            text = (_PROC / name / "status").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = _fields(text)
        uids = {int(word) for word in fields.get("Uid", "").split()}
        yield int(name), _name(fields), fields.get("State", "?")[:1], uids


def _name(fields: dict[str, str]) -> str:
    """A process names itself, and may do so with what a terminal obeys."""
    return one_line(fields.get("Name", "")) or "?"


def _start_time(pid: int) -> int | None:
    try:
        text = (_PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[19])
