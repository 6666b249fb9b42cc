"""The page of a run: one self-contained HTML file that leads from the number to the reason to the step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ale import __version__
from ale.errors import GraderError, UsageError
from ale.exam.folder import read_result
from ale.exam.result import AgentResultRecord, RunResult
from ale.replacing import replacing
from ale.report import words as meaning
from ale.report.events import read_happened
from ale.report.files import Files, read_files
from ale.report.mentions import Words
from ale.report.parts import WHERE, PartView, costliest, mark, number, score_view
from ale.report.recorded import Unreadable, read_json, tail
from ale.report.shown import Shown, brief, fit, visible
from ale.report.steps import read_steps
from ale.score import Score
from ale.text import seconds
from ale.trajectory.document import FILE, read_head

_LOG_BYTES = 12 * 2**10
_TEXT_BYTES = 24 * 2**10
_LOGS = ("debug/eval/*.txt", "debug/task/*/*.txt", "harness/*.log", "harness/*.txt")
_MOST_LOGS = 24
_MOST_TRIES = 20
_LONGEST = 2**17
"""Characters of any one value. Every text is cut to its room before; this is what holds if one was forgotten."""


def run_page(folder: Path) -> Iterator[str]:
    """The page in pieces. Raises UsageError when the run has no result yet."""
    result = read_result(folder)
    if result is None:
        raise UsageError(f"{folder} has no result yet: it is under way, or its command was killed")
    files = read_files(folder)
    score, score_damage = _score(folder)
    words = Words()
    targets = _targets(words, files, score)
    happened = read_happened(folder)
    steps = read_steps(folder, words, result.phases["agent"].start if "agent" in result.phases else result.started)
    first_steps: dict[int, int] = {}
    for step in steps.shown:
        if step.call is not None:
            first_steps.setdefault(step.call, step.number)
    frozen, killed = meaning.freeze(result.integrity)
    return (
        _environment()
        .get_template("run.html")
        .generate(
            run=result,
            version=__version__,
            words=meaning,
            value_mark=mark(result.score.value) if result.score else None,
            score=score,
            score_damage=score_damage,
            costliest=costliest(score) if score else [],
            mentions=words,
            targets=targets,
            steps=steps,
            first_steps=first_steps,
            shown_calls=frozenset(call.number for call in happened.calls),
            files=files,
            happened=happened,
            agent_result=_agent_result(folder),
            instruction=_instruction(folder),
            evidence=fit(result.error.evidence, _TEXT_BYTES, "run_result.json") if result.error else None,
            frozen=frozen,
            killed=killed,
            strength=_flat(result.integrity.strength),
            digests=_flat(result.digests),
            settings=_flat(result.agent.settings),
            tries=_tries(folder),
            logs=_logs(folder),
        )
    )


def write_page(path: Path, pieces: Iterable[str]) -> None:
    """A file gets its name when the page in it is complete. Raises OSError."""
    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        return
    with replacing(path) as page:
        page.writelines(piece.encode() for piece in pieces)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ale.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "number": number,
        "seconds": seconds,
        "precise": lambda value: f"{value * 1000:.1f} ms" if value < 1 else seconds(value),
        "size": _size,
        "brief": brief,
        "moment": lambda moment: f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        "usd": lambda cost: "unknown" if cost is None else f"${cost:.4f}",
        "many": lambda count: f"{count:,}",
    }
    return environment


def _finished(value: object) -> object:
    """Applied to everything that a template puts out, before it is escaped."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return visible(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} […]")


def _size(size: int) -> str:
    if size < 10_000:
        return "1 byte" if size == 1 else f"{size:,} bytes"
    return f"{size / 1000:,.1f} kB" if size < 10**7 else f"{size / 1e6:,.1f} MB"


def _score(folder: Path) -> tuple[PartView | None, str]:
    """The tree, or why it can't be shown; neither when evaluate() was not reached."""
    if not (folder / WHERE).exists():
        return None, ""
    try:
        return score_view(Score.from_json(read_json(folder, WHERE)["score"])), ""
    except (Unreadable, GraderError, KeyError, TypeError, RecursionError) as error:
        return None, f"The grader's parts can't be shown: {brief(error)}"


def _targets(words: Words, files: Files, score: PartView | None) -> dict[str, tuple[str, int]]:
    """Make `words` look for what the score hangs on; for each word the part or the file that is meant by it."""
    parts = list(score.walk()) if score else []
    targets: dict[str, tuple[str, int]] = {}
    for part in parts:
        words.add(part.names)
        for name in part.names:
            targets.setdefault(name, ("part", part.number))
        for mistake in part.mistakes:
            words.add([mistake.word], in_answers=True)
            targets.setdefault(mistake.word, ("part", part.number))
    words.add(file.word for file in files.shown if file.delivered)
    return {**targets, **{file.word: ("file", file.number) for file in reversed(files.shown)}}


def _agent_result(folder: Path) -> AgentResultRecord | None:
    try:
        return AgentResultRecord.model_validate(read_json(folder, "agent_result.json"))
    except (Unreadable, ValueError):
        return None  # the harness was not reached, or its record is damaged: the run's own result says how it ended


def _instruction(folder: Path) -> Shown:
    try:
        return fit(str(read_head(folder / FILE)["instruction"]), _TEXT_BYTES, FILE)
    except (OSError, ValueError, KeyError, RecursionError) as error:
        return Shown("", f"The instruction can't be shown: {brief(error)}")


def _flat(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in list(data.items())[:60]:
        label = brief(f"{prefix}{name}", 80)
        if isinstance(value, Mapping) and len(prefix) < 80:
            rows += _flat(value, f"{label} · ")
        else:
            rows.append((label, brief(value if isinstance(value, str) else json.dumps(value, default=str), 400)))
    return rows


@dataclass(frozen=True)
class Log:
    name: str
    text: Shown
    size: int


def _logs(folder: Path) -> list[Log]:
    found: list[Log] = []
    names = [path.relative_to(folder).as_posix() for pattern in _LOGS for path in sorted(folder.glob(pattern))]
    for name in names:
        try:
            text, size = tail(folder, name, _LOG_BYTES)
        except Unreadable:
            continue  # a link or a pipe: nothing that this program has written
        if size and len(found) < _MOST_LOGS:
            shown = fit(text, 2 * _LOG_BYTES, name)
            note = f"The last part of {size:,} bytes; all of them: {brief(name)}." if size > _LOG_BYTES else shown.note
            found.append(Log(brief(name), Shown(shown.head, note, shown.tail), size))
    return found


@dataclass(frozen=True)
class Try:
    number: int
    started: datetime | None
    how: str


def _tries(folder: Path) -> list[Try]:
    found: list[Try] = []
    numbers = sorted(int(path.name) for path in folder.glob("tries/[0-9]*") if path.name.isdigit())
    for count in numbers[-_MOST_TRIES:]:
        try:
            result: RunResult | None = read_result(folder / "tries" / str(count))
        except (UsageError, OSError) as error:
            found.append(Try(count, None, brief(error)))
            continue
        if result is None:
            found.append(Try(count, None, "it was cut short and has no result"))
        else:
            why = f": {result.error.message}" if result.error else ""
            found.append(Try(count, result.started, brief(f"{result.outcome.value}{why}", 600)))
    return found
