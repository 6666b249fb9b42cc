"""`ale task`: what can be asked of an agent, and a first task of one's own."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from ale.errors import TaskError
from ale.home import instance_cache
from ale.task.discover import Catalogue, Pattern, Workflow, choose, discover, matching
from ale.task.instances import InstanceInfo, list_instances
from ale.task.scaffold import scaffold
from ale.task.taxonomy import SUBDOMAINS
from ale.text import count, one_line, plain, seconds

_AT_ONCE = 4
"""Worker processes that read instances at the same time."""

tasks_dir = click.option(
    "--tasks-dir",
    type=click.Path(path_type=Path),
    default=Path("tasks"),
    show_default=True,
    help="The directory that holds <cluster>/<workflow>/.",
)


@click.group()
def task() -> None:
    """List, show and scaffold tasks."""


@task.command("list")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@tasks_dir
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def list_tasks(patterns: tuple[str, ...], tasks_dir: Path, as_json: bool) -> None:
    """List tasks and their instances.

    PATTERN is like `business_finance/*` or `computing_math/etl_repair:instance2`. A broken task is reported with file
    and line and does not stop the others; the exit code is 1 then.
    """
    catalogue = discover(tasks_dir)
    found = anyio.run(_read, catalogue, patterns)
    if as_json:
        click.echo(json.dumps(_document(catalogue, found), indent=1))
    else:
        for entry in found.entries:
            names = ", ".join(instance.name for instance in entry.instances)
            card = entry.workflow.card
            click.echo(f"{entry.workflow.name}  [{names}]  {card.tier}, {card.os}, {one_line(card.title)}")
        instances = sum(len(entry.instances) for entry in found.entries)
        tally = f"{count(len(found.entries), 'task')}, {count(instances, 'instance')} in {catalogue.root}"
        click.echo(tally, err=True)
    for name, problem in found.broken:
        click.echo(f"ale: task {name} is broken: {plain(problem)}", err=True)
    if found.broken:
        sys.exit(1)


@task.command()
@click.argument("name", metavar="TASK[:INSTANCE]")
@tasks_dir
@click.option("--json", "as_json", is_flag=True, help="Card, digest and instances as JSON.")
def show(name: str, tasks_dir: Path, as_json: bool) -> None:
    """Show a task's card and what its instances ask."""
    workflow_name, _, instance = name.partition(":")
    workflow = discover(tasks_dir).workflow(workflow_name)
    instances = anyio.run(list_instances, workflow, instance_cache(os.environ))
    if instance:
        chosen = choose(workflow, [Pattern.parse(name)], [each.name for each in instances])
        instances = tuple(each for each in instances if each.name in chosen)
    if as_json:
        click.echo(json.dumps(_entry(_Entry(workflow, instances)), indent=1))
        return
    card = workflow.card
    click.echo(f"{workflow.name}: {plain(card.title)}")
    for label, value in _facts(workflow):
        click.echo(f"  {label:<12} {plain(value)}")
    for each in instances:
        click.echo(f"\n{workflow.name}:{each.name}")
        click.echo("\n".join(f"  {line}".rstrip() for line in plain(each.description).splitlines()))


@task.command()
@click.argument("name", metavar="CLUSTER/NAME")
@tasks_dir
def new(name: str, tasks_dir: Path) -> None:
    """Write a complete small task that passes, to be changed part by part."""
    for path in scaffold(tasks_dir, name):
        click.echo(path)
    where = "" if tasks_dir == Path("tasks") else f"--tasks-dir {shlex.quote(str(tasks_dir))} "
    click.echo(f"now: ale run {where}--tasks {name} --agent oracle --agent idle", err=True)


@dataclass(frozen=True)
class _Entry:
    workflow: Workflow
    instances: tuple[InstanceInfo, ...]


@dataclass(frozen=True)
class _Found:
    entries: tuple[_Entry, ...]
    broken: tuple[tuple[str, str], ...]


async def _read(catalogue: Catalogue, patterns: Sequence[str]) -> _Found:
    """The workflows that the patterns name (all without any) with their instances, and what is broken."""
    chosen = matching(catalogue, patterns) if patterns else dict.fromkeys(catalogue.workflows, ())
    broken = [] if patterns else [(each.name, each.problem) for each in catalogue.broken]
    found: dict[Workflow, tuple[InstanceInfo, ...]] = {}
    gate = anyio.CapacityLimiter(_AT_ONCE)

    async def look(workflow: Workflow) -> None:
        async with gate:
            try:
                found[workflow] = await list_instances(workflow, instance_cache(os.environ))
            except TaskError as error:
                broken.append((workflow.name, str(error)))

    async with anyio.create_task_group() as group:
        for workflow in chosen:
            group.start_soon(look, workflow)
    entries = []
    for workflow, wanted in chosen.items():
        if workflow in found:
            instances = found[workflow]
            names = choose(workflow, wanted, [each.name for each in instances]) if wanted else None
            kept = tuple(each for each in instances if names is None or each.name in names)
            entries.append(_Entry(workflow, kept))
    return _Found(tuple(entries), tuple(sorted(broken)))


def _document(catalogue: Catalogue, found: _Found) -> dict[str, Any]:
    return {
        "root": str(catalogue.root),
        "tasks": [_entry(entry) for entry in found.entries],
        "broken": [{"name": name, "problem": problem} for name, problem in found.broken],
    }


def _entry(entry: _Entry) -> dict[str, Any]:
    return {
        "name": entry.workflow.name,
        "digest": entry.workflow.digest,
        "card": entry.workflow.card.model_dump(mode="json"),
        "instances": [
            {"name": each.name, "description": each.description, "computer": each.computer} for each in entry.instances
        ],
    }


def _facts(workflow: Workflow) -> list[tuple[str, str]]:
    card = workflow.card
    size = card.compute
    return [
        ("folder", str(workflow.folder)),
        ("digest", workflow.digest[:16]),
        ("subdomain", f"{card.subdomain} {SUBDOMAINS[card.subdomain]}"),
        ("occupation", f"{card.occupation.code} {card.occupation.title}"),
        ("tier", card.tier),
        ("machine", f"{card.os}, image {card.image}, {size.vcpus} vcpus, {size.memory_mb} MB, {size.disk_mb} MB disk"),
        ("time", seconds(card.time_budget_s)),
        ("graded on", card.grade_on),
        ("delivers", ", ".join(f"{output.path} ({output.kind})" for output in card.outputs) or "anything"),
        *(("criterion", f"{criterion.weight:g}  {criterion.text}") for criterion in card.criteria),
    ]
