"""The Session: one machine, acted on as one user, over its computer server's protocol."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from anyio import to_thread

from ale.computer import answers, commands
from ale.computer.endpoint import Endpoint
from ale.computer.machine import PATIENCE, Machine, Query
from ale.computer.paths import User
from ale.computer.server import frames
from ale.computer.session import (
    DEFAULT_TIMEOUT,
    Collected,
    Command,
    CommandExit,
    CommandResult,
    DeliveredRun,
    FileInfo,
    Stream,
    TreeLimits,
)
from ale.computer.tree import TreeReceiver, pack
from ale.computer.wire import WireError
from ale.errors import CommandFailed, CommandTimeout, InfrastructureError, SandboxLost

_MAX_READ = 2**31
"""Bytes that one read_bytes may return; more belongs into a download."""

_SLOW = 1800.0
"""Seconds that the machine may work in silence on a large tree (copy, delete, digests), or on delivered programs that
are before this one in the queue."""

_DELIVERED = TreeLimits(total_bytes=64 * 2**20, file_bytes=64 * 2**20, files=10_000, depth=32)

_KINDS = ("file", "directory", "link", "other")


async def connect(endpoint: Endpoint, user: User = "root") -> MachineSession:
    """A Session on a machine whose server answers. Raises SandboxLost when it does not."""
    session = MachineSession(Machine(endpoint), user)
    await session.status()
    return session


@dataclass(frozen=True)
class Frozen:
    """What a freeze found: the processes it ended (as `pid name`), how many, and the seconds it took."""

    killed: tuple[str, ...]
    killed_count: int
    seconds: float


class MachineSession:
    """Implements `ale.computer.session.Session`; what each call promises is written there."""

    def __init__(self, machine: Machine, user: User) -> None:
        self._machine = machine
        self._user = user

    @property
    def os(self) -> Literal["linux", "windows"]:
        return self._machine.endpoint.os

    @property
    def user(self) -> User:
        return self._user

    @property
    def interface(self) -> MachineSession:
        """Where task code of the public API looks for `create_dir` and `delete_dir`."""
        return self

    def as_user(self, user: User) -> MachineSession:
        return MachineSession(self._machine, user)

    async def aclose(self) -> None:
        await self._machine.aclose()

    async def status(self) -> dict[str, Any]:
        """What the server says of itself: protocol, sandbox, frozen, screen."""
        return await self._json("GET", "/status", patience=30.0)

    async def freeze(self) -> Frozen:
        """End every process of the agent's user; only root's Session may. Raises InfrastructureError if any
        survives."""
        found = await self._json("POST", "/freeze", patience=60.0)
        with self._sound():
            killed = tuple(map(answers.shown, answers.words(found.get("killed"))))
            left = answers.words(found.get("left"))
            if left:
                names = ", ".join(map(answers.shown, left[:10]))
                raise InfrastructureError(f"processes of the agent survive the freeze: {names}")
            return Frozen(killed, answers.whole(found.get("killed_count")), answers.number(found.get("seconds")))

    # commands

    async def run_command(
        self,
        command: Command,
        *,
        check: bool = True,
        timeout: float | None = DEFAULT_TIMEOUT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        shell: Literal["bash", "powershell", "cmd"] | None = None,
    ) -> CommandResult:
        spec = commands.specify(command, shell, timeout, cwd, env)
        async with commands.running(self._machine, "/exec", self._user, spec, stdin) as running:
            result = await commands.collect(running)
        if running.cause == "timeout":
            raise CommandTimeout(commands.describe(command), timeout or 0.0, result)
        if check and result.return_code:
            raise CommandFailed(commands.describe(command), result)
        return result

    def stream_command(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[tuple[Stream, bytes] | CommandExit]]:
        spec = commands.specify(command, None, timeout, cwd, env)
        return commands.running(self._machine, "/exec", self._user, spec, stdin)

    async def launch(
        self, command: Command, *, cwd: str | None = None, env: Mapping[str, str] | None = None, log: str | None = None
    ) -> int:
        spec = commands.specify(command, None, None, cwd, env) | {"log": log}
        answer = await self._json("POST", "/launch", spec)
        with self._sound():
            return answers.whole(answer.get("pid"))

    async def run_delivered(
        self,
        command: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        memory_mb: int = 1024,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> DeliveredRun:
        spec = commands.specify(tuple(command), None, timeout, None, env)
        spec |= {"files": dict(files or {}), "memory_mb": memory_mb}
        async with commands.running(self._machine, "/deliver", self._user, spec, stdin, _SLOW) as running:
            result = await commands.collect(running)
            left = await self._left_files(running)
        return DeliveredRun(result, left, running.cause == "timeout", running.cause == "memory")

    async def _left_files(self, running: commands.RunningCommand) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory(prefix="ale-case-") as name:
            place = Path(name) / "files"
            receiver = TreeReceiver(place, _DELIVERED)
            try:
                while (frame := await running.next_frame()) is not None:
                    if frame[0] != frames.TREE:
                        raise WireError("a frame of unknown kind")
                    receiver.feed(frame[1])
                collected = receiver.finish()
            finally:
                receiver.close()
            return {file.path: (place / file.path).read_bytes() for file in collected.files}

    # files

    async def read_file(self, path: str) -> str:
        return (await self.read_bytes(path)).decode("utf-8")

    async def write_file(self, path: str, text: str) -> None:
        await self.write_bytes(path, text.encode("utf-8"))

    async def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        query: Query = {"path": path, "offset": offset, "length": length}
        return await self._machine.call("GET", "/file", self._user, query=query, limit=_MAX_READ)

    async def write_bytes(self, path: str, data: bytes, *, append: bool = False) -> None:
        await self._machine.call("PUT", "/file", self._user, query={"path": path, "append": append}, body=data)

    async def upload(
        self,
        source: Path,
        destination: str,
        *,
        owner: User | None = None,
        read_only: bool = False,
        private: bool = False,
    ) -> None:
        kind = "directory" if await to_thread.run_sync(source.is_dir) else "file"
        query: Query = {
            "path": destination,
            "kind": kind,
            "owner": owner,
            "read_only": read_only,
            "private": private,
        }
        pieces = pack(source)
        async with self._machine.connection() as connection:
            await connection.send(self._machine.head("PUT", "/tree", self._user, query, "Transfer-Encoding: chunked"))
            try:
                while (piece := await to_thread.run_sync(next, pieces, None)) is not None:
                    await connection.send_chunk(piece)
                await connection.end_chunks()
            except WireError:
                # It may have answered (no space, no permission) before it had read everything.
                connection.usable = connection.alive
                if connection.usable:
                    raise
            answer = await connection.read_answer()
            await self._machine.check(connection, answer)
            await connection.read_all(answer)

    async def download(self, source: str, destination: Path, *, limits: TreeLimits | None = None) -> Collected:
        limits = limits or TreeLimits()
        query: Query = {
            "path": source,
            "total_bytes": limits.total_bytes,
            "file_bytes": limits.file_bytes,
            "files": limits.files,
            "depth": limits.depth,
        }
        async with self._machine.connection() as connection:
            await connection.send(self._machine.head("GET", "/tree", self._user, query, "Content-Length: 0"))
            answer = await connection.read_answer()
            await self._machine.check(connection, answer)
            receiver = await to_thread.run_sync(TreeReceiver, destination, limits)
            try:
                body = connection.body(answer)
                while not receiver.cut and (part := await body.read()):
                    await to_thread.run_sync(receiver.feed, part)
                return receiver.finish()
            finally:
                receiver.close()

    async def copy(self, source: str, destination: str) -> None:
        await self._operate("copy", source, destination)

    async def move(self, source: str, destination: str) -> None:
        await self._operate("move", source, destination)

    async def delete(self, path: str) -> None:
        await self._operate("delete", path)

    async def delete_dir(self, path: str) -> None:
        """The public task API's name for `delete`."""
        await self.delete(path)

    async def create_dir(self, path: str) -> None:
        await self._operate("make_directory", path)

    async def list_dir(self, path: str) -> list[str]:
        found = await self._operate("list", path)
        with self._sound():
            return answers.words(found.get("names"))

    async def scan_dir(self, path: str) -> list[FileInfo]:
        found = await self._operate("scan", path)
        with self._sound():
            return [_info(entry) for entry in answers.objects(found.get("entries"))]

    async def exists(self, path: str) -> bool:
        return await self._kind(path) is not None

    async def file_exists(self, path: str) -> bool:
        return await self._kind(path) == "file"

    async def directory_exists(self, path: str) -> bool:
        return await self._kind(path) == "directory"

    async def digests(self, roots: Sequence[str], sizes: Sequence[int] | None = None) -> dict[str, str]:
        order = {"roots": list(roots), "sizes": None if sizes is None else list(sizes)}
        data = await self._machine.call(
            "POST", "/digests", self._user, body=json.dumps(order).encode(), limit=_MAX_READ, patience=_SLOW
        )
        with self._sound():
            return answers.digests(data)

    # screen

    async def screenshot(self) -> bytes:
        return await self._machine.call("GET", "/screen", self._user)

    async def click(
        self, x: int, y: int, *, button: Literal["left", "middle", "right"] = "left", clicks: int = 1
    ) -> None:
        await self._desktop({"op": "click", "x": x, "y": y, "button": button, "clicks": clicks})

    async def type(self, text: str) -> None:
        await self._desktop({"op": "type", "text": text})

    async def key(self, keys: str | Sequence[str]) -> None:
        await self._desktop({"op": "key", "keys": _chord(keys)})

    async def screen_size(self) -> tuple[int, int]:
        found = await self._desktop({"op": "size"})
        with self._sound():
            return answers.whole(found.get("width")), answers.whole(found.get("height"))

    async def _desktop(self, order: Mapping[str, Any]) -> dict[str, Any]:
        return await self._json("POST", "/desktop", order)

    async def _kind(self, path: str) -> str | None:
        found = (await self._operate("stat", path)).get("info")
        with self._sound():
            return None if found is None else _info(answers.mapping(found)).kind

    async def _operate(self, operation: str, path: str, to: str | None = None) -> dict[str, Any]:
        order = {"op": operation, "path": path} | ({} if to is None else {"to": to})
        return await self._json("POST", "/fs", order, patience=_SLOW)

    async def _json(
        self, method: str, path: str, order: Mapping[str, Any] | None = None, *, patience: float = PATIENCE
    ) -> dict[str, Any]:
        body = b"" if order is None else json.dumps(order).encode()
        data = await self._machine.call(method, path, self._user, body=body, patience=patience)
        with self._sound():
            return answers.parse(data)

    def _sound(self) -> _Sound:
        return _Sound(self._machine.endpoint.sandbox)


def _chord(keys: str | Sequence[str]) -> list[str]:
    """`"ctrl+s"` → ctrl, s; `"ctrl++"` → ctrl and the plus key; a lone `"+"` is itself."""
    if not isinstance(keys, str):
        return list(keys)
    if keys == "+":
        return [keys]
    if keys.endswith("++"):
        return [*keys[:-2].split("+"), "+"]
    return keys.split("+")


class _Sound:
    """A block in which an answer that makes no sense means that the machine is lost."""

    def __init__(self, sandbox: str) -> None:
        self._sandbox = sandbox

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, WireError):
            raise SandboxLost(self._sandbox, str(error)) from error


def _info(entry: Mapping[str, Any]) -> FileInfo:
    kind = entry.get("kind")
    if kind not in _KINDS or not isinstance(entry.get("name"), str):
        raise WireError("a file's description makes no sense")
    return FileInfo(
        name=entry["name"],
        kind=kind,
        size=answers.whole(entry.get("size")),
        mode=answers.whole(entry.get("mode")),
        uid=answers.whole(entry.get("uid")),
        mtime=answers.number(entry.get("mtime")),
    )
