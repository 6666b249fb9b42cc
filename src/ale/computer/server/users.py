"""Who is who in the machine, their login environment, and how a process becomes one of them."""

from __future__ import annotations

import os
import signal

from .faults import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import State

UIDS = {"root": 0, "display": 990, "agent": 1000}
AGENT = UIDS["agent"]
_HOMES = {"root": "/root", "display": "/run/ale/display", "agent": "/home/agent"}
_PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
_HARNESSES = "/opt/harness"


def home(user: str) -> str:
    return _HOMES[user]


def login_env(user: str, state: State) -> dict[str, str]:
    """A clean environment: nothing of the host's and nothing of the server's own."""
    path = "/usr/local/sbin:/usr/sbin:/sbin:" + _PROGRAMS if user == "root" else _PROGRAMS
    env = {
        "PATH": path + _harness_path(),
        "HOME": home(user),
        "LANG": "C.UTF-8",
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "TERM": "dumb",
    }
    if state.screen:
        env["DISPLAY"] = ":0"
    return env


def _harness_path() -> str:
    """Harness layers bring `bin` folders; they come last, so the machine's own programs keep their names."""
    try:
        names = sorted(os.listdir(_HARNESSES))
    except OSError:
        return ""
    return "".join(f":{_HARNESSES}/{name}/bin" for name in names if os.path.isdir(f"{_HARNESSES}/{name}/bin"))


class acting_as:  # noqa: N801 - reads as a verb: `with acting_as("agent"):`
    """File operations inside the block have the user's rights and no more. The real and saved uid stay root's, so the
    user can neither signal nor trace this process, and the freeze can tell it from the user's own."""

    def __init__(self, user: str) -> None:
        self._uid = UIDS[user]

    def __enter__(self) -> None:
        if self._uid:
            os.setgroups([self._uid])
            os.setegid(self._uid)
            os.seteuid(self._uid)

    def __exit__(self, *_: object) -> None:
        if self._uid:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups([])


_YIELDING = 10
"""Niceness of the agent's programs where the server could not be given more than its share."""


def become(user: str) -> None:
    """Turn this (freshly forked) process into the user's, for good.

    A thousand busy processes must not keep the server from ending them, so a provider starts it with the highest
    priority if it can; what it starts has the ordinary one.
    """
    uid = UIDS[user]
    preferred = os.getpriority(os.PRIO_PROCESS, 0) < 0
    os.setpriority(os.PRIO_PROCESS, 0, _YIELDING if uid == AGENT and not preferred else 0)
    os.setgroups([uid] if uid else [])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def default_signals() -> None:
    """Undo what pid 1 ignores, before exec: ignored signals and the mask are inherited by programs."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def limit_agent(state: State) -> None:
    """The start message's limits. Never RLIMIT_AS: Node reserves far more than it uses."""
    import resource

    limits = state.limits
    megabytes = limits["file_mb"]
    for which, value in (
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_FSIZE, None if megabytes is None else megabytes * 2**20),
        (resource.RLIMIT_CORE, 0),
    ):
        if value is not None:
            lower(which, value)


def lower(which: int, value: int) -> None:
    """Set both limits to `value` or to what is already enforced, whichever is less."""
    import resource

    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def check_user(name: str) -> str:
    if name not in UIDS:
        raise Fault("invalid", f"there is no user {name!r}; there are {', '.join(UIDS)}")
    return name


def check_not_frozen(user: str, state: State) -> None:
    if UIDS[user] == AGENT and state.frozen:
        raise Fault("frozen", "the machine is frozen: nothing runs as the agent any more", 409)
