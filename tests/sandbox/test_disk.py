"""A machine that writes more than its disk is stopped, and the reason is kept."""

import anyio
import pytest

from ale.errors import SandboxUnavailable
from ale.sandbox import open_provider
from ale.sandbox.local.disk import DiskWatch
from ale.sandbox.local.idmap import find_range
from ale.sandbox.local.record import Shelf
from ale.sandbox.local.state import State
from ale.sandbox.protocol import SandboxSpec, Size

pytestmark = pytest.mark.sandbox


async def test_a_machine_over_its_disk_is_stopped_with_evidence_and_can_be_forked(base_image: str) -> None:
    machine = await open_provider("local").create(SandboxSpec("full", base_image, size=Size(disk_mb=150)))
    try:
        fill = "for n in 1 2 3; do head -c 100000000 /dev/zero > /task/output/$n; done; sleep 1000"
        await machine.session("agent").launch(["bash", "-c", fill])
        with anyio.fail_after(90):
            while await machine.alive():
                await anyio.sleep(0.1)
        assert "it was stopped: it wrote" in await machine.evidence()
        report = await machine.freeze()
        assert report.checked == ("host",)
        fork = await machine.fork(SandboxSpec("full", base_image, size=Size(disk_mb=150)))
        assert len(await fork.session().read_bytes("/task/output/1", 0, 10)) == 10
        await fork.destroy()
    finally:
        await machine.destroy()


async def test_one_file_can_not_be_larger_than_the_disk(base_image: str) -> None:
    machine = await open_provider("local").create(SandboxSpec("file", base_image, size=Size(disk_mb=20)))
    try:
        result = await machine.session("agent").run_command("head -c 30000000 /dev/zero > /tmp/x", check=False)
        assert not result.success
        assert (await machine.session().run_command("stat -c %s /tmp/x")).stdout.strip() == str(20 * 2**20)
    finally:
        await machine.destroy()


def test_below_the_floor_nothing_is_made(state: State) -> None:
    watch = DiskWatch(state, Shelf(state), find_range(), floor_mb=10**9)
    with pytest.raises(SandboxUnavailable, match=r"MB are free in .*ale sandbox gc"):
        watch.check_room()
