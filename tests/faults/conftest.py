"""A run that something happens to, exactly when a phase begins."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.exam.agents import AGENTS
from tests.exam.conftest import Bench

import ale.exam.planning
import ale.harness
from ale.exam.conductor import carry_out
from ale.exam.events import Event
from ale.exam.planning import Plan
from ale.exam.result import RunResult
from ale.home import home
from ale.sandbox import open_provider
from ale.sandbox.local.state import State, read_json

Strike = Callable[[], None]


class Stage(Bench):
    """At the first `at` event (`agent.start`), `strike` is called; once."""

    at: str = ""
    strike: Strike | None = None

    def when(self, at: str, strike: Strike) -> None:
        self.at, self.strike = at, strike

    async def carry_out(self, plan: Plan, **options: bool) -> list[RunResult]:
        results: list[RunResult] = []

        def observe(event: Event) -> None:
            self.events.append(event)
            if event.event == self.at and self.strike is not None:
                strike, self.strike = self.strike, None
                strike()

        with anyio.fail_after(200):
            await carry_out(plan, observer=observe, finished=results.append, say=self.said.append, **options)
        return results

    def machine(self) -> dict[str, Any]:
        """What the host knows of the newest machine."""
        names = [event.data["sandbox"] for event in self.events if "sandbox" in event.data]
        return read_json(State.of(os.environ).sandboxes / names[-1] / "sandbox.json")

    def kill_machine(self) -> None:
        """Its first process; gone, and with it all others, when this returns."""
        init = os.pidfd_open(self.machine()["init"]["pid"])
        signal.pidfd_send_signal(init, signal.SIGKILL)
        select.select([init], [], [], 30)
        os.close(init)

    def silence_machine(self) -> None:
        """All that answers for it stands still."""
        first = self.machine()["init"]["pid"]
        for pid in (first, *descendants(first)):
            os.kill(pid, signal.SIGSTOP)

    def kill_gateway(self) -> None:
        [gateway] = children_that_run("ale.gateway")
        os.kill(gateway, signal.SIGKILL)


def descendants(ancestor: int) -> list[int]:
    found, todo = [], [ancestor]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*"):
            with suppress(FileNotFoundError, ProcessLookupError):
                children = [int(word) for word in (task / "children").read_text().split()]
                todo += children
                found += children
    return found


def children_that_run(words: str) -> list[int]:
    """Descendants of this process with these words in their command line."""
    found = []
    for pid in descendants(os.getpid()):
        with suppress(FileNotFoundError, ProcessLookupError):
            if words in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                found.append(pid)
    return found


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    known = ale.harness.open_harness
    monkeypatch.setattr(ale.exam.planning, "open_harness", lambda name: AGENTS.get(name) or known(name))
    return Stage(tmp_path)


@pytest.fixture
def own_home(tmp_path: Path, base_image: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ALE_HOME of the test's own, in which the image is there by hard links."""
    recipe = anyio.run(open_provider("local").image, base_image).recipe
    source, target = home(os.environ) / "images" / recipe, tmp_path / "home" / "images" / recipe
    target.parent.mkdir(parents=True)
    done = subprocess.run(["cp", "-al", source, target], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("the test's directory is on another file system than the images")
    monkeypatch.setenv("ALE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str, int], Path]]:
    """Makes file systems of so many MB."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    mounted: list[Path] = []

    def make(name: str, megabytes: int) -> Path:
        place = tmp_path / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "none", place], check=True)
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "--lazy", place], check=True)
        shutil.rmtree(place, ignore_errors=True)


def fill(place: Path) -> None:
    """Until not a byte is free."""
    with suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    with suppress(OSError), (place / "filler2").open("wb", buffering=0) as file:
        while True:
            file.write(b"x")
