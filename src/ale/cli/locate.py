"""From what a person types to a run folder: a path, or the first digits of a run's id."""

from __future__ import annotations

from pathlib import Path

from ale.documents import nearest
from ale.errors import UsageError
from ale.exam.folder import RESULT, find_runs, read_result
from ale.exam.result import RunResult

_LEVELS = 5
"""Folders from an experiment to its runs: agent, cluster, workflow, instance, attempt."""


def is_run(folder: Path) -> bool:
    return (folder / "events.jsonl").is_file() or (folder / RESULT).is_file()


def runs_in(folder: Path) -> list[Path]:
    """The runs of an experiment, or of the part of one that the folder is."""
    return next((found for depth in range(1, _LEVELS + 1) if (found := find_runs(folder, depth))), [])


def experiments_in(results: Path) -> list[Path]:
    if not results.is_dir():
        return []
    return [folder for folder in sorted(results.iterdir()) if folder.is_dir() and find_runs(folder)]


def locate(name: str, results: Path) -> Path:
    """A run folder, or a folder with runs below it. Raises UsageError that says where was looked."""
    path = Path(name)
    if path.is_dir():
        if is_run(path):
            return path.resolve()
        found = runs_in(path)
        if found:
            return (found[0] if len(found) == 1 and not find_runs(path) else path).resolve()
        raise UsageError(f"{path} holds no run; give a run folder, an experiment folder, or a run's id")
    if not results.is_dir():
        raise UsageError(f"there is no run '{name}': no folder of that name, and no {results} to look for its id in")
    if (results / name).is_dir() and find_runs(results / name):
        return (results / name).resolve()
    experiments = experiments_in(results)
    if len(name) >= 4 and name.isalnum():
        matches = [
            folder
            for experiment in experiments
            for folder in find_runs(experiment)
            if (result := read_result(folder)) is not None and result.id.startswith(name)
        ]
        if len(matches) == 1:
            return matches[0].resolve()
        if matches:
            raise UsageError(f"'{name}' is the beginning of {len(matches)} runs' ids; type more of it")
    near = nearest(name, [experiment.name for experiment in experiments][-20:])
    raise UsageError(f"there is no run or experiment '{name}' in {results}{near}; `ale show` lists them")


def locate_run(name: str, results: Path) -> Path:
    """One run's folder. Raises UsageError for anything else."""
    folder = locate(name, results)
    if not is_run(folder):
        raise UsageError(f"{shown(folder)} holds several runs; name one of them (ale show {shown(folder)})")
    return folder


def finished(folder: Path) -> RunResult:
    """The run's result. Raises UsageError while there is none."""
    result = read_result(folder)
    if result is None:
        raise UsageError(
            f"{shown(folder)} has no result yet: it is under way, or its command was killed; "
            f"see how far it came: ale logs {shown(folder)}"
        )
    return result


def shown(path: Path) -> str:
    """Relative to where the user stands, when it is below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
