"""What an experiment comes to: its cases, agents and runs, all checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ale.concurrency import task_group
from ale.documents import nearest
from ale.errors import UsageError
from ale.exam.experiment import Experiment
from ale.exam.folder import find_runs, read_result
from ale.exam.plan import Case, RunPlan, plan_runs
from ale.exam.result import RunResult
from ale.gateway.models import check_backend, check_price
from ale.harness import open_harness
from ale.harness.protocol import Harness
from ale.outcome import MEANING, Outcome
from ale.sandbox import open_provider
from ale.task.card import Card
from ale.task.discover import Catalogue, Workflow, choose, discover, matching
from ale.task.instances import list_instances


@dataclass(frozen=True)
class Plan:
    """What `--dry-run` shows and `carry_out` does. done: runs whose final result is there already; outdated: the
    workflows that have changed since some of those."""

    experiment: Experiment
    runs: tuple[RunPlan, ...]
    done: tuple[RunResult, ...]
    cards: Mapping[tuple[str, str], Card]
    harnesses: Mapping[str, Harness]
    outdated: tuple[str, ...] = ()

    def card(self, run: RunPlan) -> Card:
        return self.cards[run.case.workflow.name, run.case.instance]

    @property
    def images(self) -> list[str]:
        chosen = self.experiment.sandbox.image
        return [chosen] if chosen else sorted({self.card(run).image for run in self.runs})


async def make_plan(experiment: Experiment, *, again: bool = False, cache: Path | None = None) -> Plan:
    """Validate everything that can be validated without starting anything.

    again: new attempts beside the ones that exist, instead of only what has no final outcome yet. cache: where instance
    lists are remembered; losing it costs only time.
    Raises UsageError for whatever the experiment names that does not exist or does not fit.
    """
    harnesses = {agent.harness: open_harness(agent.harness) for agent in experiment.agents}
    catalogue = discover(experiment.tasks_dir)
    cases, cards = await _cases(catalogue, experiment.tasks, cache)
    _check_agents(experiment, harnesses, cases)
    open_provider(experiment.sandbox.provider)
    first = 1 + (_last_attempt(experiment) if again else 0)
    planned = tuple(plan_runs(experiment, cases, range(first, first + experiment.attempts)))
    done = {run.id: result for run in planned if (result := read_result(run.folder)) and _is_final(result)}
    to_do = tuple(run for run in planned if run.id not in done)
    outdated = {
        run.case.workflow.name
        for run in planned
        if run.id in done and done[run.id].digests.get("task") not in (None, run.case.workflow.digest)
    }
    return Plan(experiment, to_do, tuple(done.values()), cards, harnesses, tuple(sorted(outdated)))


def _check_agents(experiment: Experiment, harnesses: Mapping[str, Harness], cases: Sequence[Case]) -> None:
    for agent in experiment.agents:
        harness = harnesses[agent.harness]
        for key in agent.settings:
            if key not in harness.settings:
                raise UsageError(
                    f"agent '{agent.name}': {agent.harness} has no setting '{key}'{nearest(key, harness.settings)}"
                )
        if not harness.uses_model:
            if agent.model is not None:
                raise UsageError(f"agent '{agent.name}': {agent.harness} uses no model; remove `model:`")
            continue
        if agent.model is None:
            raise UsageError(f"agent '{agent.name}' needs a model: add `model: script:FILE` to it, or give --model")
        check_backend(agent.model, ((case.workflow.name, case.instance) for case in cases))
        if experiment.limits.cost_usd is not None:
            check_price(agent.model_name, agent.model)


async def _cases(
    catalogue: Catalogue, patterns: Sequence[str], cache: Path | None
) -> tuple[tuple[Case, ...], dict[tuple[str, str], Card]]:
    chosen = matching(catalogue, patterns)
    cases: dict[Workflow, list[Case]] = {}
    cards: dict[tuple[str, str], Card] = {}

    async def look(workflow: Workflow) -> None:
        instances = {instance.name: instance for instance in await list_instances(workflow, cache)}
        names = choose(workflow, chosen[workflow], tuple(instances))
        cases[workflow] = [Case(workflow, name) for name in names]
        for name in names:
            card = cards[workflow.name, name] = workflow.card.for_instance(instances[name].computer)
            if problem := _not_runnable(card):
                raise UsageError(f"task {workflow.name}:{name} can't run here: {problem}")

    async with task_group() as tasks:
        for workflow in chosen:
            tasks.start_soon(look, workflow)
    return tuple(case for workflow in chosen for case in cases[workflow]), cards


def _not_runnable(card: Card) -> str:
    """What the card asks for that no sandbox of this version has; empty when nothing is missing."""
    if card.os != "linux":
        return f"it needs {card.os}, and the sandboxes of this version are Linux machines"
    if card.compute.gpu:
        return f"it needs a GPU ({card.compute.gpu}), and no sandbox of this version has one"
    if card.network.hosts:
        return f"it needs the network ({', '.join(card.network.hosts)}), and a sandbox has only the door"
    return ""


def _last_attempt(experiment: Experiment) -> int:
    return max((int(folder.name) for folder in find_runs(experiment.output / experiment.name)), default=0)


def _is_final(result: RunResult) -> bool:
    return result.outcome is not Outcome.CANCELLED and MEANING[result.outcome].retry != "run"
