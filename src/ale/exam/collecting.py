"""What the agent left behind becomes a file tree on the host with a manifest; nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ale.computer.session import Collected, Session, TreeLimits
from ale.exam.folder import tree_digest, write_whole

_BLOCK = 4096


@dataclass(frozen=True)
class Artifacts:
    """folder: the tree on the host. delivered: what counts as the agent's output (relative path → size in bytes);
    staged inputs that did not change are in the tree, but don't count."""

    folder: Path
    collected: Collected
    delivered: Mapping[str, int]
    digest: str

    @property
    def room_mb(self) -> int:
        """What the tree takes in another machine at most: hard links and holes are files there like any other."""
        blocks = sum(-(-file.size // _BLOCK) for file in self.collected.files) + len(self.collected.directories)
        return -(-blocks * _BLOCK // 2**20)


async def collect(
    session: Session, workspace: str, folder: Path, baseline: Mapping[str, str], disk_mb: int
) -> Artifacts:
    """Stream `workspace` out of the machine into `folder`/output and write `folder`/manifest.json beside it.

    disk_mb: the machine's disk; more than that can only be the same bytes under many names, or none at all.
    baseline: machine path → SHA-256 of what lay in the workspace before the agent began.
    """
    target = folder / "output"
    try:
        limits = TreeLimits(total_bytes=min(TreeLimits.total_bytes, disk_mb * 2**20))
        collected = await session.download(workspace, target, limits=limits)
    except FileNotFoundError:  # the agent removed the directory itself: it left nothing
        target.mkdir(parents=True, exist_ok=True)
        collected = Collected((), (), ())
    delivered = {
        file.path: file.size
        for file in collected.files
        if baseline.get(f"{workspace.rstrip('/')}/{file.path}") != file.sha256
    }
    digest = tree_digest({file.path: file.sha256 for file in collected.files})
    write_whole(folder / "manifest.json", json.dumps(_manifest(workspace, collected, delivered), indent=1).encode())
    return Artifacts(target, collected, delivered, digest)


def _manifest(workspace: str, collected: Collected, delivered: Mapping[str, int]) -> dict[str, Any]:
    return {
        "schema": "ale.manifest/1",
        "root": workspace,
        "files": [asdict(file) | {"delivered": file.path in delivered} for file in collected.files],
        "directories": list(collected.directories),
        "refused": [asdict(refusal) for refusal in collected.refused],
    }
