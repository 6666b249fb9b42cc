"""The run folder: its final name from the start, and complete once run_result.json has been renamed into it."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ale.errors import UsageError
from ale.exam.result import RunResult
from ale.replacing import replacing

RESULT = "run_result.json"
_OUTSIDE_TRIES = ("tries", "grades", ".lock")


def write_whole(path: Path, data: bytes) -> None:
    """Readers see the old file, or the new one, never half of it. Parents are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(data)


def write_record(path: Path, record: BaseModel) -> None:
    write_whole(path, record.model_dump_json(indent=2, by_alias=True).encode() + b"\n")


def tree_digest(files: Mapping[str, str]) -> str:
    """What names a tree's content, given the SHA-256 of each file by its path."""
    return hashlib.sha256("".join(f"{path}\0{files[path]}\n" for path in sorted(files)).encode()).hexdigest()


def read_result(folder: Path) -> RunResult | None:
    """The result of a run, or None while it is not complete. Raises UsageError for a file that is no result."""
    path = folder / RESULT
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return RunResult.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise UsageError(f"{path} is not a run result: {problem['loc']}: {problem['msg']}") from None


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Hold the run folder for this process; yields False when another living process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def set_aside(folder: Path) -> int:
    """Move what an earlier try left into tries/N, so that the next try starts in an empty folder. Returns N, or 0 when
    there was nothing."""
    left = [entry for entry in folder.iterdir() if entry.name not in _OUTSIDE_TRIES] if folder.is_dir() else []
    if not left:
        return 0
    tries = folder / "tries"
    number = 1 + max((int(entry.name) for entry in tries.glob("[0-9]*")), default=0)
    target = tries / str(number)
    target.mkdir(parents=True)
    for entry in left:
        shutil.move(entry, target / entry.name)
    return number


def find_runs(root: Path, depth: int = 5) -> list[Path]:
    """Every run folder of the experiment folder `root`, complete or not, attempt 10 after attempt 9. depth: how many
    folders below `root` a run is; fewer than 5 inside an experiment."""
    found = (events.parent for events in root.glob("[!.]*/" + "*/" * (depth - 1) + "events.jsonl"))
    return sorted(found, key=lambda folder: [_natural(part) for part in folder.relative_to(root).parts])


def _natural(part: str) -> tuple[int, int, str]:
    return (0, int(part), "") if part.isdigit() else (1, 0, part)
