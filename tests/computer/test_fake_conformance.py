"""The fake machine passes every check that needs no real one."""

from __future__ import annotations

import pytest

from ale.computer.conformance import SESSION_CHECKS, Check
from ale.computer.session import Session
from ale.sandbox.fake import FakeProvider
from ale.sandbox.protocol import SandboxSpec


@pytest.mark.parametrize(
    "check", [check for check in SESSION_CHECKS.values() if not check.needs_machine], ids=lambda check: check.name
)
async def test_the_fake_conforms(check: Check) -> None:
    sandbox = await FakeProvider().create(SandboxSpec(label="test", image="base"))

    async def session() -> Session:
        return sandbox.session()

    try:
        await check.run(session)
    finally:
        await sandbox.destroy()
