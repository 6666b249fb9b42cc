"""The range of host user ids that the users inside sandboxes are mapped to.

Root inside is an unprivileged id of the host; so are the agent and the display. Host root may map any range; an
ordinary user has one in /etc/subuid and /etc/subgid and lets `newuidmap` and `newgidmap` write it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ale.errors import SandboxUnavailable

COUNT = 65536

ROOT_START = 900_000
"""First host id when root makes sandboxes: above what useradd hands out as subordinate ids on common systems' defaults
for a few users, and owned by nobody."""


@dataclass(frozen=True)
class IdRange:
    uid: int
    gid: int
    privileged: bool

    def host_uid(self, inside: int) -> int:
        return self.uid + inside

    def map(self, pid: int, *, own: bool = False) -> None:
        """Map the range into the user namespace of a process. own: map this user's own id too, so that the mapped root
        may work in directories that belong to this user; never done for a sandbox."""
        if self.privileged:
            for kind, start in (("uid", self.uid), ("gid", self.gid)):
                Path(f"/proc/{pid}/{kind}_map").write_text(f"0 {start} {COUNT}\n", encoding="ascii")
            return
        for kind, start, mine in (("uid", self.uid, os.geteuid()), ("gid", self.gid, os.getegid())):
            words = ["0", str(start), str(COUNT)] + ([str(COUNT), str(mine), "1"] if own else [])
            command = [f"new{kind}map", str(pid), *words]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30)
            if done.returncode != 0:
                raise SandboxUnavailable(
                    f"{command[0]} refused to map the ids {start}-{start + COUNT - 1}: {done.stderr.strip()}; "
                    f"see /etc/sub{kind} and that {command[0]} is setuid root"
                )


def find_range() -> IdRange:
    """Raises SandboxUnavailable with the mend when this user has no range."""
    if os.geteuid() == 0:
        for kind in ("uid", "gid"):
            if not _covers(Path(f"/proc/self/{kind}_map").read_text(encoding="ascii"), ROOT_START, COUNT):
                raise SandboxUnavailable(
                    f"this is root of a container that has no {kind}s {ROOT_START}-{ROOT_START + COUNT - 1}; "
                    "run it with the host's user namespace, or as an ordinary user with a range in /etc/subuid"
                )
        return IdRange(ROOT_START, ROOT_START, privileged=True)
    name = _user_name(os.geteuid())
    starts = {kind: _subordinate(Path(f"/etc/sub{kind}"), name, os.geteuid()) for kind in ("uid", "gid")}
    for kind, start in starts.items():
        if start is None:
            raise SandboxUnavailable(
                f"user {name} has no {COUNT} subordinate ids in /etc/sub{kind}; as root: "
                f"usermod --add-sub{kind}s 200000-{200000 + COUNT - 1} {name}"
            )
    if shutil.which("newuidmap") is None or shutil.which("newgidmap") is None:
        raise SandboxUnavailable("newuidmap and newgidmap are missing; as root: apt-get install uidmap")
    return IdRange(starts["uid"] or 0, starts["gid"] or 0, privileged=False)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _subordinate(path: Path, name: str, number: int) -> int | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return None
    for line in lines:
        owner, _, rest = line.strip().partition(":")
        start, _, count = rest.partition(":")
        if owner in (name, str(number)) and start.isdigit() and count.isdigit() and int(count) >= COUNT:
            return int(start)
    return None


def _covers(id_map: str, start: int, count: int) -> bool:
    for line in id_map.splitlines():
        inside, _, length = (int(word) for word in line.split())
        if inside <= start and start + count <= inside + length:
            return True
    return False
