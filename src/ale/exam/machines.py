"""The machines of one run: made, copied, and released whatever happens."""

from __future__ import annotations

from typing import Literal

import anyio

from ale.exam.plan import RunPlan
from ale.exam.tools import Tools
from ale.sandbox.layers import LayerIdentity
from ale.sandbox.protocol import Sandbox, SandboxSpec, Screen, Size
from ale.task.card import Card

RELEASE_BOUND = 30.0
"""Seconds that releasing one machine may take, shielded from cancellation."""

Place = Literal["fresh", "fork", "same"]


class Machines:
    """All of a run's machines, in the order in which they were made; the agent's is the first."""

    def __init__(self, plan: RunPlan, card: Card, tools: Tools, *, door: bool) -> None:
        self._plan, self._card, self._tools, self._door = plan, card, tools, door
        self._made: list[Sandbox] = []

    @property
    def ids(self) -> list[str]:
        return [machine.id for machine in self._made]

    @property
    def newest(self) -> Sandbox:
        return self._made[-1]

    @property
    def _image(self) -> str:
        return self._tools.experiment.sandbox.image or self._card.image

    @property
    def layer(self) -> LayerIdentity | None:
        """The harness's, in the agent's machine only."""
        return self._tools.layers.get((self._plan.agent.harness, self._image))

    async def for_agent(self) -> Sandbox:
        """Raises SandboxUnavailable."""
        return self._owned(await self._tools.provider.create(self._spec(agent=True)))

    async def copy_of(self, machine: Sandbox) -> Sandbox:
        """A new machine on the frozen one's disk, which ends the frozen one."""
        return self._owned(await machine.fork(self._spec(agent=False)))

    async def for_grading(self, frozen: Sandbox, output_mb: int, *, again: bool) -> tuple[Sandbox, Place]:
        """The machine that the card grades on, and which it came to be: where the agent's own did not outlive it,
        `frozen` is a copy of its disk already. output_mb: what a fresh machine has to hold besides what the card says.
        again: the one that was given before is lost."""
        copied = frozen is not self._made[0]
        if self._card.grade_on == "fresh":
            await self.release()  # nobody needs them any more, and they may hold what little the host's disk has left
            return self._owned(await self._tools.provider.create(self._spec(agent=False, more_mb=output_mb))), "fresh"
        if self._card.grade_on == "fork" or again:
            return (frozen if copied and not again else await self.copy_of(frozen)), "fork"
        return frozen, "fork" if copied else "same"

    async def release(self) -> list[str]:
        """Destroy all that are not to be kept; ids of those that could not be destroyed, which the next sweep takes."""
        left = []
        for machine in self._made:
            if self._tools.keep and machine is self._made[0]:
                continue
            with anyio.move_on_after(RELEASE_BOUND, shield=True) as bound:
                await machine.destroy()
            if bound.cancelled_caught:
                left.append(machine.id)
        return left

    def _owned(self, machine: Sandbox) -> Sandbox:
        self._made.append(machine)
        return machine

    def _spec(self, *, agent: bool, more_mb: int = 0) -> SandboxSpec:
        compute, display = self._card.compute, self._card.display
        return SandboxSpec(
            label=self._plan.id,
            image=self._image,
            layers=(self.layer.digest,) if agent and self.layer else (),
            size=Size(compute.vcpus, compute.memory_mb, compute.disk_mb + more_mb),
            screen=Screen(display.width, display.height) if display else None,
            door=agent and self._door,
            keep=agent and self._tools.keep,
        )
