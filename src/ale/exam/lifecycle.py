"""One run from machine to verdict: eleven phases in order, each an event with its true start and end.

Whatever goes wrong is attributed once, here; the record is written and the machine released in every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from ale.computer.paths import DOOR_URL, OUTPUT
from ale.errors import HarnessError, InfrastructureError, SandboxLost
from ale.exam.attribution import attribute
from ale.exam.collecting import Artifacts, collect
from ale.exam.events import EventLog, Observer
from ale.exam.experiment import Experiment
from ale.exam.folder import RESULT, write_record
from ale.exam.grade import grade
from ale.exam.ledger import Ledger
from ale.exam.plan import RunPlan
from ale.exam.records import write_trajectory_records
from ale.exam.result import AgentResultRecord, LimitRecord, RunResult, UsageRecord
from ale.exam.staging import Captured, capture, check_reference_absent, stage_inputs
from ale.exam.work import CallLog, Work, let_work
from ale.gateway.client import Door, DoorReport, DoorSpec, Gateway, Limits
from ale.gateway.script import script_digest
from ale.harness.protocol import AgentContext, Harness, ModelEndpoint
from ale.outcome import AgentEnd
from ale.sandbox.layers import LayerIdentity
from ale.sandbox.protocol import Provider, Sandbox, SandboxSpec, Screen, Size
from ale.task.card import Card
from ale.task.run import Started, TaskLimits, TaskRun

RELEASE_BOUND = 30.0
"""Seconds that recording and releasing may each take after a cancellation, shielded from it."""


@dataclass(frozen=True)
class Tools:
    """What every run of an experiment shares."""

    experiment: Experiment
    provider: Provider
    gateway: Gateway
    layers: Mapping[str, LayerIdentity]
    observer: Observer
    keep: bool = False


async def examine(
    plan: RunPlan, card: Card, harness: Harness, tools: Tools, *, tries: int, recorded: Callable[[RunResult], None]
) -> None:
    """Carry out one run in its (empty, claimed) folder and tell `recorded` its result. Never raises for what happens in
    the run; a cancellation is recorded first and then passed on."""
    run = _Run(plan, card, harness, tools, tries)
    try:
        await run.carry_out()
    except anyio.get_cancelled_exc_class():
        run.ledger.cancelled = True
    except Exception as error:  # noqa: BLE001 - the boundary: every fault becomes an outcome with its evidence
        run.ledger.failure = attribute(error, run.log.current or "plan")
        if isinstance(error, SandboxLost):
            run.log.emit("sandbox.lost", sandbox=error.sandbox, evidence=error.evidence)
    with anyio.CancelScope(shield=True):
        recorded(await run.conclude())
    await anyio.lowlevel.checkpoint()  # a cancellation that was held back goes on from here


class _Run:
    def __init__(self, plan: RunPlan, card: Card, harness: Harness, tools: Tools, tries: int) -> None:
        self.plan, self.card, self.harness, self.tools = plan, card, harness, tools
        self.log = EventLog(plan.folder / "events.jsonl", plan.id, tools.observer)
        self.ledger = Ledger(plan, _limits(card, tools.experiment), datetime.now(UTC), tries)
        self.machines: list[Sandbox] = []
        self.door: Door | None = None
        self.report: DoorReport | None = None
        self.calls = CallLog(self.log)
        limits = tools.experiment.limits
        self.task = TaskRun(
            plan.case.workflow,
            plan.case.instance,
            scratch=plan.folder / "debug" / "task",
            limits=TaskLimits(
                start_seconds=limits.start_time,
                solve_seconds=self.ledger.limits.time,
                evaluate_seconds=limits.grading_time,
                memory_mb=limits.grading_memory_mb,
            ),
        )

    # the phases

    async def carry_out(self) -> None:
        log, workflow, instance = self.log, self.plan.case.workflow, self.plan.case.instance
        if self.ledger.tries > 1:
            log.emit("run.retry", number=self.ledger.tries)
        with log.phase("plan") as notes:
            notes |= {"agent": self.plan.agent.name, "workflow": workflow.name, "instance": instance}
            self.ledger.digests |= {"task": workflow.digest}
            reference = workflow.folder_of("reference", instance)
        with log.phase("provision") as notes:
            machine = await self._machine(await self.tools.provider.create(self._spec(agent=True)))
            notes |= {"sandbox": machine.id, "image": machine.image.content}
            self.ledger.digests["image"] = asdict(machine.image)
            self.ledger.note_integrity(strength=asdict(machine.strength))
        session = machine.session("root")
        with log.phase("stage"):
            await stage_inputs(session, workflow, instance)
        with log.phase("start") as notes:
            started = await self.task.stage_and_start(machine.endpoint)
            self.ledger.instruction = self._instruction(started)
            captured = await capture(session, self.plan.folder.parents[4] / ".inputs")
            notes["reference_files_looked_for"] = await check_reference_absent(session, reference)
            self.ledger.note_integrity(reference_absent=True)
            self.ledger.digests["inputs"] = captured.digest
            workspace = started.workspace or OUTPUT
            baseline = await session.digests([workspace])
        with log.phase("agent") as notes:
            work = await self._agent(machine)
            notes |= {"end": work.end.value, "limit": work.limit}
            if work.end is AgentEnd.CRASHED:
                notes["evidence"] = await machine.evidence()
        with log.phase("freeze") as notes:
            machine = await self._freeze(machine, work, notes)
        with log.phase("collect") as notes:
            artifacts = await collect(machine.session("root"), workspace, self.plan.folder / "workspace", baseline)
            notes |= {"files": len(artifacts.collected.files), "refused": len(artifacts.collected.refused)}
            self.ledger.digests["outputs"] = artifacts.digest
        self._check_harness(work)
        await self._grade(machine, captured, artifacts, workspace, reference)

    async def _machine(self, machine: Sandbox) -> Sandbox:
        self.machines.append(machine)
        self.ledger.sandboxes.append(machine.id)
        return machine

    def _spec(self, *, agent: bool) -> SandboxSpec:
        compute, display = self.card.compute, self.card.display
        layer = self.tools.layers.get(self.plan.agent.harness) if agent else None
        if layer is not None:
            self.ledger.agent_version = layer.version
            self.ledger.digests["harness"] = layer.digest
        return SandboxSpec(
            label=self.plan.id,
            image=self.tools.experiment.sandbox.image or self.card.image,
            layers=(layer.digest,) if layer else (),
            size=Size(compute.vcpus, compute.memory_mb, compute.disk_mb),
            screen=Screen(display.width, display.height) if display else None,
            door=agent and self.harness.uses_model,
            keep=self.tools.keep and agent,
        )

    def _instruction(self, started: Started) -> str:
        suffix = self.tools.experiment.prompt_suffix
        return f"{started.instruction}\n\n{suffix}" if suffix else started.instruction

    async def _agent(self, machine: Sandbox) -> Work:
        plan, limits, started = self.plan, self.ledger.limits, datetime.now(UTC)
        model = None
        if self.harness.uses_model:
            self.door = await self.tools.gateway.open(self._door_spec(), machine.door())
            self.ledger.digests["model"] = script_digest(Path(self.door.spec.backend.removeprefix("script:")))
            model = ModelEndpoint(plan.agent.model_name, DOOR_URL, self.door.token)
        context = AgentContext(
            session=machine.session("agent"),
            instruction=self.ledger.instruction,
            workflow=plan.case.workflow.name,
            instance=plan.case.instance,
            model=model,
            logs=plan.folder / "harness",
            settings=plan.agent.settings,
            solve=lambda: self.task.solve(machine.endpoint),
        )
        work = await let_work(self.harness, context, self.door, limits.time, self.log, self.calls)
        if work.lost is not None:
            self.log.emit("sandbox.lost", sandbox=work.lost.sandbox, evidence=work.lost.evidence)
        self.ledger.agent_end = work.end
        self.ledger.limits = limits.model_copy(update={"reached": work.limit})
        ended = datetime.now(UTC)
        self._note_usage((ended - started).total_seconds())
        write_record(
            plan.folder / "agent_result.json",
            AgentResultRecord(
                status=work.result.status,
                agent_end=work.end,
                exit_code=work.result.exit_code,
                last_message=work.result.last_message,
                detail=work.result.detail,
                started=started,
                ended=ended,
            ),
        )
        return work

    def _door_spec(self) -> DoorSpec:
        plan, limits = self.plan, self.ledger.limits
        if plan.agent.model is None:
            raise HarnessError(f"agent '{plan.agent.name}' needs a model: add `model: script:FILE` to it")
        return DoorSpec(
            run=plan.id,
            workflow=plan.case.workflow.name,
            instance=plan.case.instance,
            folder=plan.folder,
            model=plan.agent.model_name,
            backend=plan.agent.model,
            limits=Limits(steps=limits.steps, tokens=limits.tokens, cost_usd=limits.cost_usd),
        )

    async def _freeze(self, machine: Sandbox, work: Work, notes: dict[str, Any]) -> Sandbox:
        """The frozen machine, or a copy of its disk when it did not outlive the agent. The door is shut first."""
        await self._shut_door()
        report = await machine.freeze()
        notes |= asdict(report)
        self.ledger.note_integrity(freeze=asdict(report))
        if work.lost is None and await machine.alive():
            return machine
        notes["machine"] = "did not outlive the agent; what it left is collected from a copy of its disk"
        return await self._machine(await machine.fork(self._spec(agent=False)))

    async def _shut_door(self) -> None:
        door, self.door = self.door, None
        if door is None:
            return
        self.report = await door.close()
        await self.calls.follow(door)
        self._note_usage(self.ledger.usage.agent_seconds)

    def _check_harness(self, work: Work) -> None:
        report = self.report
        if not self.harness.uses_model or report is None:
            return
        if report.calls == 0:
            raise HarnessError(
                f"agent '{self.plan.agent.name}' made no model call (exit code {work.result.exit_code}): "
                f"{work.result.last_message[-300:] or 'see harness/stderr.log'}"
            )
        if report.backend_failures and work.result.status != "finished" and work.limit is None:
            raise InfrastructureError(f"the model provider failed and the agent died of it: {report.first_error}")

    async def _grade(
        self, machine: Sandbox, captured: Captured, artifacts: Artifacts, workspace: str, reference: Path | None
    ) -> None:
        async def fresh() -> Sandbox:
            return await self._machine(await self.tools.provider.create(self._spec(agent=False)))

        async def fork() -> Sandbox:
            forked = len(self.machines) > 1  # the agent destroyed its machine: this one is a copy of its disk already
            return machine if forked else await self._machine(await machine.fork(self._spec(agent=False)))

        async def same() -> Sandbox:
            return machine

        makers = {"fresh": fresh, "fork": fork, "same": same}
        self.ledger.note_integrity(graded_on=self.card.grade_on)
        self.ledger.score = await grade(
            self.card,
            self.task,
            machine=makers[self.card.grade_on],
            restage=self.card.grade_on == "fresh",
            captured=captured,
            artifacts=artifacts,
            workspace=workspace,
            reference=reference,
            folder=self.plan.folder,
            log=self.log,
        )

    def _note_usage(self, agent_seconds: float) -> None:
        report = self.report
        usage = UsageRecord(agent_seconds=round(agent_seconds, 3))
        if report is not None:
            usage = UsageRecord(
                model_calls=report.answered,
                input_tokens=report.usage.input_tokens,
                output_tokens=report.usage.output_tokens,
                cache_read_tokens=report.usage.cache_read_tokens,
                cache_write_tokens=report.usage.cache_write_tokens,
                cost_usd=report.cost_usd,
                agent_seconds=round(agent_seconds, 3),
            )
        self.ledger.usage = usage

    # the end, which every run reaches

    async def conclude(self) -> RunResult:
        async with AsyncExitStack() as stack:
            stack.callback(self.log.close)
            with self.log.phase("record") as notes:
                with anyio.move_on_after(RELEASE_BOUND):
                    await self._shut_door()
                await anyio.to_thread.run_sync(write_trajectory_records, self.plan.folder, self.ledger)
                result = self.ledger.result(self.log, datetime.now(UTC))
                notes |= {"outcome": result.outcome.value, "score": result.score.value if result.score else None}
                write_record(self.plan.folder / RESULT, result)
            with self.log.phase("release") as notes:
                notes["left"] = await self._release()
            return result

    async def _release(self) -> list[str]:
        """Destroy every machine of the run; ids of those that could not be destroyed, which the next sweep takes."""
        left = []
        for machine in self.machines:
            if self.tools.keep and machine is self.machines[0]:
                continue
            with anyio.move_on_after(RELEASE_BOUND) as bound:
                await machine.destroy()
            if bound.cancelled_caught:
                left.append(machine.id)
        return left


def _limits(card: Card, experiment: Experiment) -> LimitRecord:
    ceiling = experiment.limits
    by_task = card.time_budget_s <= ceiling.time
    return LimitRecord(
        time=float(card.time_budget_s) if by_task else ceiling.time,
        time_set_by="task" if by_task else "experiment",
        steps=ceiling.steps,
        tokens=ceiling.tokens,
        cost_usd=ceiling.cost_usd,
    )
