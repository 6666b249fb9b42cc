"""The real server, as pid 1 of a bare box, passes every check that needs no screen."""

from __future__ import annotations

import pytest

from ale.computer.client import connect
from ale.computer.conformance import SESSION_CHECKS, Check
from ale.computer.session import Session

from .conftest import Box

pytestmark = pytest.mark.root


@pytest.mark.parametrize(
    "check", [check for check in SESSION_CHECKS.values() if not check.needs_screen], ids=lambda check: check.name
)
async def test_the_server_conforms(check: Check, box: Box) -> None:
    opened: list[Session] = []

    async def session() -> Session:
        opened.append(await connect(box.endpoint))
        return opened[-1]

    try:
        await check.run(session)
    finally:
        for one in opened:
            await one.aclose()
