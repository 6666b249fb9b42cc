"""The walls around a worker process: bubblewrap with an allow-list of read-only paths, no network, no capabilities."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
_ETC = (
    "ld.so.cache",
    "ssl",
    "ca-certificates",
    "passwd",
    "group",
    "nsswitch.conf",
    "localtime",
    "alternatives",
    "fonts",
)
_PROC_COVERS = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""bubblewrap covers these only where it may not write them; started by root it may, and so could what it starts."""

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - private there


def confined(
    command: Sequence[str], *, readable: Sequence[Path], masked: Sequence[Path] = (), late: Sequence[Path] = ()
) -> list[str]:
    """`command` behind bubblewrap, or as it is where `walls()` is None.

    readable: paths of the host that exist inside too, read-only. masked: directories of these that are empty inside.
    late: readable paths that may lie below masked ones.
    """
    program = walls()
    if program is None:
        return list(command)
    arguments = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        arguments += ["--setenv", name, value]
    arguments += _system()
    arguments += ["--proc", "/proc"]
    for name in _PROC_COVERS:
        if Path("/proc", name).exists():
            arguments += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    arguments += ["--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108
    for path in _outermost(readable):
        arguments += ["--ro-bind", str(path), str(path)]
    for path in masked:
        arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for path in late:
        arguments += ["--ro-bind", str(path), str(path)]
    return [*arguments, "--chdir", "/tmp", "--", *command]  # noqa: S108


@functools.cache
def walls() -> str | None:
    """bubblewrap's path if it works for this user, tried once per process; else None."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    trial = [program, "--unshare-all", "--die-with-parent", *_system(), "--proc", "/proc", "--", "/usr/bin/env", "true"]
    try:
        done = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if done.returncode == 0 else None


def interpreter_paths() -> tuple[Path, ...]:
    """What the running Python needs to be started again with the same modules."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent.parent)]
    return tuple(Path(place) for place in dict.fromkeys([*places, *module_paths()]) if Path(place).exists())


def module_paths() -> tuple[str, ...]:
    """sys.path, absolute, without the current directory."""
    return tuple(os.path.abspath(entry) for entry in sys.path if entry)  # noqa: PTH100 - links stay as they are named


def _system() -> list[str]:
    arguments: list[str] = []
    for place in map(Path, _SYSTEM):
        if place.is_symlink():
            arguments += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            arguments += ["--ro-bind", str(place), str(place)]
    for name in _ETC:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Parents first; what lies below another, or in /usr, comes with it."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if (
            path.exists()
            and not path.is_relative_to("/usr")
            and not any(path.is_relative_to(parent) for parent in kept)
        ):
            kept.append(path)
    return kept
