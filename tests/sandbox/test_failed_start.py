"""A start that fails at any step says why and leaves nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import pytest

from ale.errors import SandboxUnavailable
from ale.sandbox import open_provider
from ale.sandbox.local import cgroups, machine, provider
from ale.sandbox.local.state import State
from ale.sandbox.protocol import SandboxSpec

pytestmark = pytest.mark.sandbox


@dataclass(frozen=True)
class Fault:
    plant: Callable[[pytest.MonkeyPatch], None]
    says: str


def _raise_no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def _silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "READY_BOUND", 1.0)
    patch.setattr(machine, "SERVER_COMMAND", ("/bin/sleep", "1000"))


FAULTS = {
    "no server": Fault(
        lambda patch: patch.setattr(machine, "SERVER_COMMAND", ("/bin/false",)),
        "ended before it was ready|ended while it started",
    ),
    "a server that says what is wrong": Fault(
        lambda patch: patch.setattr(provider, "_start_message", lambda record: {"token": ""}),
        "could not start: .*token",
    ),
    "a server that is not there": Fault(
        lambda patch: patch.setattr(machine, "SERVER_COMMAND", ("/no/such/program",)), "No such file|ended while it"
    ),
    "no bubblewrap": Fault(
        lambda patch: patch.setattr(machine, "tool", lambda name: "/no/such/bwrap"), "starting /no/such/bwrap"
    ),
    "a server that never answers": Fault(_silent, "not ready after 1 s"),
    "a full disk": Fault(lambda patch: patch.setattr(cgroups, "make", _raise_no_space), "No space left on device"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_start_that_fails(fault: Fault, base_image: str, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    label = f"failing-{id(fault)}"
    local = open_provider("local")
    fault.plant(monkeypatch)
    with anyio.fail_after(60), pytest.raises(SandboxUnavailable, match=fault.says):
        await local.create(SandboxSpec(label, base_image, door=True))
    assert [info for info in await local.list() if info.label == label] == []
