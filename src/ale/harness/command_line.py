"""Runs an agent CLI inside the sandbox: what the harness modules declare, this does.

The prompt goes in by stdin, never by argv. What the CLI prints is streamed into the run folder as it appears, each
stream bounded; its own transcripts are copied out afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ale.computer.paths import AGENT_HOME
from ale.computer.session import CommandExit, Session
from ale.errors import HarnessError
from ale.harness.protocol import AgentContext, AgentResult, ModelEndpoint
from ale.sandbox.layers import LayerRecipe

MAX_LOG = 256 * 2**20
"""Bytes of each of the harness's streams that the run folder keeps; the rest is counted in the log's last line."""

_TAIL = 64 * 2**10


@dataclass(frozen=True)
class CommandLineAgent:
    """One agent CLI, declared.

    command: the argument list, given what the experiment sets. environment: added to the clean login environment.
    files: configuration written before the start, by path in the machine. last_message: read from the end of stdout.
    """

    name: str
    recipe: LayerRecipe
    command: Callable[[AgentContext, ModelEndpoint], tuple[str, ...]]
    environment: Callable[[ModelEndpoint], Mapping[str, str]]
    files: Callable[[ModelEndpoint], Mapping[str, str]]
    last_message: Callable[[str], str]
    uses_model: bool = True
    settings: tuple[str, ...] = ()

    def layer(self) -> LayerRecipe | None:
        return self.recipe

    async def run(self, context: AgentContext) -> AgentResult:
        model = context.model
        if model is None:
            raise HarnessError(
                f"agent '{self.name}' needs a model: add `model: script:FILE` to it in the experiment file"
            )
        for path, text in self.files(model).items():
            await context.session.create_dir(str(PurePosixPath(path).parent))
            await context.session.write_file(path, text)
        end, tail = await _run_logged(
            context.session,
            self.command(context, model),
            environment=self.environment(model),
            stdin=context.instruction.encode(),
            logs=context.logs,
        )
        text = tail.decode("utf-8", errors="replace")
        if end.return_code in (126, 127):
            raise HarnessError(f"agent '{self.name}' could not be started (exit code {end.return_code}): {text[-400:]}")
        return AgentResult(
            status="finished" if end.return_code == 0 else "crashed",
            exit_code=end.return_code,
            last_message=self.last_message(text),
            detail=f"ended by signal {end.signal}" if end.signal else "",
        )


async def _run_logged(
    session: Session, command: tuple[str, ...], *, environment: Mapping[str, str], stdin: bytes, logs: Path
) -> tuple[CommandExit, bytes]:
    """Run to the end; returns it with the last 64 KiB of stdout (of stderr, when stdout is empty)."""
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "stdout.log").open("wb") as stdout, (logs / "stderr.log").open("wb") as stderr:
        out, err = _BoundedLog(stdout), _BoundedLog(stderr)
        try:
            async with session.stream_command(command, cwd=AGENT_HOME, env=environment, stdin=stdin) as items:
                async for item in items:
                    if isinstance(item, CommandExit):
                        return item, out.tail or err.tail
                    stream, data = item
                    (out if stream == "stdout" else err).write(data)
        finally:
            out.end()
            err.end()
    raise AssertionError("a streamed command ends with its CommandExit or raises")


class _BoundedLog:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._seen = 0
        self.tail = b""

    def write(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_TAIL:]
        if self._seen < MAX_LOG:
            self._file.write(data[: MAX_LOG - self._seen])
            self._file.flush()
        self._seen += len(data)

    def end(self) -> None:
        if self._seen > MAX_LOG:
            self._file.write(b"\n[ale: the log is full, %d more bytes were left out]\n" % (self._seen - MAX_LOG))
