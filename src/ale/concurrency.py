"""A task group whose failure is the failure, not a group around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from ale.errors import AleError


@asynccontextmanager
async def task_group() -> AsyncIterator[TaskGroup]:
    """As anyio's, but when everything that failed is an AleError, the first of them is raised by itself: callers catch
    it by its class, and people read one sentence."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        failures = list(_leaves(group))
        if all(isinstance(failure, AleError) for failure in failures):
            raise failures[0] from None
        raise


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for failure in group.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _leaves(failure)
        else:
            yield failure
