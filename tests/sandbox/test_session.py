"""Sessions on local sandboxes do what every Session must, on a real image and a real display."""

import pytest

from ale.computer.conformance import SESSION_CHECKS, Check
from ale.computer.session import Session
from ale.sandbox import open_provider
from ale.sandbox.protocol import SandboxSpec, Screen

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("check", SESSION_CHECKS.values(), ids=lambda check: check.name)
async def test_local(check: Check, base_image: str) -> None:
    screen = Screen() if check.needs_screen else None
    machine = await open_provider("local").create(SandboxSpec("session", base_image, screen=screen))

    async def session() -> Session:
        return machine.session()

    try:
        await check.run(session)
    finally:
        await machine.destroy()
