"""One run's sums and budgets."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from ale.gateway.prices import Price
from ale.gateway.spec import Budget, LimitReached, Limits
from ale.trajectory.clock import Moment
from ale.trajectory.schema import Usage


class Meter:
    """Admits calls while every budget has something left, and sums what was answered.

    Calls that are under way count against the step budget, so parallel calls can't pass it together; tokens and dollars
    are known only after an answer, so what is under way when one of these is used up is let finish.
    """

    def __init__(self, limits: Limits, price: Price | None) -> None:
        self._limits = limits
        self._price = price
        self._changed = asyncio.Event()
        self._under_way = 0
        self.answered = 0
        self.input_tokens = self.output_tokens = self.cache_read_tokens = self.cache_write_tokens = 0
        self.cost = Decimal(0)
        self.reached: LimitReached | None = None

    @property
    def usage(self) -> Usage:
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
            cost_usd=float(self.cost) if self._price else None,
        )

    async def admit(self, call: int) -> LimitReached | None:
        """None: the call may go on, and `settle` must follow. Otherwise the budget that refuses it, the same one for
        every later call of the run."""
        while self._undecided():
            await self._changed.wait()
        if self.reached is None and (used := self._used_up()):
            budget, maximum, value = used
            self.reached = LimitReached(budget, value, maximum, call, Moment.now().isoformat())
        if self.reached is None:
            self._under_way += 1
        return self.reached

    def settle(self, usage: Usage | None) -> Usage | None:
        """The end of an admitted call: its usage, or None if it was not answered. Gives it back with its cost."""
        if usage is not None:
            cost = self._price.cost(usage) if self._price else None
            self.answered += 1
            self.input_tokens += usage.input_tokens
            self.output_tokens += usage.output_tokens
            self.cache_read_tokens += usage.cache_read_tokens
            self.cache_write_tokens += usage.cache_write_tokens
            self.cost += cost or 0
            usage = usage.model_copy(update={"cost_usd": float(cost) if cost is not None else None})
        self._under_way -= 1
        self._changed.set()
        self._changed = asyncio.Event()
        return usage

    def _undecided(self) -> bool:
        steps = self._limits.steps
        if self.reached or steps is None or not self._under_way or self._used_up():
            return False
        return self.answered + self._under_way >= steps

    def _used_up(self) -> tuple[Budget, float, float] | None:
        limits = self._limits
        if limits.steps is not None and self.answered >= limits.steps:
            return "steps", limits.steps, self.answered
        if limits.tokens is not None and (tokens := self.input_tokens + self.output_tokens) >= limits.tokens:
            return "tokens", limits.tokens, tokens
        if limits.cost_usd is not None and self.cost >= Decimal(str(limits.cost_usd)):
            return "cost_usd", limits.cost_usd, float(self.cost)
        return None
