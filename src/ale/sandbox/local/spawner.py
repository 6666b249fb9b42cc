"""The thread that machines are started from. bubblewrap's die-with-parent watches the thread that forked it, so that
must be one that lives as long as the provider, not one of a pool."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

T = TypeVar("T")


class Spawner:
    """Ends with the last reference to it, and with it every machine that is not kept."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ale-spawner")

    async def run(self, call: Callable[[], T]) -> T:
        """Not interrupted by a cancellation: what was started is always handed back."""
        future = self._thread.submit(call)
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(future.result)
        return result  # noqa: RET504 - the scope may swallow a cancellation, says its type
