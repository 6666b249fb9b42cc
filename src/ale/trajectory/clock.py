"""The host's two clocks, read together: UTC for people, monotonic for durations and order."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Moment:
    utc: datetime
    monotonic: float

    @staticmethod
    def now() -> Moment:
        return Moment(datetime.now(UTC), time.monotonic())

    def isoformat(self) -> str:
        return self.utc.isoformat(timespec="microseconds").replace("+00:00", "Z")
