"""A person's terminal, joined to one inside a sandbox."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from ale.computer.commands import RunningCommand
from ale.computer.endpoint import Endpoint
from ale.computer.paths import User
from ale.computer.session import CommandExit
from ale.computer.terminal import terminal

_READ = 64 * 1024


async def interact(endpoint: Endpoint, user: User) -> int:
    """An interactive bash until it ends; its exit code. Every key goes inside, Ctrl-C too."""
    size = os.get_terminal_size(sys.stdin.fileno())
    env = {"TERM": os.environ.get("TERM", "xterm-256color")}
    async with terminal(
        endpoint, ["bash", "-i"], user=user, rows=size.lines or 24, columns=size.columns or 80, env=env
    ) as command:
        with _raw(sys.stdin.fileno()):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_carry_keys, command)
                tasks.start_soon(_carry_size, command)
                code = await _print(command)
                tasks.cancel_scope.cancel()
    return code


async def _print(command: RunningCommand) -> int:
    async for item in command:
        if isinstance(item, CommandExit):
            return item.return_code
        data = item[1]
        while data:
            await anyio.wait_writable(sys.stdout.fileno())
            data = data[os.write(sys.stdout.fileno(), data[:4096]) :]
    raise AssertionError("a command ends with its CommandExit or raises")


async def _carry_keys(command: RunningCommand) -> None:
    while True:
        await anyio.wait_readable(sys.stdin.fileno())
        data = os.read(sys.stdin.fileno(), _READ)
        if not data:
            return
        with anyio.CancelScope(shield=True):  # half a chunk would break the stream
            await command.type(data)


async def _carry_size(command: RunningCommand) -> None:
    with anyio.open_signal_receiver(signal.SIGWINCH) as changes:
        async for _ in changes:
            size = os.get_terminal_size(sys.stdin.fileno())
            with anyio.CancelScope(shield=True):
                await command.resize(size.lines or 24, size.columns or 80)


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
