"""Agents for tests: each does one thing, as the agent's user, in a real sandbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from ale.computer.paths import OUTPUT
from ale.errors import HarnessError
from ale.harness.protocol import AgentContext, AgentResult, LayerRecipe

Act = Callable[[AgentContext], Awaitable[AgentResult | None]]


@dataclass(frozen=True)
class Scripted:
    name: str
    act: Act
    uses_model: bool = False

    def layer(self) -> LayerRecipe | None:
        return None

    async def run(self, context: AgentContext) -> AgentResult:
        return await self.act(context) or AgentResult("finished")


async def _answer(context: AgentContext, text: str = "42\n") -> None:
    await context.session.write_file(f"{OUTPUT}/answer.txt", text)


async def right(context: AgentContext) -> None:
    await _answer(context)


async def half_right(context: AgentContext) -> None:
    await _answer(context, "41\n")


async def as_directory(context: AgentContext) -> None:
    await context.session.create_dir(f"{OUTPUT}/answer.txt")


async def slow(context: AgentContext) -> None:
    await _answer(context)
    await context.session.run_command(["sleep", "1000"], timeout=None)


async def crashes(context: AgentContext) -> AgentResult:
    await _answer(context)
    return AgentResult("crashed", exit_code=3, last_message="boom")


async def refuses_to_start(context: AgentContext) -> None:
    raise HarnessError("the program is not there")


SURVIVORS = r"""
cd /tmp
(setsid sh -c 'while true; do echo daemon > /task/output/late.txt; sleep 0.05; done' </dev/null >/dev/null 2>&1 &)
(nohup sh -c 'trap "" TERM HUP INT; while true; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &)
cat > respawn.sh <<'SH'
while true; do (setsid sh respawn.sh </dev/null >/dev/null 2>&1 &); sleep 0.2; [ "$(ls /proc | wc -l)" -gt 150 ] && sleep 1; done
SH
(setsid sh respawn.sh </dev/null >/dev/null 2>&1 &)
"""


async def leaves_survivors(context: AgentContext) -> None:
    await _answer(context)
    await context.session.run_command(SURVIVORS)


async def looks_for_the_reference(context: AgentContext) -> None:
    found = await context.session.run_command("grep -rIl --exclude-dir=proc --exclude-dir=sys 'the-key-is' / 2>/dev/null; ls -R /task; cat /proc/[0-9]*/environ 2>/dev/null", check=False)
    await _answer(context, found.stdout)


async def hostile_output(context: AgentContext) -> None:
    await _answer(context)
    await context.session.run_command(
        "cd /task/output && ln -s /etc/passwd link && ln answer.txt hard && mkfifo pipe"
        " && { truncate -s 1T sparse || truncate -s 3G sparse || truncate -s 2100M sparse; } 2>/dev/null"
        " ; mkdir -p d && touch \"$(printf 'd/\\xff\\xfe')\" && cp answer.txt 'd/with space'"
    )


async def marks_its_home(context: AgentContext) -> None:
    await _answer(context)
    await context.session.write_file("/home/agent/mark", "mark\n")


async def waits_for_ever(context: AgentContext) -> None:
    await _answer(context)
    await anyio.sleep_forever()


AGENTS = {
    function.__name__.replace("_", "-"): Scripted(function.__name__.replace("_", "-"), function)
    for function in (
        right, half_right, as_directory, slow, crashes, refuses_to_start, leaves_survivors, looks_for_the_reference,
        hostile_output, marks_its_home, waits_for_ever,
    )
}  # fmt: skip
