"""Playing a script file back as a model.

The turn is the number of assistant turns that the request already holds, so a retried call gets the same answer again
and runs side by side don't disturb each other. Only scripted errors are counted, per run: an error is served before the
answer that follows it in the file, once (or `times`), whoever asks for that answer.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from ale.gateway.backend import Asker
from ale.gateway.estimate import tokens_of_body, tokens_of_text
from ale.gateway.neutral import Failure, ModelRequest, Reply, ToolCall
from ale.gateway.prices import Price
from ale.gateway.script import LoadedScript, Script, ScriptedUsage, Turn, load_script, substitute
from ale.gateway.tools import filled, shell_call, tool_name
from ale.trajectory.schema import Usage


class ScriptedBackend:
    """Raises UsageError for an unsound script file."""

    def __init__(self, path: Path) -> None:
        self._script = load_script(path)

    @property
    def price(self) -> Price | None:
        return self._script.file.price

    @property
    def digest(self) -> str:
        return self._script.digest

    def converse(self, asker: Asker) -> ScriptedConversation:
        return ScriptedConversation(self._script, self._script.choose(asker.workflow, asker.instance), asker)


class ScriptedConversation:
    def __init__(self, loaded: LoadedScript, script: Script, asker: Asker) -> None:
        self._texts = loaded.texts
        self._script = script
        self._names = {"workflow": asker.workflow, "instance": asker.instance, "run": asker.run}
        self._answers, self._errors = _arranged(script)
        self._served: dict[int, int] = {}

    async def answer(self, request: ModelRequest) -> Reply | Failure:
        if not request.tools:
            return _with_usage(_plain(request, self._say(self._script.plain)), None, request)
        if error := self._next_error(request.turns):
            await asyncio.sleep(error.delay)
            assert error.error is not None
            return Failure.of_status(error.error.status, self._say(error.error.message))
        turn = self._answers[request.turns] if request.turns < len(self._answers) else self._script.otherwise
        await asyncio.sleep(turn.delay)
        if turn.error:
            return Failure.of_status(turn.error.status, self._say(turn.error.message))
        calls: list[ToolCall] = []
        for scripted in turn.calls:
            args = substitute(scripted.args, self._names)
            if scripted.tool is not None:
                calls.append(ToolCall(tool_name(request.tools, self._say(scripted.tool)), args))
                continue
            command = self._texts[scripted.shell_file] if scripted.shell_file else scripted.shell or ""
            call = shell_call(request.tools, self._say(command), args)
            if call is None:
                offered = ", ".join(tool.name for tool in request.tools)
                return Failure.of_status(400, f"the script wants a shell, but only these tools are offered: {offered}")
            calls.append(call)
        text = self._texts[turn.text_file] if turn.text_file else turn.text or ""
        reply = Reply(
            usage=Usage(),
            text=self._say(text),
            thinking=self._say(turn.thinking),
            calls=tuple(calls),
            stop="tools" if calls else "end",
        )
        return _with_usage(reply, turn.usage, request)

    def _next_error(self, turn: int) -> Turn | None:
        served = self._served.get(turn, 0)
        passed = 0
        for error in self._errors.get(turn, ()):
            if error.times == "always" or served < passed + error.times:
                self._served[turn] = served + 1
                return error
            passed += error.times
        return None

    def _say(self, text: str) -> str:
        said: str = substitute(text, self._names)
        return said


def _arranged(script: Script) -> tuple[list[Turn], dict[int, list[Turn]]]:
    """The answers in order, and the errors by the number of the answer that they come before."""
    answers: list[Turn] = []
    errors: dict[int, list[Turn]] = {}
    for turn in script.turns:
        if turn.error:
            errors.setdefault(len(answers), []).append(turn)
        else:
            answers.append(turn)
    return answers, errors


def _plain(request: ModelRequest, text: str) -> Reply:
    if request.answer_schema is not None:
        text = json.dumps(filled(request.answer_schema))
    return Reply(usage=Usage(), text=text)


def _with_usage(reply: Reply, stated: ScriptedUsage | None, request: ModelRequest) -> Reply:
    if stated is not None:
        usage = Usage(
            input_tokens=stated.input,
            output_tokens=stated.output,
            cache_read_tokens=stated.cache_read,
            cache_write_tokens=stated.cache_write,
        )
    else:
        said = [reply.text, reply.thinking, *(call.name + json.dumps(dict(call.args)) for call in reply.calls)]
        output = max(1, sum(map(tokens_of_text, said)))
        usage = Usage(input_tokens=tokens_of_body(request.body), output_tokens=output)
    return replace(reply, usage=usage)
