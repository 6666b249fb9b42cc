"""An agent CLI in a machine: what it prints is kept within bounds, how it ends is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ale.computer.client import connect
from ale.computer.fake import FakeCall, FakeMachine, FakeReply
from ale.computer.session import Session
from ale.errors import HarnessError
from ale.harness import command_line
from ale.harness.command_line import CommandLineAgent
from ale.harness.protocol import AgentContext, ModelEndpoint
from ale.sandbox.layers import LayerRecipe

AGENT = CommandLineAgent(
    name="talker",
    recipe=LayerRecipe("talker"),
    command=lambda context, model: ("talker",),
    environment=lambda model: {"KEY": model.token},
    files=lambda model: {},
    last_message=lambda tail: tail[-20:],
)

REPLIES = {
    "good": FakeReply(stdout=b"all is well"),
    "bad": FakeReply(3, stderr=b"boom"),
    "missing": FakeReply(127, stderr=b"talker: not found"),
    "long": FakeReply(stdout=b"x" * 100, stderr=b"0123456789"),
}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    def talk(call: FakeCall) -> FakeReply:
        assert call.env["KEY"] == "secret"
        return REPLIES[call.stdin.decode()]

    (tmp_path / "root").mkdir()
    machine = FakeMachine(tmp_path / "root", tmp_path / "control.sock", commands={"talker": talk})
    machine.start()
    session = await connect(machine.endpoint, "agent")
    yield session
    await session.aclose()
    machine.stop()


def context(session: Session, instruction: str, logs: Path) -> AgentContext:
    async def solve() -> None:
        raise AssertionError("only the oracle solves")

    model = ModelEndpoint("m", "http://127.0.0.1:7700", "secret")
    return AgentContext(session, instruction, "c/w", "one", model, logs, {}, solve)


async def test_it_gets_the_instruction_by_stdin_and_its_last_words_are_kept(session: Session, tmp_path: Path) -> None:
    result = await AGENT.run(context(session, "good", tmp_path / "logs"))
    assert (result.status, result.exit_code, result.last_message) == ("finished", 0, "all is well")
    assert (tmp_path / "logs" / "stdout.log").read_bytes() == b"all is well"


async def test_one_that_fails_has_crashed(session: Session, tmp_path: Path) -> None:
    result = await AGENT.run(context(session, "bad", tmp_path / "logs"))
    assert (result.status, result.exit_code, result.last_message) == ("crashed", 3, "boom")


async def test_one_that_is_not_there_is_the_harnesss_fault(session: Session, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="not found"):
        await AGENT.run(context(session, "missing", tmp_path / "logs"))


async def test_a_full_log_says_in_its_last_line_what_it_lacks(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "MAX_LOG", 10)
    result = await AGENT.run(context(session, "long", tmp_path / "logs"))
    assert result.last_message == "x" * 20
    assert (tmp_path / "logs" / "stdout.log").read_bytes() == (
        b"x" * 10 + b"\n[ale: the log is full, 90 more bytes were left out]\n"
    )
    assert (tmp_path / "logs" / "stderr.log").read_bytes() == b"0123456789"
