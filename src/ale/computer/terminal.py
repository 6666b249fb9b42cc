"""A command on a terminal inside a machine, for a person or a program that types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from ale.computer.commands import RunningCommand, running, specify
from ale.computer.endpoint import Endpoint
from ale.computer.machine import Machine
from ale.computer.paths import User
from ale.computer.session import Command


@asynccontextmanager
async def terminal(
    endpoint: Endpoint,
    command: Command,
    *,
    user: User = "agent",
    rows: int = 24,
    columns: int = 80,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningCommand]:
    """Start it; iterate over what it prints, `type` into it, `resize` it. Leaving the block ends it with all that it
    started. Raises SandboxLost, FileNotFoundError (cwd)."""
    machine = Machine(endpoint)
    spec = specify(command, None, None, cwd, env) | {"terminal": {"rows": rows, "columns": columns}}
    try:
        async with running(machine, "/exec", user, spec, None) as started:
            yield started
    finally:
        await machine.aclose()
