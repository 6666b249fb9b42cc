"""A machine that answers nonsense, too much or nothing is a lost machine, never a hung or confused host."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from ale.computer import machine
from ale.computer.client import MachineSession
from ale.computer.endpoint import Endpoint
from ale.computer.machine import Machine
from ale.errors import InfrastructureError, SandboxLost

OK = b"HTTP/1.1 200 OK\r\n"


def sized(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def chunked(*parts: bytes) -> bytes:
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts)


@asynccontextmanager
async def answering(
    path: Path, answer: bytes, then: Callable[[SocketStream], Awaitable[None]] | None = None
) -> AsyncIterator[MachineSession]:
    """A server that sends `answer` to whoever has sent it anything."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer)
            if then is not None:
                await then(stream)

    async with anyio.create_task_group() as group:
        listener = await anyio.create_unix_listener(path)
        group.start_soon(listener.serve, serve)
        session = MachineSession(Machine(Endpoint("hostile", "token", socket=str(path))), "root")
        try:
            with anyio.fail_after(30):
                yield session
        finally:
            await session.aclose()
            group.cancel_scope.cancel()
            await listener.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0\xff\xfe",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 100,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        sized(b"not json"),
        sized(b"[]"),
        sized(b'{"info": 7}'),
        sized(b'{"info": {"name": "x", "kind": "elephant"}}'),
        sized(b"{" * 200_000),
        sized(b"nothing", b"500 Oh"),
        sized(b'{"error": "text"}', b"404 Not Found"),
    ],
    ids=range(18),
)
async def test_an_answer_that_makes_no_sense_is_a_lost_sandbox(tmp_path: Path, answer: bytes) -> None:
    async with answering(tmp_path / "s", answer) as session:
        with pytest.raises(SandboxLost):
            await session.exists("/x")


@pytest.mark.parametrize(
    "ending",
    [
        {"code": "0"},
        {"code": 0, "cause": "", "duration": "long"},
        {"code": 2**70, "cause": "", "duration": 0},
        {"code": True, "cause": "", "duration": 0},
        {},
    ],
    ids=range(5),
)
async def test_a_command_whose_end_makes_no_sense_is_a_lost_sandbox(tmp_path: Path, ending: dict[str, object]) -> None:
    data = json.dumps(ending).encode()
    frame = b"X" + len(data).to_bytes(4, "big") + data
    async with answering(tmp_path / "s", chunked(frame) + b"0\r\n\r\n") as session:
        with pytest.raises(SandboxLost):
            await session.run_command("true")


@pytest.mark.parametrize(
    "frames",
    [b"Q\0\0\0\0", b"O\xff\xff\xff\xff", b"O\0\0\0\x05hello", b"X\0\0\0\x02[]", b""],
    ids=["unknown", "huge", "no end", "no object", "nothing"],
)
async def test_frames_that_make_no_sense_are_a_lost_sandbox(tmp_path: Path, frames: bytes) -> None:
    async with answering(tmp_path / "s", (chunked(frames) if frames else chunked()) + b"0\r\n\r\n") as session:
        with pytest.raises(SandboxLost):
            await session.run_command("true")


async def test_a_silent_machine_is_lost_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(stream: SocketStream) -> None:
        await anyio.sleep_forever()

    async with answering(tmp_path / "s", OK, wait) as session:
        with pytest.raises(SandboxLost, match="silent"):
            await session._machine.call("GET", "/status", "root", patience=0.2)
    assert machine.PATIENCE >= 60


async def test_an_endless_json_answer_is_not_read_to_its_end(tmp_path: Path) -> None:
    async def flood(stream: SocketStream) -> None:
        with anyio.move_on_after(20):
            try:
                while True:
                    await stream.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
            except anyio.BrokenResourceError:
                return

    async with answering(tmp_path / "s", chunked(), flood) as session:
        with pytest.raises(SandboxLost, match="longer than"):
            await session._machine.call("GET", "/status", "root", limit=5_000_000)


async def test_a_machine_that_is_not_there_is_a_lost_sandbox(tmp_path: Path) -> None:
    session = MachineSession(Machine(Endpoint("gone", "token", socket=str(tmp_path / "none"))), "root")
    with pytest.raises(SandboxLost, match="gone"):
        await session.exists("/")


async def test_words_from_a_machine_are_fit_to_print(tmp_path: Path) -> None:
    body = json.dumps({"error": {"type": "internal", "message": "\x1b]0;owned\x07" + "x" * 10_000}}).encode()
    async with answering(tmp_path / "s", sized(body, b"500 Oh")) as session:
        with pytest.raises(InfrastructureError) as caught:
            await session.exists("/x")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


async def test_a_token_is_not_shown(tmp_path: Path) -> None:
    assert "secret" not in repr(Endpoint("x", "secret", socket=str(tmp_path / "s")))
