"""From what a person types to a run folder: a path, or the first digits of a run's id."""

from __future__ import annotations

from pathlib import Path

from ale.errors import UsageError
from ale.exam.folder import RESULT, find_runs, read_result


def is_run(folder: Path) -> bool:
    return (folder / "events.jsonl").is_file() or (folder / RESULT).is_file()


def locate(name: str, results: Path) -> Path:
    """A run folder or an experiment folder. Raises UsageError that says where was looked."""
    path = Path(name)
    if path.is_dir():
        if is_run(path) or find_runs(path):
            return path.resolve()
        raise UsageError(f"{path} holds no run; give a run folder, an experiment folder, or a run's id")
    if not results.is_dir():
        raise UsageError(f"there is no run '{name}': no folder of that name, and no {results} to look for its id in")
    if (results / name).is_dir() and find_runs(results / name):
        return (results / name).resolve()
    if len(name) >= 4 and name.isalnum():
        matches = [
            folder
            for experiment in sorted(results.iterdir())
            for folder in find_runs(experiment)
            if (result := read_result(folder)) is not None and result.id.startswith(name)
        ]
        if len(matches) == 1:
            return matches[0].resolve()
        if matches:
            raise UsageError(f"'{name}' is the beginning of {len(matches)} runs' ids; type more of it")
    raise UsageError(f"there is no run '{name}' in {results}; `ale show {results}/EXPERIMENT` lists the runs")
