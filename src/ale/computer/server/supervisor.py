"""The process between a handler and a command: the command's parent, its clock, and the end of its whole tree.

It adopts whatever the command leaves behind, so `setsid` and double forks don't lead away from it. The handler may be
stuck sending to a slow client or dead; the time limit holds all the same.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time

from . import processes, programs, users
from .faults import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .programs import Program
    from .state import State

END_SECONDS = 10.0
"""How long a tree may take to die. Only a process stuck in the kernel needs more than a moment."""

_MEMORY_TICK = 0.05
"""Seconds between two looks at a delivered program's memory: cheap, and too short to fill a machine in."""


def spawn(
    program: Program,
    state: State,
    stdio: tuple[int, int, int],
    drains: tuple[int, ...],
    seconds: float | None,
    *,
    terminal: bool = False,
) -> socket.socket:
    """Fork a supervisor that starts the program on `stdio`. Over the returned socket come JSON lines: one when it runs
    (or an error in its place), one when it ended. Closing the socket before that, or writing to it, ends the tree.

    drains: the handler's reading ends of the output; when the handler is done with the command, the supervisor keeps
    them empty for children that live on, so that printing doesn't kill them.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        processes.run_forked(lambda: _supervise(program, state, theirs, stdio, drains, seconds, terminal))
    theirs.close()
    return ours


def _supervise(
    program: Program,
    state: State,
    control: socket.socket,
    stdio: tuple[int, int, int],
    drains: tuple[int, ...],
    seconds: float | None,
    terminal: bool,
) -> None:
    _keep_only({control.fileno(), *stdio, *drains})
    processes.adopt_orphans()
    wake = _wake_on_child()
    begin = time.monotonic()
    try:
        pid = programs.start(program, state, stdio, terminal=terminal)
    except Exception as error:  # noqa: BLE001 - reported to the handler, which answers the client
        _say(control, {"fault": describe(error)})
        return
    for fd in set(stdio):
        os.close(fd)
    _say(control, {"pid": pid})
    deadline = None if seconds is None else begin + seconds
    memory = None if program.memory_mb is None else program.memory_mb * 2**20
    ended: dict[int, int] = {}
    cause = _watch(pid, control, wake, deadline, memory, ended)
    clean = cause == "" or _end_tree(program, state, ended)
    if pid not in ended and clean:
        raise RuntimeError("the command is gone but was never collected")
    _say(
        control,
        {
            "status": ended.get(pid, signal.SIGKILL),
            "cause": cause,
            "survivors": not clean,
            "duration": time.monotonic() - begin,
        },
    )
    if cause == "":
        _outlive(control, drains, wake)


def _end_tree(program: Program, state: State, ended: dict[int, int]) -> bool:
    """True when nothing of the command is left.

    A thousand busy processes that keep forking can outrun a look at each. Killing the whole user at once leaves them no
    way out: at once where a delivered program is all that the user runs, or in a crowd; else as the last resort.
    """
    apart = not (program.delivered or processes.crowded(state.limits["processes"]))
    if apart and processes.end_descendants(END_SECONDS, ended):
        return True
    return program.user != "root" and processes.end_children_of(users.UIDS[program.user], END_SECONDS, ended)


def _watch(
    pid: int,
    control: socket.socket,
    wake: int,
    deadline: float | None,
    memory: int | None,
    ended: dict[int, int],
) -> str:
    """Until the command ends by itself (""), or for the reason returned: `timeout`, `memory`, `abandoned`."""
    poll = select.poll()
    poll.register(control.fileno(), select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        processes.reap(ended)
        if pid in ended:
            return ""
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            return "timeout"
        if memory is not None and _memory_used() > memory:
            return "memory"
        wait = None if deadline is None else deadline - now
        if memory is not None:
            wait = _MEMORY_TICK if wait is None else min(wait, _MEMORY_TICK)
        for fd, _ in poll.poll(None if wait is None else wait * 1000 + 1):
            if fd == wake:
                os.read(wake, 512)
            elif fd == control.fileno():
                return "abandoned"


def _memory_used() -> int:
    """Bytes that the tree holds for itself: all resident pages but those of files."""
    total = 0
    for pid in processes.descendants(os.getpid()):
        fields = processes.status(pid)
        total += sum(int(fields[name].split()[0]) for name in (b"RssAnon", b"RssShmem") if name in fields)
    return total * 1024


def _outlive(control: socket.socket, drains: tuple[int, ...], wake: int) -> None:
    """Once the handler lets go, swallow what surviving children print, until the last of them closes its end."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.close(wake)
    while control.recv(64):
        pass
    control.close()
    poll = select.poll()
    for fd in drains:
        poll.register(fd, select.POLLIN)
    left = set(drains)
    processes.reap({})
    while left:
        for fd, _ in poll.poll():
            try:
                data = os.read(fd, 65536)
            except OSError:  # a terminal whose other end is closed reads as EIO
                data = b""
            if not data:
                poll.unregister(fd)
                left.discard(fd)


def _wake_on_child() -> int:
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def _say(control: socket.socket, message: dict[str, object]) -> None:
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except ConnectionError:
        return  # the handler is gone, and with it whoever wanted to know


def _keep_only(fds: set[int]) -> None:
    low = 3
    for fd in sorted(fd for fd in fds if fd >= 3):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
