"""What a check is, and what the checks share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from ale.computer.session import Session

MakeSession = Callable[[], Awaitable[Session]]

_BOUND = 120.0
"""Seconds in which any check must be through, on a slow machine too."""

ODD_NAMES = (
    "with space",
    'it\'s "quoted"',
    "new\nline",
    "tab\there",
    "ünï-汉字-🙂",
    "-rf",
    "$(touch x)",
    "a;b|c&d",
    "\\back",
)


@dataclass(frozen=True)
class Check:
    """name: the sentence that it checks."""

    name: str
    body: Callable[[Session], Awaitable[None]]
    needs_machine: bool = True
    needs_screen: bool = False

    async def run(self, make_session: MakeSession) -> None:
        with anyio.fail_after(_BOUND):
            await self.body(await make_session())


class Checks:
    """The checks of one module, in its order: `@checks("a sentence")` before each."""

    def __init__(self) -> None:
        self._found: list[Check] = []

    def __call__(
        self, sentence: str, *, needs_machine: bool = True, needs_screen: bool = False
    ) -> Callable[[Callable[[Session], Awaitable[None]]], Callable[[Session], Awaitable[None]]]:
        def mark(body: Callable[[Session], Awaitable[None]]) -> Callable[[Session], Awaitable[None]]:
            self._found.append(Check(sentence, body, needs_machine, needs_screen))
            return body

        return mark

    def __iter__(self) -> Iterator[Check]:
        return iter(self._found)


@asynccontextmanager
async def workplace(session: Session) -> AsyncIterator[str]:
    """A directory of the machine that anyone may write to, and that is gone afterwards."""
    path = f"/tmp/conformance-{os.urandom(6).hex()}"  # noqa: S108 - the machine's /tmp, not the host's
    await session.create_dir(path)
    try:
        yield path
    finally:
        await session.delete(path)


@asynccontextmanager
async def host_place() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ale-conformance-") as name:
        yield Path(name)


async def raises(kind: type[BaseException], call: Awaitable[object]) -> BaseException:
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def gone(session: Session, marker: str) -> None:
    """No process of the machine has `marker` in its command line."""
    found = await session.run_command(["pgrep", "-f", "--", marker], check=False)
    assert found.return_code == 1, f"still alive: {found.stdout}"
