"""What sandboxes leave on this host."""

import os
from pathlib import Path

from ale.sandbox.local.state import State


async def local_leftovers() -> list[str]:
    """Everything that carries a sandbox's id: directories, disks and control groups (which can't be removed while a
    process of the sandbox is left)."""
    state = State.of(os.environ)
    folders = [state.sandboxes, state.disks, *Path("/sys/fs/cgroup").glob("*"), Path("/sys/fs/cgroup")]
    return [str(path) for folder in folders if folder.is_dir() for path in folder.iterdir()]
