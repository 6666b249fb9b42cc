"""A running command as the Session sees it: frames both ways, and its certain end."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from ale.computer import answers
from ale.computer.machine import Machine
from ale.computer.paths import User
from ale.computer.server import frames
from ale.computer.session import MAX_OUTPUT, Command, CommandExit, CommandResult, Stream
from ale.computer.wire import Body, Connection, WireError
from ale.errors import InfrastructureError

_MARGIN = 30.0
"""Seconds after a command's own limit in which its server must have reported the end."""

_KILL = 15.0
"""Seconds that an abandoned command may take to be reported dead."""

_PART = 256 * 1024
_START = 120.0
"""Seconds in which a command must have been started."""

_STREAMS: dict[bytes, Stream] = {frames.STDOUT: "stdout", frames.STDERR: "stderr"}


def specify(
    command: Command, shell: str | None, timeout: float | None, cwd: str | None, env: Mapping[str, str] | None
) -> dict[str, Any]:
    spec: dict[str, Any] = {"timeout": timeout, "cwd": cwd, "env": dict(env or {})}
    if isinstance(command, str):
        return {**spec, "shell_line": command, "shell": shell}
    return {**spec, "argv": list(command)}


def describe(command: Command) -> str:
    return command if isinstance(command, str) else shlex.join(command)


class RunningCommand:
    """Iterate over it: pieces of output, then one CommandExit. `cause` says afterwards what ended it: "" (itself),
    `timeout`, `memory` or `abandoned`."""

    def __init__(self, connection: Connection, body: Body, deadline: float | None) -> None:
        self._connection = connection
        self._body = body
        self._deadline = deadline
        self._frames = frames.Frames()
        self.stdin_sent = anyio.Event()
        self.finished = False
        self.ending: CommandExit | None = None
        self.cause = ""

    def __aiter__(self) -> RunningCommand:
        return self

    async def __anext__(self) -> tuple[Stream, bytes] | CommandExit:
        if self.ending is not None:
            raise StopAsyncIteration
        frame = await self.next_frame()
        if frame is None:
            raise WireError("a command's output broke off")
        kind, payload = frame
        if kind == frames.EXIT:
            self.ending = self._end(payload)
            return self.ending
        if kind not in _STREAMS:
            raise WireError("a frame of unknown kind")
        return _STREAMS[kind], payload

    async def next_frame(self) -> tuple[bytes, bytes] | None:
        while True:
            try:
                frame = self._frames.next()
            except ValueError as error:
                raise WireError(str(error)) from error
            if frame is not None:
                return frame
            part = await self._next_part()
            if not part:
                return None
            self._frames.feed(part)

    async def send_stdin(self, data: bytes) -> None:
        """All of it, then the end of stdin. Not to be cancelled: half a chunk would make the connection useless."""
        try:
            with anyio.CancelScope(shield=True):
                for start in range(0, len(data), _PART):
                    part = data[start : start + _PART]
                    await self._connection.send_chunk(frames.header(frames.STDIN, len(part)) + part)
                await self._connection.send_chunk(frames.header(frames.STDIN, 0))
        except WireError:
            return  # whoever reads the answer meets the same broken wire and reports it
        finally:
            self.stdin_sent.set()

    async def type(self, data: bytes) -> None:
        """More input for a command that runs on a terminal."""
        await self._connection.send_chunk(frames.header(frames.STDIN, len(data)) + data)

    async def resize(self, rows: int, columns: int) -> None:
        size = json.dumps({"rows": rows, "columns": columns}).encode()
        await self._connection.send_chunk(frames.header(frames.RESIZE, len(size)) + size)

    async def finish(self) -> None:
        """End the request and read to the end of the answer, so that the connection can be used again."""
        await self.stdin_sent.wait()
        await self._connection.end_chunks()
        if await self.next_frame() is not None:
            raise WireError("frames after a command's end")
        self.finished = True

    async def kill(self) -> None:
        """End the tree and wait until it is reported dead; failing that, close the connection, which ends it too."""
        self._deadline = anyio.current_time() + _KILL
        try:
            with anyio.CancelScope(shield=True, deadline=self._deadline):
                await self.stdin_sent.wait()
                await self._connection.send_chunk(frames.header(frames.KILL, 0))
                async for _ in self:
                    pass
                await self.finish()
                return
        except (WireError, InfrastructureError):
            pass  # the block is being left for a reason that matters more than how its command ended
        await self._connection.aclose()

    async def _next_part(self) -> bytes:
        if self._deadline is None:
            return await self._body.read()
        with anyio.CancelScope(deadline=self._deadline):
            return await self._body.read()
        raise WireError("a command's end was not reported in time")

    def _end(self, payload: bytes) -> CommandExit:
        ending = answers.parse(payload)
        signal = ending.get("signal")
        self.cause = str(ending.get("cause"))
        if ending.get("survivors"):
            raise InfrastructureError("a command was stopped but processes of it can't be ended")
        return CommandExit(
            return_code=answers.whole(ending.get("code")),
            signal=None if signal is None else answers.whole(signal),
            timed_out=self.cause == "timeout",
            duration=answers.number(ending.get("duration")),
        )


