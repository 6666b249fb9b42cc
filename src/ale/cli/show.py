"""`ale show`: how a run ended and why, for a person; or the scoreboard of an experiment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from ale.cli.locate import is_run, locate
from ale.cli.progress import verdict
from ale.cli.scoreboard import scoreboard
from ale.errors import UsageError
from ale.exam.folder import find_runs, read_result
from ale.exam.result import RunResult
from ale.score import Part, Score
from ale.text import one_line, plain, seconds
from ale.trajectory.document import iter_steps
from ale.trajectory.schema import Step


@click.command()
@click.argument("name", metavar="RUN|EXPERIMENT")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), help="Where ids are looked for.")
@click.option("--steps", "limit", type=click.IntRange(min=0), default=40, show_default=True, help="Steps to print.")
@click.option("--json", "as_json", is_flag=True, help="The run's result, its reasons and its steps as JSON.")
@click.option(
    "--html",
    "page",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Write a self-contained page of the run to FILE (`-`: to stdout; without FILE: run-ID.html here).",
)
def show(name: str, results: Path, limit: int, as_json: bool, page: str | None) -> None:
    """Show a run (outcome, reasons part by part, steps) or an experiment (its scoreboard).

    RUN is a run folder or the beginning of a run's id.
    """
    folder = locate(name, results)
    if page is not None:
        if as_json:
            raise UsageError("--json and --html are two answers; ask for one of them")
        if not is_run(folder):
            raise UsageError(f"{folder} is an experiment; a page is made of one of its runs (ale show {folder})")
        _write_page(folder, page)
        return
    console = Console()
    if not is_run(folder):
        found = [result for run in find_runs(folder) if (result := read_result(run)) is not None]
        if as_json:
            click.echo(json.dumps([result.model_dump(mode="json", by_alias=True) for result in found], indent=1))
        else:
            _experiment(console, found, folder)
        return
    result = read_result(folder)
    if result is None:
        raise click.ClickException(f"{folder} has no result yet: it is under way, or its command was killed")
    if as_json:
        click.echo(json.dumps(_document(folder, result), indent=1))
    else:
        _run(console, folder, result, limit)


def _write_page(folder: Path, page: str) -> None:
    from ale.report.page import run_page, write_page

    pieces = run_page(folder)
    if page == "-":
        sys.stdout.buffer.writelines(piece.encode() for piece in pieces)
        return
    result = read_result(folder)
    name = result.id if result is not None and result.id.isalnum() else "page"
    path = Path(page or f"run-{name}.html")
    try:
        write_page(path, pieces)
    except OSError as error:
        raise UsageError(f"the page can't be written to {path}: {error.strerror}") from None
    click.echo(path)


def _experiment(console: Console, results: list[RunResult], folder: Path) -> None:
    scoreboard(console, results, folder)
    table = Table("id", "agent", "task", "attempt", "result", "agent end", "time", title="runs", title_justify="left")
    for result in results:
        table.add_row(
            result.id,
            result.agent.name,
            f"{result.workflow}:{result.instance}",
            str(result.attempt),
            escape(verdict(result)),
            result.agent_end.value if result.agent_end else "",
            seconds((result.ended - result.started).total_seconds()),
        )
    console.print(table)


def _document(folder: Path, result: RunResult) -> dict[str, object]:
    score = _score(folder)
    return {
        "result": result.model_dump(mode="json", by_alias=True),
        "score": score.to_json() if score else None,
        "steps": [step.model_dump(mode="json") for step in _steps(folder)],
    }


def _run(console: Console, folder: Path, result: RunResult, limit: int) -> None:
    task = f"{result.workflow}:{result.instance}"
    console.print(f"[bold]{escape(result.agent.name)}[/] on [bold]{task}[/], attempt {result.attempt}")
    facts = Table.grid(padding=(0, 2))
    facts.add_row("result", escape(verdict(result)))
    if result.agent_end:
        facts.add_row(
            "agent end", result.agent_end.value + (f" ({result.limits.reached})" if result.limits.reached else "")
        )
    if result.error and result.error.evidence:
        facts.add_row("evidence", escape(plain(result.error.evidence, 2000)))
    facts.add_row(
        "agent", escape(" ".join(filter(None, (result.agent.harness, result.agent.version, result.agent.model))))
    )
    usage = result.usage
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    if usage.model_calls:
        facts.add_row(
            "usage",
            f"{usage.model_calls} model calls, {usage.input_tokens} tokens in "
            f"({usage.cache_read_tokens} cached), {usage.output_tokens} out, {cost}",
        )
    allowed = f"{seconds(result.limits.time)} (set by the {result.limits.time_set_by})"
    facts.add_row("time", f"agent {seconds(usage.agent_seconds)} of {allowed}")
    facts.add_row("phases", "  ".join(f"{name} {seconds(time.seconds)}" for name, time in result.phases.items()))
    facts.add_row("integrity", f"graded on {result.integrity.graded_on}; freeze {_freeze(result)}")
    facts.add_row("folder", str(folder))
    console.print(facts, highlight=False)
    score = _score(folder)
    if score is not None:
        console.print(_tree(score))
    _print_steps(console, folder, limit)


def _freeze(result: RunResult) -> str:
    report = result.integrity.freeze
    if report is None:
        return "not reached"
    return f"killed {len(report['killed'])}, seen empty by {' and '.join(report['checked'])}"


def _score(folder: Path) -> Score | None:
    try:
        data = json.loads((folder / "debug" / "eval" / "result.json").read_bytes())
    except FileNotFoundError:
        return None
    return Score.from_json(data["score"])


def _tree(score: Score) -> Tree:
    tree = Tree(f"[bold]score {score.value:.3f}[/]" + (f" {score.reason}" if score.reason else "") + _because(score))

    def grow(branch: Tree, parts: tuple[Part, ...], whole: float) -> None:
        for part in parts:
            mark = "[green]✓[/]" if part.score.value == 1 else "[red]✗[/]" if part.score.value == 0 else "[yellow]~[/]"
            share = f"{part.points:.3g} of {part.weight:.3g}" if whole else "gate"
            grow(
                branch.add(f"{mark} {escape(one_line(part.name))}  {share}{_because(part.score)}"),
                part.score.parts,
                1.0,
            )

    grow(tree, score.parts, sum(part.weight for part in score.parts))
    return tree


def _because(score: Score) -> str:
    return f"  [dim]{escape(one_line(score.sentence, 300))}[/]" if score.sentence else ""


def _steps(folder: Path) -> list[Step]:
    try:
        return list(iter_steps(folder / "trajectory.json"))
    except FileNotFoundError:
        return []


def _print_steps(console: Console, folder: Path, limit: int) -> None:
    steps = _steps(folder)
    if not steps or not limit:
        return
    table = Table(
        "step",
        "tool",
        "action",
        "observation",
        title=f"steps ({min(limit, len(steps))} of {len(steps)})",
        title_justify="left",
    )
    for step in steps[:limit]:
        seen = step.observation
        result = "" if seen is None else seen.error or seen.text or seen.stdout or seen.image_path or ""
        said = step.action.args.get("command") or step.action.args.get("text") or json.dumps(step.action.args)
        table.add_row(
            str(step.step),
            escape(one_line(step.action.tool or step.action.type)),
            escape(one_line(str(said), 160)),
            escape(one_line(result, 160)),
        )
    console.print(table)
