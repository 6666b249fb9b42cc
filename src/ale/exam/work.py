"""The agent works until it says that it is done, or a limit ends it; the clock runs for nobody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import anyio

from ale.concurrency import task_group
from ale.errors import AleError, HarnessError, InfrastructureError, SandboxLost
from ale.exam.events import EventLog
from ale.gateway.client import LimitReached
from ale.harness.protocol import AgentContext, AgentResult, Harness
from ale.outcome import AgentEnd

GRACE = 10.0
"""Seconds between the budget's error and the freeze, for the harness to put its last words down."""

_ENDS = {
    "finished": AgentEnd.FINISHED,
    "crashed": AgentEnd.CRASHED,
    "gave_up": AgentEnd.GAVE_UP,
}


@dataclass(frozen=True)
class Work:
    """lost: the machine went away while the agent had it; the agent has then crashed."""

    end: AgentEnd
    result: AgentResult
    limit: str | None = None
    lost: SandboxLost | None = None


class Budget(Protocol):
    """What may end an agent besides the clock: the door of its model."""

    async def limit_reached(self) -> LimitReached:
        """Waits until a budget is used up. Raises AleError when the run can't go on."""

    async def follow(self) -> None:
        """Record the agent's model calls until the door is shut."""


async def let_work(
    harness: Harness, context: AgentContext, budget: Budget | None, seconds: float, log: EventLog
) -> Work:
    """Raises HarnessError, GatewayLost; whatever the agent itself does is a Work."""
    result: AgentResult | None = None
    reached: LimitReached | None = None
    failure: AleError | None = None

    async with task_group() as tasks:

        async def watch(watched: Budget) -> None:
            nonlocal reached, failure
            try:
                reached = await watched.limit_reached()
            except AleError as error:
                failure = error
            else:
                log.emit("limit.reached", limit=reached.limit, value=reached.value, maximum=reached.maximum)
                await anyio.sleep(GRACE)
            tasks.cancel_scope.cancel()

        if budget is not None:
            tasks.start_soon(watch, budget)
            tasks.start_soon(budget.follow)
        with anyio.move_on_after(seconds) as clock:
            try:
                result = await harness.run(context)
            except AleError as error:
                if isinstance(error, InfrastructureError) and not isinstance(error, SandboxLost):
                    # A harness talks to nothing but the machine, and the agent has that: what went wrong in there is
                    # how the agent ended, and no reason to give it another machine.
                    result = AgentResult("crashed", detail=str(error))
                else:
                    failure = failure or error
            except Exception as error:  # noqa: BLE001 - the boundary: what a harness raises is the harness's fault
                failure = HarnessError(f"{harness.name} raised {type(error).__name__}: {error}")
                failure.__cause__ = error
        tasks.cancel_scope.cancel()

    if isinstance(failure, SandboxLost):
        gone = AgentResult("crashed", detail=str(failure))
        return Work(AgentEnd.CRASHED, gone, lost=failure)
    if failure is not None:
        raise failure
    if reached is not None:
        return Work(reached.agent_end, result or AgentResult("crashed", detail=str(reached)), limit=reached.limit)
    if clock.cancelled_caught:
        log.emit("limit.reached", limit="time", value=seconds, maximum=seconds)
        return Work(AgentEnd.TIME_LIMIT, AgentResult("crashed", detail="stopped by the clock"), limit="time")
    assert result is not None
    return Work(_ENDS[result.status], result)
