"""Samples of one thing, and how they compare with a baseline taken on the same machine."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Series:
    """name: what is measured. wanted: the bound in seconds of wall (or of CPU) that the design asks for, when quiet."""

    name: str
    wanted_wall: float | None = None
    wanted_cpu: float | None = None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def sample(self, units: int = 1) -> Iterator[None]:
        """One sample; with several units in it, the time of one."""
        cpu, wall = _cpu(), time.perf_counter()
        yield
        self.wall.append((time.perf_counter() - wall) / units)
        self.cpu.append((_cpu() - cpu) / units)

    def to_json(self) -> dict[str, Any]:
        return {
            "wall": _summary(self.wall),
            "cpu": _summary(self.cpu),
            "wanted_wall": self.wanted_wall,
            "wanted_cpu": self.wanted_cpu,
        }


def _summary(samples: list[float]) -> dict[str, float]:
    quartiles = statistics.quantiles(samples, n=4) if len(samples) > 1 else [samples[0]] * 3
    return {
        "median": round(quartiles[1], 6),
        "q1": round(quartiles[0], 6),
        "q3": round(quartiles[2], 6),
        "min": round(min(samples), 6),
        "n": len(samples),
    }


def _cpu() -> float:
    """User and system seconds of this process and of its children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
