"""What is going on during `ale run`: a live table on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ale.exam.events import Event
from ale.exam.planning import Plan
from ale.exam.result import RunResult
from ale.outcome import Outcome
from ale.text import one_line, seconds

_WORDS = {
    "plan": "planning", "provision": "making the sandbox", "stage": "staging inputs", "start": "starting the task",
    "agent": "agent works", "freeze": "freezing", "collect": "collecting", "reference": "staging the reference",
    "evaluate": "grading", "record": "recording", "release": "releasing",
}  # fmt: skip


class Progress(Protocol):
    def say(self, line: str) -> None:
        """What is being prepared; the next line takes its place."""

    def announce(self, line: str) -> None:
        """What must stay on the screen."""

    def observe(self, event: Event) -> None: ...

    def finished(self, result: RunResult) -> None: ...


@contextmanager
def open_progress(plan: Plan, *, quiet: bool) -> Iterator[Progress]:
    console = Console(stderr=True)
    if quiet:
        yield _Silent()
    elif not console.is_terminal:
        yield _Lines(plan)
    else:
        display = _Table(plan)
        with Live(display, console=console, refresh_per_second=8, transient=True) as live:
            display.console = live.console
            yield display


def verdict(result: RunResult) -> str:
    """`1.00`, `0.00 no_output`, `unscored.harness: why`."""
    if result.score is not None:
        return f"{result.score.value:.2f}" + (f" {result.score.reason}" if result.score.reason else "")
    return result.outcome.value + (f": {one_line(result.error.message, 140)}" if result.error else "")


class _Silent:
    def say(self, line: str) -> None:
        """What is being prepared is of no interest to a script."""

    def announce(self, line: str) -> None:
        """Nor is this: the exit code says it."""

    def observe(self, event: Event) -> None:
        """Events are in the run folders."""

    def finished(self, result: RunResult) -> None:
        """Results are printed at the end."""


class _Lines:
    def __init__(self, plan: Plan) -> None:
        self._titles = {run.id: run.title for run in plan.runs}
        self._total = len(plan.runs)
        self._done = 0

    def say(self, line: str) -> None:
        print(one_line(line, 400), file=sys.stderr, flush=True)  # noqa: T201

    announce = say

    def observe(self, event: Event) -> None:
        if event.event in ("agent.start", "limit.reached", "sandbox.lost", "run.retry"):
            self.say(f"{self._titles[event.run]}: {event.event}")

    def finished(self, result: RunResult) -> None:
        self._done += 1
        self.say(f"[{self._done}/{self._total}] {self._titles[result.id]}: {verdict(result)}")


class _Table:
    """One line for each run that is under way, the last verdicts, and a bar."""

    def __init__(self, plan: Plan) -> None:
        self.console: Console | None = None
        self._runs = {run.id: run for run in plan.runs}
        self._phase: dict[str, tuple[str, float]] = {}
        self._calls: Counter[str] = Counter()
        self._recent: list[RunResult] = []
        self._done = 0
        self._line = ""
        self._started = time.monotonic()

    def say(self, line: str) -> None:
        self._line = one_line(line, 160)

    def announce(self, line: str) -> None:
        assert self.console is not None
        self.console.print(line, markup=False, highlight=False)

    def observe(self, event: Event) -> None:
        phase, _, edge = event.event.partition(".")
        if edge == "start":
            self._phase[event.run] = (_WORDS[phase], event.mono)
            self._line = ""
        elif event.event == "model.call":
            self._calls[event.run] += 1

    def finished(self, result: RunResult) -> None:
        self._done += 1
        self._phase.pop(result.id, None)
        self._recent = [*self._recent, result][-6:]

    def __rich__(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for result in self._recent:
            good = result.outcome is Outcome.SCORED
            title = self._runs[result.id].title
            table.add_row(Text("✓" if good else "!", style="green" if good else "yellow"), title, verdict(result), "")
        for run, (words, since) in self._phase.items():
            calls = f"{self._calls[run]} model calls" if self._calls[run] else ""
            table.add_row("…", self._runs[run].title, words, f"{seconds(time.monotonic() - since)}  {calls}")
        total = len(self._runs)
        foot = Table.grid(padding=(0, 2))
        elapsed = seconds(time.monotonic() - self._started)
        foot.add_row(
            ProgressBar(total=total, completed=self._done, width=40),
            f"{self._done} of {total} runs",
            elapsed,
            self._line,
        )
        return Group(table, foot)
