"""Files of the host that belong to mapped ids: made, measured and removed by the host's tools as the mapped root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ale.errors import SandboxUnavailable
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.launch import Program, launch


def run_mapped(
    argv: Sequence[str],
    ids: IdRange,
    *,
    cwd: Path | None = None,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.PIPE,
    timeout: float = 600.0,
    accept: tuple[int, ...] = (0,),
) -> bytes:
    """Run a tool of the host as the mapped root and return its stdout; for files that belong to mapped ids.

    Raises SandboxUnavailable with the tool's last words when it fails.
    """
    program = Program(argv=tuple(argv), env={"PATH": os.defpath, "LANG": "C.UTF-8"}, cwd=cwd)
    process = launch(program, ids, own=True, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
    with process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if process.returncode not in accept:
        words = err.decode("utf-8", errors="replace").strip()[-400:]
        raise SandboxUnavailable(f"{Path(argv[0]).name} failed with exit code {process.returncode}: {words}")
    return out or b""


def tool(name: str) -> str:
    """Absolute path of a program of the host. Raises SandboxUnavailable with the mend."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if path is None:
        package = {"bwrap": "bubblewrap", "newuidmap": "uidmap"}.get(name, name)
        raise SandboxUnavailable(f"the program {name} is missing; as root: apt-get install {package}")
    return path


def make_directory(path: Path, ids: IdRange) -> None:
    """An empty directory that belongs to the mapped root."""
    path.mkdir(mode=0o755)
    if ids.privileged:
        os.chown(path, ids.uid, ids.gid)
    else:
        run_mapped([tool("chown"), "0:0", "."], ids, cwd=path)


def remove_tree(path: Path, ids: IdRange) -> None:
    """No error if it is not there; never leaves the file system that `path` is on."""
    if not os.path.lexists(path):
        return
    command = [tool("rm"), "-rf", "--one-file-system", "--", path.name]
    if ids.privileged:
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise SandboxUnavailable(f"{path} can't be removed: {done.stderr.strip()[-400:]}")
    else:
        run_mapped(command, ids, cwd=path.parent)


def tree_mb(path: Path, ids: IdRange) -> int:
    """Blocks that a tree takes on disk."""
    command = [tool("du"), "--summarize", "--one-file-system", "--block-size=1M", "--", path.name]
    if ids.privileged:
        # files that vanish while they are counted are no failure
        out = subprocess.run(command, cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    else:
        out = run_mapped(command, ids, cwd=path.parent, accept=(0, 1))
    first = out.split(None, 1)
    return int(first[0]) if first else 0
