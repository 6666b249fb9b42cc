"""What the agent's user leaves in places that outlive a case: a delivered program must not leave notes for its next."""

from __future__ import annotations

import os

from . import trees, users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = (b"/tmp", b"/var/tmp", b"/dev/shm", b"/run/lock", b"/home/agent")


def look() -> set[bytes]:
    """Every path in these places."""
    return {os.fsencode(entry.path) for place in _PLACES for entry in _below(place)}


def remove_new(before: set[bytes]) -> None:
    """Delete what the user owns and was not there before. Nothing of the user may run meanwhile. What it wrote into
    files that were there stays."""
    new = [
        os.fsencode(entry.path)
        for place in _PLACES
        for entry in _below(place, enter=before)
        if os.fsencode(entry.path) not in before and entry.stat(follow_symlinks=False).st_uid == users.AGENT
    ]
    for path in new:
        trees.delete(path)


def _below(place: bytes, enter: set[bytes] | None = None) -> Iterator[os.DirEntry[bytes]]:
    """enter: the only directories that are looked into; all when None."""
    todo = [place]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue  # no such place here, or deeper than a path can say
        for entry in entries:
            yield entry
            path = os.fsencode(entry.path)
            if entry.is_dir(follow_symlinks=False) and (enter is None or path in enter):
                todo.append(path)
