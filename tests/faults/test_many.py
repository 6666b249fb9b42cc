"""Very many machines, one after the other and at once: the host has what it had before."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from tests.faults.conftest import descendants
from tests.sandbox.leftovers import local_leftovers

from ale.sandbox import open_provider
from ale.sandbox.protocol import Provider, SandboxSpec

pytestmark = [pytest.mark.sandbox, pytest.mark.alone, pytest.mark.slow, pytest.mark.usefixtures("base_image")]


def resources() -> dict[str, int]:
    """What this process and its host hold. A pool of threads may grow, but not with the number of machines."""
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "children": len(descendants(os.getpid())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
    }


async def one(provider: Provider, names: list[str]) -> None:
    machine = await provider.create(SandboxSpec(label="many", image="base", door=True))
    try:
        names.append(machine.id)
        agent = machine.session("agent")
        assert (await agent.run_command("echo $$ > /task/output/x; cat /task/output/x")).success
    finally:
        await machine.destroy()


async def check_all_gone(provider: Provider, names: list[str], before: dict[str, int]) -> None:
    assert not {info.id for info in await provider.list()} & set(names)
    assert not [line for line in await local_leftovers() if any(name in line for name in names)]
    after = resources()
    assert after["children"] == before["children"]
    assert after["mounts"] <= before["mounts"] + 3, "other tests may mount"
    assert after["descriptors"] <= before["descriptors"] + 3


async def test_two_hundred_machines_in_a_row_leave_nothing() -> None:
    provider, names = open_provider("local"), list[str]()
    await one(provider, names)
    before = resources()
    with anyio.fail_after(500):
        for _ in range(200):
            await one(provider, names)
    await check_all_gone(provider, names, before)


async def test_a_dozen_machines_at_once_three_times_leave_nothing() -> None:
    provider, names = open_provider("local"), list[str]()
    await one(provider, names)
    before = resources()
    with anyio.fail_after(300):
        for _ in range(3):
            async with anyio.create_task_group() as tasks:
                for _ in range(12):
                    tasks.start_soon(one, provider, names)
    assert len(set(names)) == 37
    await check_all_gone(provider, names, before)
