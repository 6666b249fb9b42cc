"""The scoreboard at the end of an experiment: both means, and how many runs have no score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ale.cli.locate import shown
from ale.exam.result import RunResult
from ale.outcome import MEANING
from ale.text import one_line, seconds


def means(results: Sequence[RunResult]) -> tuple[float | None, float | None]:
    """(strict, lenient): see MEANING for what an unscored run counts as. None when nothing counts."""
    strict: list[float] = []
    lenient: list[float] = []
    for result in results:
        meaning = MEANING[result.outcome]
        if result.score is not None:
            strict.append(result.score.value)
            lenient.append(result.score.value)
        elif meaning.strict_zero:
            strict.append(0.0)
    return _mean(strict), _mean(lenient)


def scoreboard(console: Console, results: Sequence[RunResult]) -> None:
    """Agents as columns, instances as rows; then the means, and why a run has no score."""
    if not results:
        console.print("no run has a result")
        return
    agents = sorted({result.agent.name for result in results})
    table = Table(title=f"{results[0].experiment}: score by instance", title_justify="left")
    table.add_column("task", no_wrap=True)
    for agent in agents:
        table.add_column(agent, justify="right", overflow="fold")
    for workflow in sorted({result.workflow for result in results}):
        table.add_section()
        table.add_row(f"[bold]{workflow}[/]")
        here = [result for result in results if result.workflow == workflow]
        for instance in sorted({result.instance for result in here}):
            row = [result for result in here if result.instance == instance]
            table.add_row(f"  {_escaped(instance)}", *(" ".join(map(_cell, _of(row, agent))) for agent in agents))
    table.add_section()
    for label, index in (("strict mean", 0), ("lenient mean", 1)):
        table.add_row(label, *(_number(means(_of(results, agent))[index]) for agent in agents))
    table.add_row("runs without a score", *(str(sum(r.score is None for r in _of(results, agent))) for agent in agents))
    table.add_row("time per run", *(_time(_of(results, agent)) for agent in agents))
    console.print(table)
    for result in results:
        if result.error is not None:
            where = f"{result.agent.name} {result.workflow}:{result.instance}"
            problem = f"{result.outcome.value} ({result.error.phase}): {one_line(result.error.message, 1000)}"
            console.print(f"{where}: {problem}", markup=False, highlight=False, soft_wrap=True)


def whats_next(console: Console, results: Sequence[RunResult], folder: Path) -> None:
    """The commands that go on from the scoreboard of the experiment `folder`."""
    if not results:
        return
    example = min(
        results, key=lambda r: (r.score is not None and r.score.value in (0.0, 1.0), r.agent.harness == "oracle")
    )
    where = f"{example.agent.name}/{example.workflow}/{example.instance}/{example.attempt}"
    console.print(f"\nReasons and steps of a run:  ale show {shown(folder / where)}", highlight=False, soft_wrap=True)
    console.print(f"All runs of the experiment:  ale show {shown(folder)}", highlight=False, soft_wrap=True)


def _of(results: Sequence[RunResult], agent: str) -> list[RunResult]:
    return [result for result in results if result.agent.name == agent]


def _cell(result: RunResult) -> str:
    if result.score is None:
        return result.outcome.value
    reason = f" [dim]{result.score.reason}[/]" if result.score.reason else ""
    return f"{result.score.value:.2f}{reason}"


def _time(results: Sequence[RunResult]) -> str:
    return seconds(sum((result.ended - result.started).total_seconds() for result in results) / len(results))


def _escaped(text: str) -> str:
    return one_line(text).replace("[", r"\[")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
