"""Whether the kernel lets this user make user namespaces, by the switches that systems have for it."""

from __future__ import annotations

import os
from pathlib import Path


def forbidden(proc: Path = Path("/proc"), user: int | None = None) -> str:
    """Why not and what to do, or nothing when no switch forbids it. Root is bound by the first one alone."""
    if _read(proc / "sys/user/max_user_namespaces") == 0:
        return "user namespaces are switched off; as root: sysctl -w user.max_user_namespaces=15000"
    if (os.geteuid() if user is None else user) == 0:
        return ""
    if _read(proc / "sys/kernel/unprivileged_userns_clone") == 0:
        return "only root may make user namespaces here; as root: sysctl -w kernel.unprivileged_userns_clone=1"
    if _read(proc / "sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        return (
            "AppArmor keeps ordinary users from user namespaces; as root: "
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return ""


def _read(path: Path) -> int | None:
    """None where the kernel has no such switch."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None
