"""`ale run`: carry out an experiment, from a file or from options."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import click
from pydantic import ValidationError
from rich.console import Console

from ale.cli.locate import shown
from ale.cli.progress import open_progress
from ale.cli.scoreboard import scoreboard, whats_next
from ale.concurrency import task_group
from ale.errors import UsageError
from ale.exam.conductor import carry_out
from ale.exam.experiment import Experiment, read_experiment
from ale.exam.planning import Plan, make_plan
from ale.exam.result import RunResult
from ale.home import instance_cache
from ale.outcome import Outcome
from ale.text import count, seconds


@click.command()
@click.argument("exam", type=click.Path(path_type=Path), required=False)
@click.option(
    "--tasks", "-t", multiple=True, metavar="PATTERN", help="cluster/workflow[:instance], * allowed; repeatable."
)
@click.option("--agent", "-a", "agents", multiple=True, metavar="HARNESS", help="An agent by its harness; repeatable.")
@click.option("--model", "-m", metavar="MODEL", help="The model of every --agent that uses one, such as script:FILE.")
@click.option("--tasks-dir", type=click.Path(path_type=Path), help="Where tasks are found [default: tasks].")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where run folders go [default: results].")
@click.option("--name", metavar="NAME", help="Name of the experiment [default: the time].")
@click.option("--attempts", "-k", type=click.IntRange(min=1), help="Runs of each agent on each instance.")
@click.option("--concurrency", "-c", type=click.IntRange(min=1), help="Runs at the same time.")
@click.option("--again", is_flag=True, help="New attempts beside those that have results already.")
@click.option("--keep", is_flag=True, help="Leave each agent's sandbox for a look (ale sandbox list).")
@click.option("--dry-run", is_flag=True, help="Check everything, print the plan, start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    exam: Path | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    again: bool,
    keep: bool,
    **options: Any,
) -> None:
    """Carry out the experiment of EXAM.yaml, or of --tasks and --agent.

    Runs that have a final result are kept and not repeated; --again makes new attempts beside them. Ctrl-C stops
    cleanly: what runs is recorded as cancelled, nothing is left running, and the same command goes on from there.
    """
    experiment = _experiment(exam, options)
    folder = experiment.output / experiment.name
    _check_output(folder)
    plan = anyio.run(lambda: make_plan(experiment, again=again, cache=instance_cache(os.environ)))
    if dry_run:
        _print_plan(plan, as_json=as_json)
        return
    _make_output(folder)
    if not quiet:
        _say_what_is_kept(plan)
    results, stopped_by = anyio.run(_conduct, plan, keep, quiet)
    results = sorted([*plan.done, *results], key=lambda result: (result.agent.name, result.workflow, result.instance))
    if as_json:
        click.echo(json.dumps([result.model_dump(mode="json", by_alias=True) for result in results], indent=1))
    else:
        scoreboard(Console(), results)
        whats_next(Console(), results, folder)
    if stopped_by:
        complete = sum(result.outcome is not Outcome.CANCELLED for result in results)
        so_far = f"{complete} of {count(len(plan.runs) + len(plan.done), 'run')} complete"
        click.echo(f"stopped with {so_far}; the same command goes on from there", err=True)
        ctx.exit(128 + stopped_by)
    ctx.exit(0 if all(result.outcome is Outcome.SCORED for result in results) else 1)


def _check_output(folder: Path) -> None:
    """Before anything is planned: whether results can be written there. Raises UsageError."""
    there = next(part for part in (folder, *folder.parents) if os.path.lexists(part))
    problem = "" if there.is_dir() else f"{shown(there)} is no folder"
    if not problem and not os.access(there, os.W_OK | os.X_OK):
        problem = f"no permission to write in {shown(there)}"
    if problem:
        raise UsageError(f"results can't be written to {shown(folder)}: {problem}; name another place with --output")


def _make_output(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        where = f"results can't be written to {shown(folder)}"
        raise UsageError(f"{where}: {error.strerror}; name another place with --output") from None


def _say_what_is_kept(plan: Plan) -> None:
    if not plan.done:
        return
    total = len(plan.runs) + len(plan.done)
    kept = f"{len(plan.done)} of {count(total, 'run')} done before and kept"
    changed = f"; since then {' and '.join(plan.outdated)} changed" if plan.outdated else ""
    click.echo(f"{kept}{changed}; --again makes new attempts", err=True)


def _experiment(exam: Path | None, options: dict[str, Any]) -> Experiment:
    changes = {key: value for key in ("attempts", "concurrency", "name") if (value := options[key]) is not None}
    changes |= {key: options[key].resolve() for key in ("output", "tasks_dir") if options[key] is not None}
    if exam is not None:
        if options["tasks"] or options["agents"] or options["model"]:
            raise UsageError("give either an exam file, or --tasks and --agent; not both")
        return _validated(read_experiment(exam).model_dump() | changes)
    if not options["tasks"] or not options["agents"]:
        raise UsageError("say what to run: ale run EXAM.yaml, or ale run --tasks PATTERN --agent HARNESS")
    from ale.harness import open_harness

    uses_model = {name: open_harness(name).uses_model for name in options["agents"]}
    if options["model"] and not any(uses_model.values()):
        raise UsageError(f"none of the agents ({', '.join(uses_model)}) calls a model; leave --model out")
    data = {
        "name": datetime.now().astimezone().strftime("run-%Y%m%d-%H%M%S"),
        "tasks": list(options["tasks"]),
        "agents": [
            {"harness": name, "model": options["model"] if uses_model[name] else None} for name in options["agents"]
        ],
    }
    return _validated(data | changes).resolved(Path.cwd())


def _validated(data: dict[str, Any]) -> Experiment:
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        if problem["loc"] == ("name",):
            raise UsageError(f"--name '{data['name']}' must be letters, digits, '.', '_' and '-', at most 63") from None
        raise UsageError(str(problem["msg"]).removeprefix("Value error, ")) from None


async def _conduct(plan: Plan, keep: bool, quiet: bool) -> tuple[Sequence[RunResult], int]:
    """The results, and the number of the signal that stopped the experiment (0: none)."""
    results: list[RunResult] = []
    stopped_by = 0
    with open_progress(plan, quiet=quiet) as progress:
        async with task_group() as tasks:

            async def watch_signals() -> None:
                nonlocal stopped_by
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    async for number in signals:
                        if stopped_by:
                            progress.announce("already stopping: recording what runs and removing its sandboxes")
                            continue
                        stopped_by = int(number)
                        progress.announce("stopping: what runs is recorded as cancelled")
                        conducting.cancel()

            def finished(result: RunResult) -> None:
                results.append(result)
                progress.finished(result)

            tasks.start_soon(watch_signals)
            with anyio.CancelScope() as conducting:
                await carry_out(plan, observer=progress.observe, finished=finished, say=progress.say, keep=keep)
            tasks.cancel_scope.cancel()
    return results, stopped_by


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"id": run.id, "agent": run.agent.name, "workflow": run.case.workflow.name,
                                "instance": run.case.instance, "attempt": run.attempt, "folder": str(run.folder)}
                               for run in plan.runs], indent=1))  # fmt: skip
        return
    for run in plan.runs:
        card = plan.card(run)
        at_most = min(card.time_budget_s, plan.experiment.limits.time)
        click.echo(f"{run.id}  {run.title}  (at most {seconds(at_most)}, {card.image})")
    kept = f"; {len(plan.done)} more have a final result (--again makes new attempts)" if plan.done else ""
    click.echo(f"{count(len(plan.runs), 'run')} to do{kept}; nothing was started")
