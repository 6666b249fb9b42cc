"""Find workflows below a directory, and choose instances by pattern. Nothing of a task is imported here."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from ale.documents import nearest
from ale.errors import TaskError, UsageError
from ale.task.card import Card, read_card

Folder = Literal["input", "software", "reference"]

_CACHES = frozenset(
    {"__pycache__", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".DS_Store"}
)


@dataclass(frozen=True)
class Workflow:
    """One folder with a main.py and a card. name: `<cluster>/<workflow>`; root: the directory it was found below."""

    root: Path
    folder: Path
    card: Card

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def main(self) -> Path:
        return self.folder / "main.py"

    @cached_property
    def digest(self) -> str:
        """SHA-256 over paths, executable bits and contents of the folder's files, caches left out."""
        return content_digest(self.folder)

    def folder_of(self, kind: Folder, instance: str) -> Path | None:
        """`<kind>/<instance>/` if there is one, else the whole of `<kind>/`, else None."""
        whole = self.folder / kind
        own = whole / instance
        if own.is_dir():
            return own
        return whole if whole.is_dir() else None

    def folder_problem(self, instances: Sequence[str]) -> str:
        """Why the folders of the instances can't be meant so, in one sentence; empty when they can.

        Where some instances have a folder of their own, one that has none would get all of the others' too.
        """
        for kind in get_args(Folder):
            whole = self.folder / kind
            own = [name for name in instances if (whole / name).is_dir()]
            lacking = [name for name in instances if name not in own]
            if own and lacking:
                folders = sorted(entry.name for entry in whole.iterdir() if entry.is_dir() and entry.name not in own)
                near = f" (there is {', '.join(folders[:3])})" if folders else ""
                found = f"{whole} has a folder for {own[0]} but none for {lacking[0]}{near}"
                return f"{found}; give one to every instance, or to none"
        return ""


@dataclass(frozen=True)
class Broken:
    """A folder that looks like a workflow and is none. problem: one sentence with file and line."""

    name: str
    folder: Path
    problem: str


@dataclass(frozen=True)
class Catalogue:
    root: Path
    workflows: tuple[Workflow, ...]
    broken: tuple[Broken, ...]

    def workflow(self, name: str) -> Workflow:
        """Raises UsageError that names the nearest workflow, or what is broken about this one."""
        for workflow in self.workflows:
            if workflow.name == name:
                return workflow
        for broken in self.broken:
            if broken.name == name:
                raise UsageError(f"task {name} is broken: {broken.problem}")
        names = tuple(workflow.name for workflow in self.workflows)
        raise UsageError(f"there is no task '{name}' in {self.root}{nearest(name, names)}")


def discover(root: Path) -> Catalogue:
    """Every `<cluster>/<workflow>/main.py` below `root`, by name. Raises UsageError if `root` is no directory."""
    if not root.is_dir():
        raise UsageError(f"there is no task directory {root}; name another with --tasks-dir")
    root = root.resolve()
    workflows: list[Workflow] = []
    broken: list[Broken] = []
    for main in sorted(root.glob("*/*/main.py")):
        folder = main.parent
        if folder.name.startswith((".", "_")):
            continue
        try:
            workflows.append(Workflow(root, folder, read_card(folder / "task.yaml")))
        except TaskError as error:
            broken.append(Broken(f"{folder.parent.name}/{folder.name}", folder, str(error)))
    for card in sorted(root.glob("*/*/task.yaml")):
        folder = card.parent
        if not (folder / "main.py").exists() and not folder.name.startswith((".", "_")):
            problem = f"{folder} has a task.yaml but no main.py"
            broken.append(Broken(f"{folder.parent.name}/{folder.name}", folder, problem))
    return Catalogue(root, tuple(workflows), tuple(broken))


@dataclass(frozen=True)
class Pattern:
    """`computing_math/*` or `computing_math/etl_repair:instance2`; without `:` every instance is meant."""

    workflow: str
    instance: str

    @classmethod
    def parse(cls, text: str) -> Pattern:
        workflow, _, instance = text.strip().partition(":")
        if not workflow:
            raise UsageError(f"'{text}' is no task pattern; write cluster/workflow or cluster/workflow:instance")
        return cls(workflow, instance or "*")

    def __str__(self) -> str:
        return self.workflow if self.instance == "*" else f"{self.workflow}:{self.instance}"


def matching(catalogue: Catalogue, patterns: Sequence[str]) -> dict[Workflow, tuple[Pattern, ...]]:
    """The workflows that the patterns name, with the patterns that name each. Instances are chosen by `choose`.

    Raises UsageError for a pattern that names no workflow: a typo must not shrink an exam in silence.
    """
    chosen: dict[Workflow, tuple[Pattern, ...]] = {}
    for pattern in map(Pattern.parse, patterns):
        found = [workflow for workflow in catalogue.workflows if fnmatch.fnmatchcase(workflow.name, pattern.workflow)]
        if not found:
            for broken in catalogue.broken:
                if fnmatch.fnmatchcase(broken.name, pattern.workflow):
                    raise UsageError(f"task {broken.name} is broken: {broken.problem}")
            names = tuple(workflow.name for workflow in catalogue.workflows)
            if not names:
                raise UsageError(
                    f"there is no task in {catalogue.root}: a task is a folder CLUSTER/NAME with task.yaml and main.py "
                    "(`ale task new` makes one)"
                )
            raise UsageError(f"no task in {catalogue.root} matches '{pattern}'{nearest(pattern.workflow, names)}")
        for workflow in found:
            chosen[workflow] = (*chosen.get(workflow, ()), pattern)
    return chosen


def choose(workflow: Workflow, patterns: Sequence[Pattern], instances: Sequence[str]) -> tuple[str, ...]:
    """The instances of one workflow that its patterns name, in the workflow's order. Raises UsageError for none."""
    wanted: set[str] = set()
    for pattern in patterns:
        found = [name for name in instances if fnmatch.fnmatchcase(name, pattern.instance)]
        if not found:
            raise UsageError(
                f"{workflow.name} has no instance '{pattern.instance}'{nearest(pattern.instance, instances)}"
            )
        wanted.update(found)
    return tuple(name for name in instances if name in wanted)


def content_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for relative, path in _files(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        executable = "x" if path.stat().st_mode & 0o111 else "-"
        digest.update(f"{relative}\0{executable}{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    found = [path for path in folder.rglob("*") if path.is_file() and not _CACHES & set(path.relative_to(folder).parts)]
    return ((path.relative_to(folder).as_posix(), path) for path in sorted(found) if not _is_leftover(path.name))


def _is_leftover(name: str) -> bool:
    return re.search(r"\.(pyc|pyo|swp|tmp)$|~$", name) is not None
