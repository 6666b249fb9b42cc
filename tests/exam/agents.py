"""Agents for tests: each does one thing, as the agent's user, in a real sandbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from ale.computer.paths import OUTPUT
from ale.errors import HarnessError
from ale.harness.protocol import AgentContext, AgentResult
from ale.sandbox.layers import LayerRecipe

Act = Callable[[AgentContext], Awaitable[AgentResult | None]]


@dataclass(frozen=True)
class Scripted:
    name: str
    act: Act
    uses_model: bool = False
    settings: tuple[str, ...] = ("stubborn",)

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


async def waits_for_nothing(context: AgentContext) -> None:
    """Ends at once, with nothing done."""


async def says_what_is_no_text(context: AgentContext) -> AgentResult:
    await _answer(context)
    return AgentResult("crashed", exit_code=1, last_message="\ud800", detail="\udcff\0")


async def refuses_to_start(context: AgentContext) -> None:
    raise HarnessError("the program is not there")


SURVIVORS = r"""
cd /tmp
(setsid sh -c 'while true; do echo daemon > /task/output/late.txt; sleep 0.05; done' </dev/null >/dev/null 2>&1 &)
(nohup sh -c 'trap "" TERM HUP INT; while true; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &)
cat > respawn.sh <<'SH'
while true; do
  (setsid sh respawn.sh </dev/null >/dev/null 2>&1 &); sleep 0.2
  [ "$(ls /proc | wc -l)" -gt 150 ] && sleep 1
done
SH
(setsid sh respawn.sh </dev/null >/dev/null 2>&1 &)
"""


async def leaves_survivors(context: AgentContext) -> None:
    await _answer(context)
    await context.session.run_command(SURVIVORS)


async def looks_for_the_reference(context: AgentContext) -> None:
    found = await context.session.run_command(
        "grep -rIl --exclude-dir=proc --exclude-dir=sys 'the-key-is' / 2>/dev/null; ls -R /task; "
        "cat /proc/[0-9]*/environ 2>/dev/null",
        check=False,
    )
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


CALLER = r"""
import json, sys, urllib.request
base, token, model, forever = sys.argv[1:5]
open("/task/output/answer.txt", "w").write("42\n")
messages = [{"role": "user", "content": "go on"}]
tools = [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}]
while True:
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    request = urllib.request.Request(base + "/v1/chat/completions", body,
        {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            said = json.load(answer)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
        if forever == "yes":
            import time; time.sleep(1000)
        sys.exit(1)
    messages += [said, {"role": "user", "content": "go on"}]
    if "stop" in (said.get("content") or ""):
        sys.exit(0)
"""


async def calls_the_model(context: AgentContext) -> AgentResult:
    model = context.model
    assert model is not None
    forever = "yes" if context.settings.get("stubborn") else "no"
    command = ["python3", "-c", CALLER, model.base_url, model.token, model.name, forever]
    done = await context.session.run_command(command, check=False, timeout=None)
    return AgentResult("finished" if done.success else "crashed", done.return_code, done.stdout + done.stderr)


async def never_calls(context: AgentContext) -> AgentResult:
    await _answer(context)
    return AgentResult("finished", 0, "not logged in")


AGENTS = {
    function.__name__.replace("_", "-"): Scripted(function.__name__.replace("_", "-"), function)
    for function in (
        right, half_right, as_directory, slow, crashes, refuses_to_start, leaves_survivors, looks_for_the_reference,
        hostile_output, marks_its_home, waits_for_ever, says_what_is_no_text,
    )
}  # fmt: skip
AGENTS |= {
    "calls-the-model": Scripted("calls-the-model", calls_the_model, uses_model=True),
    "never-calls": Scripted("never-calls", never_calls, uses_model=True),
}
