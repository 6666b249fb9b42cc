from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ale.gateway.client import Gateway


@pytest.fixture(scope="module")
async def gateway(anyio_backend: str) -> AsyncIterator[Gateway]:
    """A real gateway process."""
    async with Gateway() as running:
        yield running
