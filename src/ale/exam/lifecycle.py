"""One run from machine to verdict: eleven phases in order, each an event with its true start and end.

Whatever goes wrong is attributed once, here; the record is written and the machines are released in every case.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from ale.computer.paths import OUTPUT
from ale.errors import GatewayLost, GraderError, InfrastructureError, SandboxLost, SandboxUnavailable
from ale.exam.attribution import attribute
from ale.exam.collecting import Artifacts, collect
from ale.exam.events import EventLog
from ale.exam.experiment import Experiment
from ale.exam.folder import RESULT, write_record
from ale.exam.grade import grade
from ale.exam.ledger import Ledger
from ale.exam.machines import Machines
from ale.exam.model_door import ModelDoor
from ale.exam.plan import RunPlan
from ale.exam.records import write_trajectory_records
from ale.exam.result import AgentResultRecord, LimitRecord, RunResult
from ale.exam.staging import Captured, capture, check_reference_absent, stage_inputs, start_services
from ale.exam.tools import Tools
from ale.exam.work import Work, let_work
from ale.harness.protocol import AgentContext, Harness
from ale.outcome import AgentEnd
from ale.sandbox.protocol import Sandbox
from ale.task.card import Card
from ale.task.run import Started, TaskLimits, TaskRun

RECORD_BOUND = 120.0
"""Seconds that shutting the door, and writing the trajectory, may each take; 50,000 steps take about 25."""


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
        self.machines = Machines(plan, card, tools, door=harness.uses_model)
        self.door = ModelDoor(plan, self.ledger.limits, tools, self.log)
        self.agent_seconds = 0.0
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
        log, ledger, workflow = self.log, self.ledger, self.plan.case.workflow
        if ledger.tries > 1:
            log.emit("run.retry", number=ledger.tries)
        with log.phase("plan") as notes:
            instance = self.plan.case.instance
            notes |= {"agent": self.plan.agent.name, "workflow": workflow.name, "instance": instance}
            ledger.digests["task"] = workflow.digest
            reference = workflow.folder_of("reference", instance)
        with log.phase("provision") as notes:
            machine = await self._provision()
            notes |= {"sandbox": machine.id, "image": machine.image.content}
        session = machine.session("root")
        with log.phase("stage"):
            await stage_inputs(session, workflow, instance)
        with log.phase("start") as notes:
            started = await self.task.stage_and_start(machine.endpoint)
            ledger.instruction = self._instruction(started)
            await start_services(machine, self.card)
            captured = await capture(session, self.plan.folder.parents[4] / ".inputs")
            ledger.digests["inputs"] = captured.digest
            notes["reference_files_looked_for"] = await check_reference_absent(session, reference)
            ledger.note_integrity(reference_absent=True)
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
            artifacts = await collect(
                machine.session("root"),
                workspace,
                self.plan.folder / "workspace",
                baseline,
                self.card.compute.disk_mb,
            )
            notes |= {"files": len(artifacts.collected.files), "refused": len(artifacts.collected.refused)}
            ledger.digests["outputs"] = artifacts.digest
        self.door.check(work)
        await self._grade(machine, captured, artifacts, workspace, reference)

    async def _provision(self) -> Sandbox:
        machine = await self.machines.for_agent()
        self.ledger.digests["image"] = asdict(machine.image)
        self.ledger.note_integrity(strength=asdict(machine.strength))
        if layer := self.machines.layer:
            self.ledger.agent_version = layer.version
            self.ledger.digests["harness"] = layer.digest
        return machine

    def _instruction(self, started: Started) -> str:
        suffix = self.tools.experiment.prompt_suffix
        return f"{started.instruction}\n\n{suffix}" if suffix else started.instruction

    async def _agent(self, machine: Sandbox) -> Work:
        plan, started, clock = self.plan, datetime.now(UTC), time.monotonic()
        model = None
        if self.harness.uses_model:
            model = await self.door.open(machine)
            self.ledger.digests["model"] = self.door.digest()
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
        budget = self.door if model else None
        try:
            work = await let_work(self.harness, context, budget, self.ledger.limits.time, self.log)
        finally:
            self.agent_seconds = round(time.monotonic() - clock, 3)
        if work.lost is not None:
            self.log.emit("sandbox.lost", sandbox=work.lost.sandbox, evidence=work.lost.evidence)
        self.ledger.agent_end = work.end
        self.ledger.limits = self.ledger.limits.model_copy(update={"reached": work.limit})
        write_record(
            plan.folder / "agent_result.json",
            AgentResultRecord(
                status=work.result.status,
                agent_end=work.end,
                exit_code=work.result.exit_code,
                last_message=work.result.last_message,
                detail=work.result.detail,
                started=started,
                ended=datetime.now(UTC),
            ),
        )
        return work

    async def _freeze(self, machine: Sandbox, work: Work, notes: dict[str, Any]) -> Sandbox:
        """The frozen machine, or a copy of its disk when it did not outlive the agent. The door is shut first."""
        await self.door.shut()
        report = await machine.freeze()
        notes |= asdict(report)
        self.ledger.note_integrity(freeze=asdict(report))
        if work.lost is None and await machine.alive():
            return machine
        notes["machine"] = "did not outlive the agent; what it left is collected from a copy of its disk"
        return await self.machines.copy_of(machine)

    async def _grade(
        self, frozen: Sandbox, captured: Captured, artifacts: Artifacts, workspace: str, reference: Path | None
    ) -> None:
        """What was delivered may take its grading machine down. That is no reason to ask the agent again: it is graded
        once more in a new one, and if that is lost too, it is what was delivered that can't be graded."""
        evidence = ""
        for again in (False, True):
            try:
                self.ledger.score = await grade(
                    self.card,
                    self.task,
                    machine=partial(self._grading_machine, frozen, artifacts, again=again),
                    restage=self.card.grade_on == "fresh",
                    captured=captured,
                    artifacts=artifacts,
                    workspace=workspace,
                    reference=reference,
                    folder=self.plan.folder,
                    log=self.log,
                )
                return
            except (SandboxUnavailable, GatewayLost):
                raise  # the host's fault, or ours
            except InfrastructureError as error:
                lost = self.machines.newest
                evidence = f"{error}; {await lost.evidence()}"
                self.log.emit("sandbox.lost", sandbox=lost.id, evidence=evidence)
        raise GraderError(f"two grading machines were lost over what was delivered: {evidence}")

    async def _grading_machine(self, frozen: Sandbox, artifacts: Artifacts, *, again: bool) -> Sandbox:
        machine, place = await self.machines.for_grading(frozen, artifacts.room_mb, again=again)
        self.ledger.note_integrity(graded_on=place)
        if place != "same":
            await start_services(machine, self.card)
        return machine

    # the end, which every run reaches

    async def conclude(self) -> RunResult:
        """Record and release. The machines are released even if nothing can be written any more."""
        async with AsyncExitStack() as stack:
            stack.callback(self.log.close)
            stack.push_async_callback(self.machines.release)
            with self.log.phase("record") as notes:
                await self._attributed(self.door.shut)
                self.ledger.usage = self.door.usage(self.agent_seconds)
                self.ledger.sandboxes = self.machines.ids
                await self._attributed(self._write_trajectory)
                result = self.ledger.result(self.log, datetime.now(UTC))
                notes |= {"outcome": result.outcome.value, "score": result.score.value if result.score else None}
                write_record(self.plan.folder / RESULT, result)
            with self.log.phase("release") as notes:
                notes["left"] = await self.machines.release()
            return result

    async def _attributed(self, work: Callable[[], Awaitable[None]]) -> None:
        """A fault while recording is the run's outcome, unless it has failed already; the rest is still recorded."""
        try:
            with anyio.move_on_after(RECORD_BOUND) as bound:
                await work()
            if bound.cancelled_caught:
                raise TimeoutError(f"recording was given up after {RECORD_BOUND:g} s")
        except Exception as error:  # noqa: BLE001 - the boundary: the fault is recorded
            if self.ledger.failure is None:
                self.ledger.failure = attribute(error, "record")

    async def _write_trajectory(self) -> None:
        await anyio.to_thread.run_sync(write_trajectory_records, self.plan.folder, self.ledger)


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
