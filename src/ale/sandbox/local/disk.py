"""Keeps sandboxes from filling the host's disk: one thread a provider, which looks at free space and only measures
the sandboxes' own disks when that has shrunk noticeably."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from ale.errors import SandboxUnavailable
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.mapped import tree_mb
from ale.sandbox.local.record import Record, Shelf, stop
from ale.sandbox.local.state import State

FLOOR_MB = 1024
"""Free space that the host keeps: no sandbox is made below it, and the largest one is stopped."""

NOTICE_MB = 64
"""Space that may be written between two measurements."""

PERIOD = 1.0
"""Seconds between two looks. On a disk that takes 1 GB/s a sandbox may exceed its size by that much."""

LONGEST = 15.0
"""Seconds after which is measured in any case: while others free space, the sum does not show what a sandbox writes."""

SHARE = 0.05
"""Part of the time that measuring may take, when sandboxes hold very many files."""


class DiskWatch:
    """Measures the machines that `watched` names; stops the one that has too much and remembers why."""

    def __init__(
        self, state: State, shelf: Shelf, ids: IdRange, *, floor_mb: int = FLOOR_MB, period: float = PERIOD
    ) -> None:
        self._state = state
        self._shelf = shelf
        self._ids = ids
        self._floor = floor_mb
        self._period = period
        self._lock = threading.Lock()
        self._watched: dict[str, Record] = {}
        self._verdicts: dict[str, str] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def check_room(self) -> None:
        """Raises SandboxUnavailable when the host's disk is too full for another machine."""
        free = self._state.free_mb()
        if free < self._floor:
            raise SandboxUnavailable(
                f"only {free} MB are free in {self._state.root}, and sandboxes leave {self._floor} MB to the host; "
                "free space (`ale sandbox gc`) or set ALE_HOME elsewhere"
            )

    def add(self, record: Record) -> None:
        with self._lock:
            self._watched[record.id] = record
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._look, name="ale-disk", daemon=True)
                self._thread.start()

    def forget(self, sandbox: str) -> None:
        with self._lock:
            self._watched.pop(sandbox, None)
            self._verdicts.pop(sandbox, None)
            if not self._watched:
                self._wake.set()

    def verdict(self, sandbox: str) -> str:
        """Why the machine was stopped, or nothing."""
        return self._verdicts.get(sandbox, "")

    def _look(self) -> None:
        measured_at, next_at = self._state.free_mb(), time.monotonic() + LONGEST
        while True:
            self._wake.wait(self._period)
            with self._lock:
                if not self._watched:
                    self._thread = None
                    return
                records = [record for record in self._watched.values() if record.id not in self._verdicts]
            free = self._state.free_mb()
            begin = time.monotonic()
            if free > self._floor and measured_at - free < NOTICE_MB and begin < next_at:
                measured_at = max(measured_at, free)
                continue
            sizes = self._measure(records)
            now = time.monotonic()
            measured_at, next_at = self._state.free_mb(), now + max(LONGEST, (now - begin) / SHARE)
            self._judge(sizes, free)

    def _measure(self, records: list[Record]) -> list[tuple[int, Record]]:
        sizes = []
        for record in records:
            path: Path = self._shelf.disk(record.id) / "upper"
            if path.exists():
                sizes.append((tree_mb(path, self._ids), record))
        return sizes

    def _judge(self, sizes: list[tuple[int, Record]], free: int) -> None:
        for size, record in sizes:
            if size > record.spec.size.disk_mb:
                self._end(record, f"it wrote {size} MB and has a disk of {record.spec.size.disk_mb} MB")
        if free <= self._floor and sizes:
            size, record = max(sizes, key=lambda pair: pair[0])
            self._end(record, f"the host's disk had {free} MB left, and with {size} MB it was the largest writer")

    def _end(self, record: Record, why: str) -> None:
        with self._lock:
            if record.id in self._verdicts or record.id not in self._watched:
                return
            self._verdicts[record.id] = f"it was stopped: {why}"
        stop(record)
