"""Script files: a model whose answers were written down beforehand. docs/gateway.md describes the format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from ale.documents import Document, read_document
from ale.errors import UsageError
from ale.gateway.prices import StatedPrice

MAX_FILE = 4 * 2**20
"""Bytes of a `shell_file` or `text_file`."""


class ScriptedUsage(Document):
    """`input` counts everything the model read; the cache counts are parts of it."""

    input: int = Field(ge=0)
    output: int = Field(ge=0)
    cache_read: int = Field(default=0, ge=0)
    cache_write: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _parts(self) -> ScriptedUsage:
        if self.cache_read + self.cache_write > self.input:
            raise ValueError("cache_read and cache_write are parts of input and can't be more than it")
        return self


class ScriptedCall(Document):
    """Exactly one of `shell`, `shell_file` and `tool`. `args` adds to, or replaces, what is filled in."""

    shell: str | None = None
    shell_file: str | None = None
    tool: str | None = None
    args: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one(self) -> ScriptedCall:
        if sum(value is not None for value in (self.shell, self.shell_file, self.tool)) != 1:
            raise ValueError("a call has exactly one of `shell`, `shell_file` and `tool`")
        return self


class ScriptedError(Document):
    status: int = Field(ge=400, le=599)
    message: str


class Turn(Document):
    """An answer (`thinking`, `text` or `text_file`, `calls`, `usage`) or an `error`; `delay` seconds come first."""

    thinking: str = ""
    text: str | None = None
    text_file: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage | None = None
    delay: float = Field(default=0.0, ge=0, le=86_400)
    error: ScriptedError | None = None
    times: int | Literal["always"] = 1

    @model_validator(mode="after")
    def _kind(self) -> Turn:
        answers = bool(self.thinking or self.text or self.text_file or self.calls or self.usage)
        if self.error and answers:
            raise ValueError("a turn is either an answer or an `error`, not both")
        if self.error is None and not (self.text is not None or self.text_file or self.calls):
            raise ValueError("a turn needs `text`, `text_file`, `calls` or `error`")
        if self.text is not None and self.text_file:
            raise ValueError("a turn has `text` or `text_file`, not both")
        if self.error is None and self.times != 1:
            raise ValueError("`times` belongs to an `error`; answers are given once each")
        if isinstance(self.times, int) and self.times < 1:
            raise ValueError("`times` is 1 or more, or `always`")
        return self


class When(Document):
    """Shell-style patterns; the first script whose both patterns fit is played."""

    workflow: str = "*"
    instance: str = "*"

    def fits(self, workflow: str, instance: str) -> bool:
        return fnmatchcase(workflow, self.workflow) and fnmatchcase(instance, self.instance)


class Script(Document):
    """plain: the answer to requests that offer no tools (conversation titles and the like)."""

    when: When = When()
    turns: tuple[Turn, ...]
    otherwise: Turn = Turn(text="The script has no more turns.")
    plain: str = "Working on the task."

    @model_validator(mode="after")
    def _reachable(self) -> Script:
        for number, turn in enumerate(self.turns[:-1], start=1):
            if turn.error and turn.times == "always":
                raise ValueError(f"turn {number} fails always, so the turns after it are never reached")
        return self


class ScriptFile(Document):
    price: StatedPrice | None = None
    scripts: tuple[Script, ...] = Field(min_length=1)


@dataclass(frozen=True)
class LoadedScript:
    """A script file with the texts of the files that it names, by the names it uses."""

    path: Path
    file: ScriptFile
    texts: dict[str, str]

    def choose(self, workflow: str, instance: str) -> Script:
        """Raises UsageError when no script of the file is for this run."""
        for script in self.file.scripts:
            if script.when.fits(workflow, instance):
                return script
        raise UsageError(f"{self.path} has no script for {workflow}/{instance}: no `when` fits")

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the script file and every file that it names: the identity of the scripted model."""
        digest = hashlib.sha256()
        for name, text in [("", self.path.read_text(encoding="utf-8")), *self.texts.items()]:
            data = text.encode()
            digest.update(f"{len(name.encode())} {len(data)} {name}\n".encode())
            digest.update(data)
        return digest.hexdigest()


def load_script(path: Path) -> LoadedScript:
    """Read and check a script file and every file that it names.

    Raises UsageError: one sentence with file and line."""
    path = path.absolute()
    file = read_document(path, ScriptFile)
    return LoadedScript(path, file, {name: _text(path, name) for name in sorted(set(_named(file)))})


def _named(file: ScriptFile) -> Iterator[str]:
    for script in file.scripts:
        for turn in (*script.turns, script.otherwise):
            if turn.text_file:
                yield turn.text_file
            yield from (call.shell_file for call in turn.calls if call.shell_file)


def _text(script: Path, name: str) -> str:
    path = script.parent / name
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}, named by {script}, is larger than {MAX_FILE // 2**20} MiB")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}, named by {script}, is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{path}, named by {script}, can't be read: {error.strerror}") from None


def substitute(value: Any, names: dict[str, str]) -> Any:
    """Replace `{{name}}` in every string of a JSON value; other double braces stay as they are."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("{{" + name + "}}", text)
        return value
    if isinstance(value, dict):
        return {key: substitute(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, names) for item in value]
    return value
