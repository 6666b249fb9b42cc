"""Reads from a run folder as if an enemy had written it: no links, no pipes, never more than was asked for."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO


class Unreadable(Exception):
    """A file of the run folder is not there or is not what it should be; the message is for the page."""


def open_inside(root: Path, name: str) -> BinaryIO:
    """The regular file `name` (relative, `/`-separated) below `root`, reached without following any link below it.

    Raises Unreadable."""
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Unreadable("this is not the name of a file in the run folder")
    try:
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        for part in parts[:-1]:
            at = _step(at, part, os.O_DIRECTORY)
        file = _step(at, parts[-1], os.O_NONBLOCK)
    except (OSError, UnicodeEncodeError) as error:
        reason = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else "no such name"
        raise Unreadable(f"it can't be opened: {reason}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise Unreadable("it is not a regular file")
    return os.fdopen(file, "rb")


def _step(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=directory)
    finally:
        os.close(directory)


def read_inside(root: Path, name: str, most: int) -> bytes:
    """At most `most` bytes of it. Raises Unreadable."""
    with open_inside(root, name) as file:
        return file.read(most)


def read_json(root: Path, name: str, most: int = 128 * 2**20) -> Any:
    """Raises Unreadable, also for what is no JSON."""
    try:
        with open_inside(root, name) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise Unreadable(f"{name} is larger than {most // 2**20} MB")
            return json.loads(file.read(most))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name} is damaged: {error}") from None


def tail(root: Path, name: str, most: int) -> tuple[str, int]:
    """The last `most` bytes as text, and the size of the whole. Raises Unreadable."""
    with open_inside(root, name) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - most))
        return file.read(most).decode("utf-8", errors="replace"), size
