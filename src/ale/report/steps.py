"""The steps of a trajectory as the page shows them: what was done, what came back, what the agent thought."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ale.report.mentions import Words
from ale.report.pictures import NoPicture, Picture, picture
from ale.report.recorded import Unreadable, open_inside
from ale.report.shown import Shown, Space, brief
from ale.trajectory.document import FILE, iter_steps
from ale.trajectory.schema import Observation, Step, Usage

MOST_STEPS = 5000
TEXT_BYTES = 8 * 2**20
STEP_BYTES = 48 * 2**10
PICTURE_BYTES = 12 * 2**20
ONE_PICTURE_BYTES = 4 * 2**20
GROUP = 100
_LINE = 140
_VALUE = 100
_VALUES = 24
_MAIN = ("command", "cmd", "code", "text", "content", "new_string", "script")
"""Arguments that say most of what a step did; the first one that is there is its line."""


@dataclass(frozen=True)
class Block:
    """One text of a step under its label. kind: how it is painted (`did`, `out`, `err`, `said`)."""

    label: str
    kind: str
    text: Shown


@dataclass(frozen=True)
class StepView:
    number: int
    offset: float
    seconds: float | None
    actor: str
    type: str
    tool: str
    line: str
    failed: bool
    exit_code: int | None
    call: int | None
    usage: Usage | None
    values: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]
    answered: bool
    picture: Picture | None
    picture_note: str
    same_picture: int | None
    words: tuple[str, ...]


@dataclass
class Steps:
    """total: steps of the run. left_out: those in the middle that are not shown. damage: why there are no more."""

    shown: list[StepView] = field(default_factory=list)
    total: int = 0
    left_out: int = 0
    left_out_after: int = 0
    damage: str = ""
    picture_note: str = ""

    @property
    def groups(self) -> list[list[StepView]]:
        return [self.shown[at : at + GROUP] for at in range(0, len(self.shown), GROUP)]

    @property
    def failed(self) -> list[int]:
        return [step.number for step in self.shown if step.failed]


def read_steps(folder: Path, words: Words, begin: datetime) -> Steps:
    """begin: what the times of steps are counted from."""
    path = folder / FILE
    steps = Steps(total=_count(path))
    if steps.total > MOST_STEPS:
        steps.left_out = steps.total - MOST_STEPS
        steps.left_out_after = MOST_STEPS * 3 // 5
    gallery = _Gallery(folder)
    steps.picture_note = gallery.note
    space = Space(TEXT_BYTES, min(steps.total, MOST_STEPS), STEP_BYTES)
    try:
        for count, step in enumerate(iter_steps(path), start=1):
            if steps.left_out_after < count <= steps.left_out_after + steps.left_out:
                continue
            steps.shown.append(_view(step, space, gallery, words, begin))
    except FileNotFoundError:
        steps.damage = f"There is no {FILE}."
    except (ValueError, OSError, RecursionError) as error:
        steps.damage = f"{FILE} is damaged after step {len(steps.shown)}: {brief(error)}"
    return steps


def _count(path: Path) -> int:
    """Steps of the document without reading them: one line each, between the head's two lines and the tail's two."""
    try:
        with path.open("rb") as file:
            return max(0, sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(2**20), b"")) - 4)
    except FileNotFoundError:
        return 0


def _view(step: Step, space: Space, gallery: _Gallery, words: Words, begin: datetime) -> StepView:
    where = f"{FILE}, step {step.step}"
    args = dict(list(step.action.args.items())[:_VALUES])
    long = {name: value for name, value in args.items() if _is_long(name, value)}
    raw = [
        *([("thought and said", "said", step.reasoning)] if step.reasoning else []),
        *((_label(step, name), "did", _written(value)) for name, value in long.items()),
        *_seen(step.observation),
    ]
    texts = space.show([(text, where) for _, _, text in raw])
    blocks = tuple(Block(label, kind, text) for (label, kind, _), text in zip(raw, texts, strict=True))
    values = tuple(
        (brief(name, 60), brief(_written(value), 2 * _VALUE)) for name, value in args.items() if name not in long
    )
    if len(step.action.args) > _VALUES:
        values = (*values, ("…", f"{len(step.action.args) - _VALUES} more arguments, {where}"))
    line = _line(step)
    did = "\n".join([line, *(value for _, value in values), *(each.text.text for each in blocks if each.kind == "did")])
    seen = step.observation
    shown, note, same = gallery.picture(step.step, seen.image_path if seen else None)
    return StepView(
        number=step.step,
        offset=(step.timestamp - begin).total_seconds(),
        seconds=(seen.timestamp - step.timestamp).total_seconds() if seen and seen.timestamp else None,
        actor=brief(step.actor, 40),
        type=step.action.type,
        tool=brief(step.action.tool or step.action.type, 60),
        line=line,
        failed=seen is not None and (bool(seen.error) or seen.exit_code not in (None, 0)),
        exit_code=seen.exit_code if seen else None,
        call=step.call_id,
        usage=step.usage,
        values=values,
        blocks=blocks,
        answered=seen is not None or step.action.type == "message",
        picture=shown,
        picture_note=note,
        same_picture=same,
        words=words.look(step.step, did, "\n".join(each.text.text for each in blocks if each.kind in ("out", "err"))),
    )


def _line(step: Step) -> str:
    args = step.action.args
    main = next((args[name] for name in _MAIN if isinstance(args.get(name), str)), None)
    if main is None or (step.action.type == "File" and "command" not in args):
        main = ", ".join(f"{brief(name, 40)} {brief(_written(value), 60)}" for name, value in list(args.items())[:8])
    return brief(main, _LINE)


def _is_long(name: str, value: object) -> bool:
    if isinstance(value, str):
        return name in _MAIN or len(value) > _VALUE or "\n" in value
    return isinstance(value, dict | list) and len(_written(value)) > _VALUE


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _label(step: Step, name: str) -> str:
    return "said" if step.action.type == "message" and name == "text" else brief(name, 60)


def _seen(seen: Observation | None) -> Iterator[tuple[str, str, str]]:
    if seen is None:
        return
    for label, kind, text in (
        ("standard output", "out", seen.stdout),
        ("standard error", "err", seen.stderr),
        ("answer", "out", seen.text),
        ("error", "err", seen.error),
    ):
        if text:
            yield label, kind, text
    if seen.text_regions:
        yield "text on the picture", "out", "\n".join(region.text for region in seen.text_regions[:1000])


class _Gallery:
    """The pictures of steps within their total. If there are too many, every k-th is shown, the last one for sure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first: dict[tuple[int, int], int] = {}
        sizes = _sizes(folder)
        total, stride = sum(sizes.values()), 1
        chosen: Sequence[str] = list(sizes)
        while total > PICTURE_BYTES and len(chosen) > 1:
            stride += 1
            chosen = list(sizes)[::-1][::stride]
            total = sum(sizes[name] for name in chosen)
        self._chosen = frozenset(chosen)
        self.note = (
            f"{len(chosen)} of {len(sizes)} pictures are shown, to keep the page small; all of them: traj/screenshots."
            if stride > 1
            else ""
        )

    def picture(self, step: int, name: str | None) -> tuple[Picture | None, str, int | None]:
        """The picture, or why there is none, or the earlier step that has the same one."""
        if name is None:
            return None, "", None
        where = brief(name, 120)
        try:
            with open_inside(self._folder, name) as file:
                status = os.fstat(file.fileno())
                same = self._first.get((status.st_dev, status.st_ino))
                if same is not None:
                    return None, "", same
                if name not in self._chosen:
                    return None, f"The picture is not shown, to keep the page small: {where}.", None
                if status.st_size > ONE_PICTURE_BYTES:
                    return None, f"The picture is not shown: it has {status.st_size:,} bytes ({where}).", None
                shown = picture(file.read(ONE_PICTURE_BYTES))
        except (Unreadable, NoPicture) as error:
            return None, f"The picture {where} is not shown: {error}.", None
        self._first[status.st_dev, status.st_ino] = step
        return shown, "", None


def _sizes(folder: Path) -> dict[str, int]:
    """Picture files in the order of their steps; the same picture (a link to it) counts once."""
    found: dict[str, int] = {}
    known: set[tuple[int, int]] = set()
    for entry in sorted((folder / "traj" / "screenshots").glob("step_*"), key=lambda path: (len(path.name), path.name)):
        status = entry.lstat()
        if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in known:
            known.add((status.st_dev, status.st_ino))
            found[f"traj/screenshots/{entry.name}"] = status.st_size
    return found
