"""A run's way to its model: opened for the agent, shut before the freeze, its sums kept for the record."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ale.computer.paths import DOOR_URL
from ale.errors import HarnessError, InfrastructureError
from ale.exam.events import EventLog
from ale.exam.plan import RunPlan
from ale.exam.result import LimitRecord, UsageRecord
from ale.exam.tools import Tools
from ale.exam.work import Work
from ale.gateway.client import Door, DoorReport, DoorSpec, LimitReached, Limits
from ale.gateway.models import open_backend
from ale.harness.protocol import ModelEndpoint
from ale.sandbox.protocol import Sandbox


class ModelDoor:
    """Shut until `open`; shutting it again changes nothing."""

    def __init__(self, plan: RunPlan, limits: LimitRecord, tools: Tools, log: EventLog) -> None:
        self._plan, self._limits, self._tools, self._log = plan, limits, tools, log
        self._report: DoorReport | None = None
        self._told = 0
        self.door: Door | None = None

    async def open(self, machine: Sandbox) -> ModelEndpoint:
        """Raises HarnessError (no model is named), UsageError, InfrastructureError, GatewayLost."""
        plan = self._plan
        if plan.agent.model is None or self._tools.gateway is None:
            raise HarnessError(f"agent '{plan.agent.name}' needs a model: add `model: script:FILE` to it")
        limits = Limits(steps=self._limits.steps, tokens=self._limits.tokens, cost_usd=self._limits.cost_usd)
        spec = DoorSpec(
            run=plan.id,
            workflow=plan.case.workflow.name,
            instance=plan.case.instance,
            folder=plan.folder,
            model=plan.agent.model_name,
            backend=plan.agent.model,
            limits=limits,
        )
        self.door = await self._tools.gateway.open(spec, machine.door())
        return ModelEndpoint(plan.agent.model_name, DOOR_URL, self.door.token)

    async def limit_reached(self) -> LimitReached:
        """Waits until a budget is used up. Raises GatewayLost, InfrastructureError."""
        assert self.door is not None, "the door is opened before the agent works"
        return await self.door.limit_reached()

    async def follow(self) -> None:
        """Turn the door's calls into events, each once, until it is shut."""
        if self.door is None:
            return
        seen = 0
        async for call in self.door.calls():
            seen += 1
            if seen > self._told:
                self._told = seen
                usage: dict[str, Any] | None = call.usage.model_dump() if call.usage else None
                self._log.emit("model.call", **asdict(call) | {"usage": usage})

    async def shut(self) -> None:
        """No call is answered any more. Raises GatewayLost, InfrastructureError (the transcript is incomplete)."""
        if self.door is None or self._report is not None:
            return
        self._report = await self.door.close()
        await self.follow()

    def digest(self) -> str:
        """What names the model beyond doubt."""
        return open_backend(str(self._plan.agent.model)).digest

    def usage(self, agent_seconds: float) -> UsageRecord:
        report = self._report
        if report is None:
            return UsageRecord(agent_seconds=agent_seconds)
        return UsageRecord(
            model_calls=report.answered,
            input_tokens=report.usage.input_tokens,
            output_tokens=report.usage.output_tokens,
            cache_read_tokens=report.usage.cache_read_tokens,
            cache_write_tokens=report.usage.cache_write_tokens,
            cost_usd=report.cost_usd,
            agent_seconds=agent_seconds,
        )

    def check(self, work: Work) -> None:
        """Whether the agent's end was its own. Raises HarnessError when it made no call, InfrastructureError when it
        died of its model's provider."""
        report = self._report
        if report is None:
            return
        if report.calls == 0:
            raise HarnessError(
                f"agent '{self._plan.agent.name}' made no model call (exit code {work.result.exit_code}): "
                f"{work.result.last_message[-300:] or 'see harness/stderr.log'}"
            )
        if report.backend_failures and work.result.status != "finished" and work.limit is None:
            raise InfrastructureError(f"the model provider failed and the agent died of it: {report.first_error}")
