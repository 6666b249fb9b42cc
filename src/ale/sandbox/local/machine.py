"""Starts one machine: bubblewrap over the overlay, the computer server as its first process, the handshake with it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ale.errors import SandboxUnavailable
from ale.sandbox.local import seccomp
from ale.sandbox.local.box import Box
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.launch import Overlay, Program, launch, mount_point
from ale.sandbox.local.mapped import tool
from ale.sandbox.local.processes import ProcessId
from ale.sandbox.local.server import SERVER_PLACE

READY_BOUND = 60.0
"""Seconds until the server must have answered; it takes 0.1 s on a quiet machine."""

AGENT_PROCESSES = 1024
"""Processes and threads of the agent's user. A browser has 200, an office suite 50."""

UNGROUPED_PROCESSES = 400
"""The same where no control group holds the machine: there a bomb of so many busy sessions shares the CPU with all that
the host does, and the fewer they are the sooner they are ended."""

OPEN_FILES = 65536

SERVER_COMMAND = ("/usr/bin/python3", "-I", "-S", SERVER_PLACE)

_MESSAGE_LIMIT = 64 * 1024


@dataclass(frozen=True)
class Started:
    """A machine whose server waits for its start message on `channel`."""

    process: subprocess.Popen[bytes]
    monitor: ProcessId
    init: ProcessId
    channel: socket.socket


def listen(path: Path) -> socket.socket:
    """The control socket: made here and handed in, so that nothing inside can replace it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")  # sockaddr_un holds 108 bytes, paths are longer
    finally:
        os.close(folder)
    path.chmod(0o600)
    listener.listen(256)
    return listener


def start(
    box: Box,
    overlay: Overlay,
    ids: IdRange,
    *,
    control: socket.socket,
    log: Path,
    before_start: Callable[[int], None],
) -> Started:
    """Blocks. Raises SandboxUnavailable; then no process is left."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    info_reader, info_writer = os.pipe()
    process = None
    try:
        with theirs, log.open("ab") as out:
            program = Program(
                argv=(tool("bwrap"), *box.arguments(SERVER_COMMAND)),
                overlay=overlay,
                seccomp=seccomp.program(),
                keep={"info": info_writer},
                install={control.fileno(): 3},
            )
            process = launch(program, ids, stdin=theirs.fileno(), stdout=out, stderr=out, before_start=before_start)
        os.close(info_writer)
        info_writer = -1
        init = _read_info(info_reader)
        monitor_id, init_id = ProcessId.of(process.pid), ProcessId.of(init)
        if monitor_id is None or init_id is None:
            raise SandboxUnavailable(f"a sandbox ended while it started: {last_words(log)}")
        return Started(process, monitor_id, init_id, ours)
    except BaseException as error:
        ours.close()
        if process is not None:
            process.kill()
            process.wait()
        if isinstance(error, _NoInfo):
            raise SandboxUnavailable(f"bubblewrap could not make a sandbox: {last_words(log)}") from error
        raise
    finally:
        os.close(info_reader)
        if info_writer >= 0:
            os.close(info_writer)


class _NoInfo(Exception):
    pass


def _read_info(reader: int) -> int:
    """bubblewrap writes `{"child-pid": N, …}` and closes; a bubblewrap that failed just closes."""
    data = b""
    while part := os.read(reader, 4096):
        data += part
    if not data.strip():
        raise _NoInfo
    return int(json.loads(data)["child-pid"])


async def greet(started: Started, message: dict[str, Any], log: Path) -> socket.socket | None:
    """Give the server its start message and await its answer; the door's listening socket, if it was asked for.

    Raises SandboxUnavailable with the server's or its log's last words.
    """
    channel = started.channel
    channel.setblocking(False)
    line = json.dumps(message).encode() + b"\n"
    answer, descriptors = b"", []
    try:
        with anyio.fail_after(READY_BOUND):
            while line:
                await anyio.wait_writable(channel)
                line = line[channel.send(line) :]
            while not answer.endswith(b"\n"):
                await anyio.wait_readable(channel)
                part, got, _, _ = socket.recv_fds(channel, _MESSAGE_LIMIT, 1)
                descriptors += got
                if not part or len(answer) > _MESSAGE_LIMIT:
                    raise SandboxUnavailable(f"the computer server ended before it was ready: {last_words(log)}")
                answer += part
    except TimeoutError:
        _close(descriptors)
        raise SandboxUnavailable(
            f"the computer server was not ready after {READY_BOUND:g} s: {last_words(log)}"
        ) from None
    except OSError as error:
        _close(descriptors)
        raise SandboxUnavailable(
            f"the computer server ended before it was ready ({error}): {last_words(log)}"
        ) from error
    except BaseException:
        _close(descriptors)
        raise
    finally:
        channel.close()
    reply = json.loads(answer)
    if not reply.get("ready"):
        _close(descriptors)
        raise SandboxUnavailable(f"the computer server could not start: {reply.get('error', 'no reason given')}")
    if not descriptors:
        return None
    door = socket.socket(fileno=descriptors[0])
    door.setblocking(False)
    return door


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def last_words(log: Path, length: int = 400) -> str:
    """The end of a machine's log, for a person."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - length))
            text = file.read().decode("utf-8", errors="replace").strip()
    except FileNotFoundError:
        text = ""
    return text or "it left no message"


def box_for(hostname: str, *, tied: bool, memory_mb: int) -> Box:
    return Box(mount=mount_point(), hostname=hostname, shm_mb=max(64, memory_mb // 4), tied=tied)
