"""What a host lacks: one sentence with its mend, earlier results as they were, nothing left."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.commands import ALE
from tests.exam.agents import AGENTS, Scripted, right
from tests.faults.conftest import Stage, fill
from tests.hostile.conftest import check_nothing_left
from tests.sandbox.leftovers import local_leftovers

from ale.errors import InfrastructureError
from ale.exam.folder import read_result
from ale.harness.protocol import AgentContext
from ale.outcome import AgentEnd, Outcome
from ale.sandbox.local.disk import FLOOR_MB

pytestmark = [pytest.mark.sandbox, pytest.mark.alone, pytest.mark.usefixtures("base_image")]


def ale(stage: Stage, *arguments: str, path: str | None = None, before: tuple[str, ...] = ()) -> tuple[int, str]:
    environment = os.environ | ({} if path is None else {"PATH": path})
    done = subprocess.run(
        [*before, *ALE, *arguments],
        cwd=stage.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


RUN = ("run", "-t", "computing_math/sums", "-a", "oracle", "--name", "missing")


def test_without_bubblewrap_its_package_is_named(stage: Stage) -> None:
    programs = stage.folder / "bin"
    programs.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "bwrap":
            (programs / program.name).symlink_to(program)
    code, said = ale(stage, *RUN, path=str(programs))
    assert code == 1
    assert "apt-get install bubblewrap" in " ".join(said.split())
    assert ale(stage, *RUN)[0] == 0


def test_without_user_namespaces_the_mend_is_named(stage: Stage) -> None:
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    walled = ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")
    if subprocess.run([*walled, "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces can't be forbidden for a child here")
    code, said = ale(stage, *RUN, before=walled)
    assert code in (1, 2)
    words = " ".join(said.split())
    assert "ale doctor" in words or "sysctl" in words or "subuid" in words or "uidmap" in words, words


@pytest.mark.parametrize("gone", ["image.json", "rootfs"])
async def test_an_image_that_vanished_is_named_with_its_command(stage: Stage, own_home: Path, gone: str) -> None:
    [image] = (own_home / "images").iterdir()
    [earlier] = await stage.run("right")

    def vanish() -> None:
        (image / gone).rename(own_home / gone)

    stage.when("plan.start", vanish)
    [result] = await stage.run("half-right")
    assert result.outcome is Outcome.UNSCORED_INFRASTRUCTURE
    assert result.error is not None
    assert result.error.kind == "SandboxUnavailable"
    assert "ale sandbox build base" in result.error.message
    assert earlier.score is not None
    assert not [line for line in await local_leftovers() if "/sandboxes/" in line or "/disks/" in line]
    shutil.move(own_home / gone, image / gone)


def test_a_recipe_with_a_package_that_does_not_exist_says_which(stage: Stage) -> None:
    recipe = stage.folder / "images" / "broken.yaml"
    recipe.parent.mkdir()
    recipe.write_text(
        "name: broken\ndescription: A mistake.\nsize_mb: 10\npackages: [python3, no-such-package-here]\n",
        encoding="utf-8",
    )
    code, said = ale(stage, "sandbox", "build", "broken")
    assert code in (1, 2)
    assert "no-such-package-here" in said


@pytest.fixture
def small_home(
    own_home: Path, small_disk: Callable[[str, int], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], Path]:
    """Makes an ALE_HOME with so many MB of room for what machines write."""

    def make(megabytes: int) -> Path:
        images = own_home.with_name("images")
        (own_home / "images").rename(images)
        small = small_disk("small", megabytes)
        (small / "images").symlink_to(images)
        monkeypatch.setenv("ALE_HOME", str(small))
        return small

    return make


@pytest.mark.root
async def test_an_agent_that_fills_the_hosts_disk_is_graded_and_gets_no_second_run(
    stage: Stage, small_home: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_home(FLOOR_MB + 150)

    async def fills_the_disk(context: AgentContext) -> None:
        await right(context)
        await context.session.run_command("head -c 2G /dev/zero > ~/fill; sleep 60", check=False)

    monkeypatch.setitem(AGENTS, "fills-the-disk", Scripted("fills-the-disk", fills_the_disk))
    result, honest = await stage.run("fills-the-disk", "right", retries={"infrastructure": 1, "harness": 1})
    assert (result.outcome, result.agent_end, result.tries) == (Outcome.SCORED, AgentEnd.CRASHED, 1), result.error
    assert result.score is not None
    assert result.score.value == 1.0
    assert honest.score is not None, honest.error
    await check_nothing_left([result, honest])


@pytest.mark.root
@pytest.mark.parametrize("phase", ["plan", "start", "agent", "collect", "evaluate", "record"])
async def test_a_full_results_disk_is_one_sentence_and_costs_one_run(
    stage: Stage, small_disk: Callable[[str, int], Path], phase: str
) -> None:
    disk = small_disk("results", 16)
    plan = await stage.plan("right", "half-right")
    [first] = [run for run in plan.runs if run.agent.name == "right"]
    stage.when(f"{phase}.start", lambda: None)
    [earlier] = await stage.run("right")
    stage.when(f"{phase}.start", lambda: fill(disk))
    with pytest.raises(InfrastructureError, match=r"can't be written \(No space left on device\)"):
        await stage.run("right", "half-right")
    found = read_result(first.folder)
    assert found is not None
    assert found.model_dump(mode="json") == earlier.model_dump(mode="json")
    for filler in disk.glob("filler*"):
        filler.unlink()
    [again] = [result for result in await stage.run("right", "half-right") if result.agent.name == "half-right"]
    assert again.score is not None
    assert again.score.value == 0.5
    await check_nothing_left([again])


@pytest.mark.root
async def test_no_machine_is_made_on_a_full_disk(stage: Stage, small_home: Callable[[int], Path]) -> None:
    small_home(200)
    [result] = await stage.run("right")
    assert result.outcome is Outcome.UNSCORED_INFRASTRUCTURE
    assert result.error is not None
    assert "ale sandbox gc" in result.error.message
    assert result.agent_end is None