@asynccontextmanager
async def running(
    machine: Machine, path: str, user: User, spec: Mapping[str, Any], stdin: bytes | None, start: float = _START
) -> AsyncIterator[RunningCommand]:
    """Start a command; leaving the block early ends it with all that it started."""
    order = json.dumps(spec).encode()
    timeout = spec.get("timeout")
    async with machine.connection(start) as connection:
        head = machine.head("POST", path, user, None, "Transfer-Encoding: chunked")
        first = frames.header(frames.SPEC, len(order)) + order
        if not stdin:
            first += frames.header(frames.STDIN, 0)
        await connection.send(head + b"%x\r\n" % len(first) + first + b"\r\n")
        answer = await connection.read_answer()
        await machine.check(connection, answer)
        connection.patience = None
        deadline = None if timeout is None else anyio.current_time() + timeout + _MARGIN
        command = RunningCommand(connection, connection.body(answer), deadline)
        async with _beside(command.send_stdin, stdin) if stdin else _nothing(command):
            try:
                yield command
            except BaseException as error:
                if command.ending is not None or isinstance(error, WireError):
                    await connection.aclose()  # its request is not ended: nobody can use it again
                raise
            finally:
                if command.ending is None and connection.usable:
                    await command.kill()
        if connection.usable and not command.finished:
            await command.finish()


@asynccontextmanager
async def _beside(send: Callable[[bytes], Coroutine[Any, Any, None]], data: bytes) -> AsyncIterator[None]:
    """Send while the block reads. What the block raises comes out as it is, not in a group."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(send, data)
            yield
    except BaseExceptionGroup as errors:
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from None
        raise


@asynccontextmanager
async def _nothing(command: RunningCommand) -> AsyncIterator[None]:
    command.stdin_sent.set()
    yield


@dataclass
class Collector:
    """Keeps what fits of a command's output and counts the rest."""

    limit: int = MAX_OUTPUT

    def __post_init__(self) -> None:
        self._kept: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._dropped: dict[Stream, int] = {}

    def take(self, stream: Stream, data: bytes) -> None:
        kept = self._kept[stream]
        room = self.limit - len(kept)
        kept += data[:room]
        if len(data) > room:
            self._dropped[stream] = self._dropped.get(stream, 0) + len(data) - room

    def result(self, ending: CommandExit) -> CommandResult:
        return CommandResult(
            return_code=ending.return_code,
            stdout_bytes=bytes(self._kept["stdout"]),
            stderr_bytes=bytes(self._kept["stderr"]),
            signal=ending.signal,
            duration=ending.duration,
            dropped=self._dropped,
        )


async def collect(command: RunningCommand) -> CommandResult:
    collector = Collector()
    async for item in command:
        if isinstance(item, CommandExit):
            return collector.result(item)
        collector.take(*item)
    raise WireError("a command's output broke off")
