"""Every attack of the suite, through the whole of a run: its one ending, an untouched host, a clean next run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.conftest import Arena, check_ending, check_nothing_left, check_record, watched

from ale.sandbox import open_provider
from ale.sandbox.hostile import ATTACKS, Attack
from ale.sandbox.protocol import SandboxSpec

pytestmark = [pytest.mark.sandbox, pytest.mark.alone, pytest.mark.usefixtures("base_image", "untouched_host")]

SHARED = {
    group: [attack for attack in ATTACKS if attack.group == group and not attack.alone]
    for group in dict.fromkeys(attack.group for attack in ATTACKS)
}
ALONE = [
    pytest.param(attack, id=attack.name, marks=[pytest.mark.slow] if attack.slow else [])
    for attack in ATTACKS
    if attack.alone
]


@pytest.fixture(scope="module")
def untouched_host(base_image: str) -> Iterator[None]:
    """Looked at once for all tests of a worker: reading every image's inodes takes half a second."""
    before = watched()
    yield
    after = watched()
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    assert not changed


@pytest.mark.parametrize("group", [group for group, attacks in SHARED.items() if attacks])
async def test_attacks_that_share_a_machine(arena: Arena, group: str) -> None:
    neighbour = await open_provider("local").create(SandboxSpec(label="neighbour", image="base", door=True))
    try:
        session = neighbour.session("agent")
        await session.write_file(f"/tmp/{arena.host.mark}", arena.host.key)
        await session.write_file(f"/dev/shm/{arena.host.mark}", arena.host.key)
        await session.launch(["sleep", "1000"], env={"KEY": arena.host.key})
        await _attack(arena, SHARED[group])
        assert await session.run_command("pgrep -x sleep") is not None, "an attack reached another machine"
    finally:
        await neighbour.destroy()


@pytest.mark.parametrize("attack", ALONE)
async def test_an_attack_with_a_machine_of_its_own(arena: Arena, attack: Attack) -> None:
    await _attack(arena, [attack])


async def _attack(arena: Arena, attacks: list[Attack]) -> None:
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    result, honest, folder = await arena.attack(attacks)
    check_ending(attacks, arena, result, folder)
    check_record(folder)
    assert honest.score is not None, honest.error
    assert honest.score.value == 1.0, "the next run suffered from this one"
    await check_nothing_left([result, honest])
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 2
