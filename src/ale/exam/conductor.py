"""From a plan to its results: prepare what it needs, carry out its runs side by side, lose none of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio

from ale.concurrency import task_group
from ale.errors import InfrastructureError
from ale.exam.events import Observer
from ale.exam.experiment import Experiment
from ale.exam.folder import claimed, set_aside
from ale.exam.lifecycle import examine
from ale.exam.plan import RunPlan
from ale.exam.planning import Plan
from ale.exam.result import RunResult
from ale.exam.tools import Tools
from ale.gateway.client import Gateway
from ale.outcome import MEANING
from ale.sandbox import open_provider
from ale.sandbox.layers import LayerIdentity
from ale.sandbox.protocol import Provider, Say

Finished = Callable[[RunResult], None]


async def carry_out(plan: Plan, *, observer: Observer, finished: Finished, say: Say, keep: bool = False) -> None:
    """Carry out the plan's runs, `concurrency` at a time. Every run that was begun is recorded and reported through
    `finished`, also when this is cancelled.

    Raises SandboxUnavailable, UsageError and HarnessError while preparing, before any run is begun.
    """
    provider = open_provider(plan.experiment.sandbox.provider)
    for removed in await provider.sweep():
        say(f"removed sandbox {removed}, left by a command that was killed")
    if not plan.runs:
        return
    layers = await _prepare(plan, provider, say)
    waiting = iter(plan.runs)

    async with AsyncExitStack() as stack:
        needed = any(harness.uses_model for harness in plan.harnesses.values())
        gateway = await stack.enter_async_context(Gateway()) if needed else None
        tools = Tools(plan.experiment, provider, gateway, layers, observer, keep=keep)

        async def work_through() -> None:
            for run in waiting:
                await _carry_out_run(plan, run, tools, finished, say)

        async with task_group() as tasks:
            for _ in range(min(plan.experiment.concurrency, len(plan.runs))):
                tasks.start_soon(work_through)


async def _prepare(plan: Plan, provider: Provider, say: Say) -> dict[tuple[str, str], LayerIdentity]:
    """Build the images and harness layers that are not there yet; a run itself never downloads anything."""
    layers: dict[tuple[str, str], LayerIdentity] = {}
    for image in plan.images:
        await provider.build_image(image, say)
        for name, harness in plan.harnesses.items():
            recipe = harness.layer()
            if recipe is not None:
                layers[name, image] = await provider.build_layer(recipe, image, say)
    return layers


async def _carry_out_run(plan: Plan, run: RunPlan, tools: Tools, finished: Finished, say: Say) -> None:
    """Raises InfrastructureError when the run's folder can't be written: then nothing more can be recorded there."""
    try:
        await _carry_out_claimed(plan, run, tools, finished, say)
    except OSError as error:
        raise InfrastructureError(
            f"the run folder {run.folder} can't be written ({error.strerror or error}), so this run has no result; "
            "mend that and give the same command again: what is recorded already stays"
        ) from error


async def _carry_out_claimed(plan: Plan, run: RunPlan, tools: Tools, finished: Finished, say: Say) -> None:
    with claimed(run.folder) as mine:
        if not mine:
            say(f"{run.title} is being carried out by another process")
            return
        last: list[RunResult] = []
        try:
            for repeats in itertools.count():
                tries = set_aside(run.folder)
                harness = plan.harnesses[run.agent.harness]
                await examine(run, plan.card(run), harness, tools, tries=tries + 1, recorded=last.append)
                if repeats >= _repeats_allowed(last[-1], plan.experiment):
                    return
                await anyio.sleep(min(2.0**repeats, 60.0))  # back-off: what failed may need a moment
        finally:
            if last:
                finished(last[-1])


def _repeats_allowed(result: RunResult, experiment: Experiment) -> int:
    allowed = {"run": experiment.retries.infrastructure, "run_once": experiment.retries.harness}
    return allowed.get(MEANING[result.outcome].retry, 0)
