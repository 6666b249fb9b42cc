"""What a local sandbox needs of this machine, each tried rather than assumed, each with its mend.

Nothing weaker runs where something is missing: there is either a sandbox as designed or a sentence that says why not.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ale.errors import SandboxUnavailable
from ale.sandbox.finding import Finding
from ale.sandbox.local import cgroups, seccomp, userns
from ale.sandbox.local.apt import own_sources
from ale.sandbox.local.box import Box
from ale.sandbox.local.disk import FLOOR_MB
from ale.sandbox.local.idmap import IdRange, find_range
from ale.sandbox.local.launch import Overlay, Program, launch, mount_point
from ale.sandbox.local.mapped import remove_tree, run_mapped, tool
from ale.sandbox.local.state import State

_OLDEST_BUBBLEWRAP = (0, 6)
"""The first with `--size`; 0.8.0, which Debian 12 has, is what was measured."""

_PROBE_BOUND = 60.0


def findings(state: State) -> list[Finding]:
    """Blocks for about a second; makes and removes one probe directory in the state."""
    found = [_system_calls(), _bubblewrap(), _namespaces()]
    ids, id_range = _id_range()
    found.append(id_range)
    found.append(_disk(state))
    if ids is not None and all(finding.ok for finding in found[:4]):
        found += [_overlay(state, ids), _whole(ids)]
    found += [_mmdebstrap(), _apt(), _limits()]
    return found


def _system_calls() -> Finding:
    return _tried("system call filter", "run", lambda: (seccomp.program(), f"known for {platform.machine()}")[1])


def _bubblewrap() -> Finding:
    mend = "as root: apt-get install bubblewrap"
    path = shutil.which("bwrap")
    if path is None:
        return Finding("bubblewrap", "run", False, "the program bwrap is missing", mend)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", timeout=30)
    match = re.search(r"(\d+)\.(\d+)", done.stdout)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST_BUBBLEWRAP:
        return Finding("bubblewrap", "run", False, f"{done.stdout.strip()} is older than 0.6", mend)
    return Finding("bubblewrap", "run", True, done.stdout.strip())


def _namespaces() -> Finding:
    why, _, mend = userns.forbidden().partition("; ")
    return Finding("user namespaces", "run", not why, why or "no switch forbids them", mend)


def _id_range() -> tuple[IdRange | None, Finding]:
    try:
        ids = find_range()
        run_mapped([tool("true")], ids, timeout=_PROBE_BOUND)
    except SandboxUnavailable as error:
        why, _, mend = str(error).partition("; ")
        return None, Finding("user id range", "run", False, why, mend)
    return ids, Finding("user id range", "run", True, f"host ids from {ids.uid} were mapped")


def _overlay(state: State, ids: IdRange) -> Finding:
    def attempt() -> str:
        with _probe(state, ids) as place:
            (place / "lower").mkdir(mode=0o755)
            (place / "lower" / "seen").write_text("through the overlay", encoding="ascii")
            (place / "disk").mkdir()
            (place / "disk").chmod(0o777)
            program = Program(
                (tool("cat"), f"{mount_point()}/seen"), overlay=Overlay((place / "lower",), place / "disk")
            )
            if _run(program, ids) != b"through the overlay":
                raise SandboxUnavailable(
                    "an overlay was mounted but shows nothing; a kernel of 5.11 or newer is needed"
                )
            return "an overlay was mounted in a user namespace"

    return _tried("overlay file system", "run", attempt)


def _whole(ids: IdRange) -> Finding:
    def attempt() -> str:
        box = Box(mount="/", hostname="probe", first=False)
        program = Program((tool("bwrap"), *box.arguments((tool("true"),))), seccomp=seccomp.program())
        _run(program, ids)
        return "bubblewrap started a command as mapped root, without network"

    return _tried("sandbox", "run", attempt)


def _disk(state: State) -> Finding:
    def attempt() -> str:
        state.prepare()
        free = state.free_mb()
        if free < FLOOR_MB:
            raise SandboxUnavailable(
                f"{free} MB are free in {state.root}, {FLOOR_MB} MB are left to the host; "
                "free space (`ale sandbox gc`) or set ALE_HOME elsewhere"
            )
        return f"{free} MB are free in {state.root}"

    return _tried("disk", "run", attempt)


def _mmdebstrap() -> Finding:
    return _tried("mmdebstrap", "build", lambda: tool("mmdebstrap"))


def _apt() -> Finding:
    return _tried("package archive", "build", lambda: f"this machine's own apt sources have {own_sources().suite}")


def _limits() -> Finding:
    hierarchy = cgroups.find_hierarchy()
    missing = [name for name in ("memory", "pids", "cpu") if not hierarchy.has(name)]
    if missing:
        why = f"no control group for {', '.join(missing)} can be made here, so that is limited less strictly"
        return Finding("control groups", "limits", False, why, "run as root, or in a session that systemd delegates")
    return Finding("control groups", "limits", True, f"{hierarchy.name}: memory, pids, cpu")


def _tried(name: str, needed_for: str, attempt: Callable[[], str]) -> Finding:
    try:
        return Finding(name, needed_for, True, attempt())
    except SandboxUnavailable as error:
        why, _, mend = str(error).partition("; ")
        return Finding(name, needed_for, False, why, mend)


def _run(program: Program, ids: IdRange) -> bytes:
    with launch(program, ids, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=_PROBE_BOUND)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        words = err.decode("utf-8", errors="replace").strip()[-300:]
        raise SandboxUnavailable(f"{Path(program.argv[0]).name} failed: {words}; see docs/sandboxes.md")
    return out


@contextmanager
def _probe(state: State, ids: IdRange) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix=".probe-", dir=state.root))
    try:
        yield place
    finally:
        remove_tree(place, ids)
