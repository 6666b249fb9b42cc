"""Control groups: found where they can be made, limits written in the version's own words, enforced for real."""

import os
from pathlib import Path

import anyio
import pytest

from ale.sandbox import open_provider
from ale.sandbox.local import cgroups
from ale.sandbox.local.cgroups import Hierarchy, find_hierarchy
from ale.sandbox.protocol import SandboxSpec, Size


def test_version_1_where_its_directories_can_be_written(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").write_text("")
    found = find_hierarchy(tmp_path, tmp_path / "none")
    assert (found.version, set(found.parents)) == (1, {"memory", "pids"})


def test_version_2_beside_the_own_group_for_users_and_below_the_root_for_root(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    session = tmp_path / "user.slice/app.slice"
    (session / "own.scope").mkdir(parents=True)
    for parent in (tmp_path, session):
        (parent / "cgroup.procs").write_text("")
        (parent / "cgroup.subtree_control").write_text("memory pids\n")
    own = tmp_path / "own"
    own.write_text("0::/user.slice/app.slice/own.scope\n")
    found = find_hierarchy(tmp_path, own)
    assert found.version == 2
    assert set(found.parents.values()) <= {tmp_path if os.geteuid() == 0 else session}


def test_nothing_where_nothing_can_be_made(tmp_path: Path) -> None:
    assert find_hierarchy(tmp_path, tmp_path / "none").parents == {}


def test_limits_in_each_versions_words(tmp_path: Path) -> None:
    size = Size(vcpus=2, memory_mb=512)
    (two,) = cgroups.make(Hierarchy(2, dict.fromkeys(("memory", "pids", "cpu"), tmp_path)), "ale-x", size)
    assert (two / "memory.max").read_text() == str(512 * 2**20)
    assert not (two / "memory.swap.max").exists(), "a limit was written for what the kernel does not have"
    assert (two / "cpu.max").read_text() == "200000 100000"
    for name in ("m", "c"):
        (tmp_path / name).mkdir()
    one = cgroups.make(Hierarchy(1, {"memory": tmp_path / "m", "cpu": tmp_path / "c"}), "ale-x", size)
    assert (one[0] / "memory.limit_in_bytes").read_text() == str(512 * 2**20)
    assert (one[1] / "cpu.cfs_quota_us").read_text() == "200000"


@pytest.mark.sandbox
async def test_a_program_that_eats_memory_is_ended_and_the_machine_says_so(base_image: str) -> None:
    if not find_hierarchy().has("memory"):
        pytest.skip("no memory control group can be made here")
    machine = await open_provider("local").create(SandboxSpec("memory", base_image, size=Size(memory_mb=200)))
    try:
        with anyio.fail_after(60):
            result = await machine.session("agent").run_command(
                ["python3", "-c", "x = b'x' * 400_000_000; print(len(x))"], check=False
            )
        assert result.signal == 9
        assert await machine.alive(), "the server was ended with it"
        assert "200 MB were used up" in await machine.evidence()
    finally:
        await machine.destroy()


@pytest.mark.sandbox
async def test_a_fork_bomb_is_frozen_and_the_machine_lives(base_image: str) -> None:
    machine = await open_provider("local").create(SandboxSpec("bomb", base_image))
    try:
        bomb = "import os\nwhile 1:\n try: os.fork()\n except OSError: pass"
        with anyio.fail_after(120):
            await machine.session("agent").launch(["python3", "-c", bomb])
            report = await machine.freeze()
            assert report.killed
            assert await machine.alive(), report
    finally:
        await machine.destroy()
