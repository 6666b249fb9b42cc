"""`ale show`: how a run ended and why; the scoreboard of an experiment; which experiments there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from ale.cli.locate import experiments_in, finished, is_run, locate, runs_in, shown
from ale.cli.progress import verdict
from ale.cli.scoreboard import scoreboard
from ale.errors import UsageError
from ale.exam.folder import find_runs, read_result
from ale.exam.result import RunResult
from ale.outcome import AgentEnd
from ale.score import Part, Score
from ale.text import count, one_line, plain, seconds
from ale.trajectory.document import iter_steps
from ale.trajectory.schema import Step


@click.command()
@click.argument("name", metavar="[RUN|EXPERIMENT]", required=False)
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
def show(name: str | None, results: Path, limit: int, as_json: bool, page: str | None) -> None:
    """Show a run (outcome, reasons part by part, steps) or an experiment (its scoreboard).

    RUN is a run folder or the beginning of a run's id; EXPERIMENT a folder or a name. Without either, the experiments
    are listed.
    """
    if name is None or (Path(name).is_dir() and not runs_in(Path(name)) and experiments_in(Path(name))):
        _list(Path(name) if name else results, as_json=as_json)
        return
    folder = locate(name, results)
    if page is not None:
        if as_json:
            raise UsageError("--json and --html are two answers; ask for one of them")
        if not is_run(folder):
            raise UsageError(f"a page is made of one run; {shown(folder)} holds several (ale show {shown(folder)})")
        _write_page(folder, page)
        return
    console = Console()
    if not is_run(folder):
        found = {run: read_result(run) for run in runs_in(folder)}
        if as_json:
            complete = [result for result in found.values() if result is not None]
            click.echo(json.dumps([result.model_dump(mode="json", by_alias=True) for result in complete], indent=1))
        else:
            _experiment(console, found, folder)
        return
    result = finished(folder)
    if as_json:
        click.echo(json.dumps(_document(folder, result), indent=1))
    else:
        _run(console, folder, result, limit)


def _write_page(folder: Path, page: str) -> None:
    from ale.report.page import run_page, write_page

    result = finished(folder)
    pieces = run_page(folder)
    if page == "-":
        sys.stdout.buffer.writelines(piece.encode() for piece in pieces)
        return
    name = result.id if result.id.isalnum() else "page"
    path = Path(page or f"run-{name}.html")
    try:
        write_page(path, pieces)
    except OSError as error:
        raise UsageError(f"the page can't be written to {path}: {error.strerror}") from None
    click.echo(path)


def _list(results: Path, *, as_json: bool) -> None:
    found = []
    for folder in experiments_in(results):
        runs = find_runs(folder)
        complete = [result for run in runs if (result := read_result(run)) is not None]
        begun = min((result.started for result in complete), default=None)
        found.append(
            {
                "name": folder.name,
                "runs": len(runs),
                "scored": sum(result.score is not None for result in complete),
                "started": begun.isoformat() if begun else None,
                "folder": str(folder.resolve()),
            }
        )
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    if not found:
        raise UsageError(f"there is no experiment in {results}; `ale run` makes one, --results looks elsewhere")
    rows = [("experiment", "runs", "scored", "started (UTC)")]
    for one in found:
        started = str(one["started"])[:16].replace("T", " ") if one["started"] else ""
        rows.append((one_line(str(one["name"])), str(one["runs"]), str(one["scored"]), started))
    _columns(rows)
    click.echo(f"\nOne of them:  ale show {shown(Path(str(found[-1]['folder'])))}")


def _experiment(console: Console, found: Mapping[Path, RunResult | None], folder: Path) -> None:
    scoreboard(console, [result for result in found.values() if result is not None])
    rows = [("id", "run", "result", "time")]
    for run, result in found.items():
        name = one_line(str(run.relative_to(folder)), 400)
        if result is None:
            rows.append(("", name, "no result yet", ""))
            continue
        time = seconds((result.ended - result.started).total_seconds())
        rows.append((result.id[:_ID_DIGITS], name, _brief(result), time))
    click.echo()
    _columns(rows)
    click.echo(f"\nOne of them:  ale show ID, or ale show {shown(folder)}/RUN")


def _columns(rows: Sequence[Sequence[str]]) -> None:
    """As wide as they need to be: a path or an id that is cut or folded can't be copied."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


_ID_DIGITS = 8
"""Enough to tell the runs of one results folder apart; `ale show` says so when they are not."""


def _brief(result: RunResult) -> str:
    """Without the sentence, which stands below the scoreboard."""
    ended = result.agent_end
    how = f" ({ended.value})" if ended and ended is not AgentEnd.FINISHED else ""
    if result.score is None:
        return result.outcome.value + how
    return verdict(result) + how


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
            f"{count(usage.model_calls, 'model call')}, {usage.input_tokens} tokens in "
            f"({usage.cache_read_tokens} cached), {usage.output_tokens} out, {cost}",
        )
    allowed = f"{seconds(result.limits.time)} (set by the {result.limits.time_set_by})"
    facts.add_row("time", f"agent {seconds(usage.agent_seconds)} of {allowed}")
    facts.add_row("phases", "  ".join(f"{name} {seconds(time.seconds)}" for name, time in result.phases.items()))
    graded_on = result.integrity.graded_on
    machine = "no grading machine was made" if graded_on == "none" else f"graded on {_MACHINES[graded_on]}"
    facts.add_row("integrity", f"{machine}; freeze {_freeze(result)}")
    console.print(facts, highlight=False)
    console.print(f"folder     {shown(folder)}", highlight=False, markup=False, soft_wrap=True)
    score = _score(folder)
    if score is not None:
        console.print(_tree(score))
    _print_steps(console, folder, limit)


_MACHINES = {"fresh": "a fresh machine", "fork": "a copy of the agent's machine", "same": "the agent's own machine"}


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
                branch.add(f"{mark} {escape(one_line(part.name))}  {share}{_because(part.score, part.name)}"),
                part.score.parts,
                1.0,
            )

    grow(tree, score.parts, sum(part.weight for part in score.parts))
    return tree


def _because(score: Score, name: str = "") -> str:
    """The grader's sentence, without the part's name, which stands before it."""
    sentence = score.sentence.removeprefix(f"{name}: ")
    return f"  [dim]{escape(one_line(sentence, 300))}[/]" if sentence else ""


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
