"""How commands end: by themselves, by a limit, by their client; and what lives on."""

from __future__ import annotations

import os

import anyio
import anyio.lowlevel

from ale.computer.conformance.check import Checks, gone, raises, workplace
from ale.computer.session import Session
from ale.errors import CommandTimeout

checks = Checks()


@checks("a timed-out command is dead with its whole tree, whatever it ignores and wherever it hid")
async def _timeout_kills_all(session: Session) -> None:
    marker = f"8{int.from_bytes(os.urandom(3), 'big'):08d}"
    line = (
        f"trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep {marker}' & "
        f"(setsid nohup sleep {marker} >/dev/null 2>&1 &) ; echo before; sleep {marker}"
    )
    for acting in (session, session.as_user("agent")):
        error = await raises(CommandTimeout, acting.run_command(line, timeout=1.0))
        assert isinstance(error, CommandTimeout)
        assert error.result.stdout == "before\n"
        await gone(session, f"sleep {marker}")


@checks("endless output ends at the time limit")
async def _endless(session: Session) -> None:
    with anyio.fail_after(60):
        error = await raises(CommandTimeout, session.run_command("yes", timeout=1.0))
    assert isinstance(error, CommandTimeout)
    assert error.result.stdout_bytes.startswith(b"y\ny\n")
    await gone(session, "^yes$")


@checks("output beyond what a result holds is counted, not lost in silence")
async def _dropped(session: Session) -> None:
    result = await session.run_command("head -c 70000000 /dev/zero")
    assert result.truncated
    assert len(result.stdout_bytes) + result.dropped["stdout"] == 70_000_000


@checks("leaving a streamed command early ends it before the block is left")
async def _left_early(session: Session) -> None:
    marker = f"7{int.from_bytes(os.urandom(3), 'big'):08d}"
    async with session.stream_command(f"echo x; setsid sleep {marker} & sleep {marker}") as items:
        await anext(items)
    await gone(session, f"sleep {marker}")


@checks("a cancelled command is dead when the cancellation is through")
async def _cancelled(session: Session) -> None:
    marker = f"6{int.from_bytes(os.urandom(3), 'big'):08d}"
    with anyio.move_on_after(0.5) as scope:
        await session.run_command(f"setsid sleep {marker} & sleep {marker}", stdin=os.urandom(3_000_000))
    assert scope.cancelled_caught
    await gone(session, f"sleep {marker}")


@checks("the end of a command leaves what others started alone")
async def _others_live(session: Session) -> None:
    marker = f"5{int.from_bytes(os.urandom(3), 'big'):08d}"
    pid = await session.launch(["sleep", marker])
    await raises(CommandTimeout, session.run_command("sleep 600", timeout=0.3))
    assert (await session.run_command(["kill", "-0", str(pid)], check=False)).success
    await session.run_command(["kill", "-KILL", str(pid)])


@checks("a launched program lives on, writes its log and has the pid that was told")
async def _launch(session: Session) -> None:
    async with workplace(session) as place:
        pid = await session.launch("echo $$; exec sleep 600", log=f"{place}/log", cwd=place)
        with anyio.fail_after(30):
            while not (await session.read_file(f"{place}/log")).endswith("\n"):
                await anyio.lowlevel.checkpoint()
        assert int(await session.read_file(f"{place}/log")) == pid
        await session.run_command(["kill", "-KILL", str(pid)])


@checks("many commands run at once")
async def _parallel(session: Session) -> None:
    results: dict[int, str] = {}

    async def one(number: int) -> None:
        results[number] = (await session.run_command(f"sleep 0.2; echo {number}")).stdout

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    assert results == {number: f"{number}\n" for number in range(20)}
