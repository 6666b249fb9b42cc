"""The fake machine as tests above it use it: scripted commands, a freeze, a fork, a sudden end."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import cast

import anyio
import pytest

from ale.computer.fake import FakeCall, FakeReply
from ale.errors import CommandFailed, CommandTimeout, SandboxLost, SandboxUnavailable, UsageError
from ale.sandbox.fake import FakeProvider, FakeSandbox
from ale.sandbox.protocol import SandboxSpec, Screen


def upper(call: FakeCall) -> FakeReply:
    call.path("/task/output/done.txt").write_text(call.user, encoding="utf-8")
    return FakeReply(stdout=call.stdin.upper(), stderr=call.line.encode())


COMMANDS = {
    "upper": upper,
    "fail": lambda call: FakeReply(3, stderr=b"no"),
    "hang": lambda call: FakeReply(stdout=b"begun", seconds=math.inf),
    "flood": lambda call: FakeReply(stdout=b"x" * 3_000_000),
}


@pytest.fixture
async def sandbox() -> AsyncIterator[FakeSandbox]:
    spec = SandboxSpec(label="test", image="base", screen=Screen(), door=True)
    made = cast("FakeSandbox", await FakeProvider(COMMANDS).create(spec))
    yield made
    await made.destroy()


async def test_commands_are_answered_by_the_table(sandbox: FakeSandbox) -> None:
    agent = sandbox.session("agent")
    result = await agent.run_command(["upper", "a b"], stdin=b"text", env={"X": "1"})
    assert (result.stdout, result.stderr) == ("TEXT", "upper 'a b'")
    assert await sandbox.session().read_file("/task/output/done.txt") == "agent"
    assert sandbox.machine.calls[0].env["X"] == "1"
    with pytest.raises(CommandFailed):
        await agent.run_command("fail now")
    assert (await agent.run_command("unheard of", check=False)).return_code == 127
    assert len((await agent.run_command("flood")).stdout_bytes) == 3_000_000


async def test_time_limits_and_cancellation_end_a_command(sandbox: FakeSandbox) -> None:
    with pytest.raises(CommandTimeout) as caught:
        await sandbox.session().run_command("hang", timeout=0.1)
    assert caught.value.result.stdout == "begun"
    with anyio.fail_after(10):
        async with sandbox.session().stream_command("hang") as items:
            assert await anext(items) == ("stdout", b"begun")
        with anyio.move_on_after(0.1):
            await sandbox.session().run_command("hang")
    assert (await sandbox.session().run_command("upper")).success


async def test_a_freeze_ends_what_was_launched_and_what_would_be(sandbox: FakeSandbox) -> None:
    agent = sandbox.session("agent")
    pid = await agent.launch(["hang"], log="/tmp/log")
    assert await agent.read_file("/tmp/log") == "begun"
    report = await sandbox.freeze()
    assert report.killed == (f"{pid} hang",)
    assert await sandbox.freeze() is report
    with pytest.raises(PermissionError):
        await agent.run_command("upper")
    with pytest.raises(PermissionError):
        await agent.launch("upper")
    assert (await sandbox.session().run_command("upper")).success


async def test_delivered_programs_get_their_case(sandbox: FakeSandbox) -> None:
    session = sandbox.session()

    def program(call: FakeCall) -> FakeReply:
        given = call.path(call.cwd) / "in.txt"
        (given.parent / "out.txt").write_bytes(given.read_bytes() + call.stdin)
        return FakeReply(stdout=call.user.encode())

    sandbox.machine.commands = {"python3": program}
    await session.write_file("/task/input/case.txt", "case")
    done = await session.run_delivered(["python3", "p.py"], files={"in.txt": "/task/input/case.txt"}, stdin=b"!")
    assert done.result.stdout == "agent"
    assert done.files == {"in.txt": b"case", "out.txt": b"case!"}


async def test_a_fork_has_the_files_and_the_old_machine_is_gone(sandbox: FakeSandbox) -> None:
    await sandbox.session().write_file("/task/output/kept", "x")
    await sandbox.freeze()
    new = await sandbox.fork(SandboxSpec(label="grading", image="base"))
    try:
        assert await new.session().read_file("/task/output/kept") == "x"
        assert (await new.session("agent").run_command("upper")).success
        assert not await sandbox.alive()
    finally:
        await new.destroy()


async def test_a_lost_machine_is_lost_for_who_waits_and_who_comes(sandbox: FakeSandbox) -> None:
    session = sandbox.session()

    async def wait() -> None:
        async with session.stream_command("hang") as items:
            await anext(items)
            sandbox.lose("the host burned")
            await anext(items)

    with anyio.fail_after(10), pytest.raises(SandboxLost):
        await wait()
    with pytest.raises(SandboxLost):
        await session.exists("/")
    assert not await sandbox.alive()
    assert await sandbox.evidence() == "the host burned"


async def test_the_screen_is_black_and_remembers_what_was_done(sandbox: FakeSandbox) -> None:
    session = sandbox.session()
    assert (await session.screenshot()).startswith(b"\x89PNG")
    await session.click(10, 20, button="right")
    await session.key("ctrl++")
    await session.type("text\n")
    assert sandbox.machine.desktop == [
        {"op": "click", "x": 10, "y": 20, "button": "right", "clicks": 1},
        {"op": "key", "keys": ["ctrl", "+"]},
        {"op": "type", "text": "text\n"},
    ]


async def test_the_door_listens_and_is_given_once(sandbox: FakeSandbox) -> None:
    with sandbox.door() as door:
        async with await anyio.connect_tcp(*door.getsockname()) as outside:
            inside, _ = await anyio.to_thread.run_sync(door.accept)
            with inside:
                inside.sendall(b"hello")
                assert await outside.receive() == b"hello"
    with pytest.raises(ValueError, match="no door"):
        sandbox.door()


async def test_a_destroyed_machine_leaves_nothing(sandbox: FakeSandbox) -> None:
    place = sandbox.files.parent
    await sandbox.destroy()
    await sandbox.destroy()
    assert not place.exists()


async def test_the_provider_says_what_it_has_not() -> None:
    provider = FakeProvider(refuse="full")
    with pytest.raises(SandboxUnavailable, match="desk"):
        await provider.create(SandboxSpec(label="x", image="desk"))
    with pytest.raises(SandboxUnavailable, match="full"):
        await provider.create(SandboxSpec(label="x", image="base"))
    with pytest.raises(UsageError):
        await provider.attach("fake-9")
    assert await provider.list() == []
