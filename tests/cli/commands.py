"""`ale` as a user starts it: a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ALE = (sys.executable, "-m", "ale.cli")


def ale(*arguments: str | Path, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ALE, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    """As from a terminal: with Ctrl-C at its default, which a shell that runs the tests in the background ignores."""
    command: Sequence[str] = [*ALE, *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - these tests have no threads
    )
