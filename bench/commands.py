"""What starting the command costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator

from bench.measure import Series

_CASES = {
    "python -c pass (for comparison)": [sys.executable, "-c", "pass"],
    "ale --version": [sys.executable, "-m", "ale.cli", "--version"],
    "ale --help": [sys.executable, "-m", "ale.cli", "--help"],
    "import ale": [sys.executable, "-c", "import ale"],
}


async def measure(samples: int) -> AsyncIterator[Series]:
    for name, command in _CASES.items():
        series = Series(name, wanted_cpu=0.15 if name.startswith("ale") else None)
        for _ in range(samples):
            with series.sample():
                subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        yield series
