"""Looking at and ending processes: by descent (a command's tree) and by user (the freeze)."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_libc = ctypes.CDLL(None, use_errno=True)

KILLER = 61991
"""Real uid of the process that kills by user: one that nobody has, so neither side of it can be signalled back."""


def prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def be_undumpable() -> None:
    prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Descendants whose parents die become children of this process instead of pid 1's."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def run_forked(work: Callable[[], None]) -> NoReturn:
    """The life of a forked child: do the work and end, never return into the parent's code."""
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the boundary: told to the server's stderr, seen by the parent as exit 1
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def crowded(limit: int | None) -> bool:
    """Whether there are so many processes, of those that the agent may have, that a look at each would take too long:
    on a busy machine this process gets a thousandth of a core."""
    return limit is not None and len(pids()) > limit * 3 // 4


def parents() -> dict[int, int]:
    """pid → parent of every process. The name field may hold spaces and brackets, so look from its end."""
    found = {}
    for pid in pids():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                found[pid] = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue  # ended between listing and reading
    return found


def descendants(ancestor: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [ancestor]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def end_descendants(seconds: float, ended: dict[int, int]) -> bool:
    """End every descendant of this process, which must adopt orphans. True when none is left. The wait statuses of the
    children that were collected meanwhile go into `ended`.

    Stop first, kill when all stand still: a stopped process keeps its place under the process limit, so even a fork
    bomb runs out of room, while killing at once would make room for the next generation.
    """
    deadline = time.monotonic() + seconds
    while reap(ended) and time.monotonic() < deadline:
        stopped: set[int] = set()
        while time.monotonic() < deadline:
            fresh = set(descendants(os.getpid())) - stopped
            if not fresh:
                break
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            stopped |= fresh
        for pid in stopped:
            send(pid, signal.SIGKILL)
        wait_for_ends(stopped, deadline)
    return not reap(ended)


def end_children_of(uid: int, seconds: float, ended: dict[int, int]) -> bool:
    """End every process of the user; True when no descendant of this process, which must adopt orphans, is left."""
    deadline = time.monotonic() + seconds
    while reap(ended) and time.monotonic() < deadline:
        left = descendants(os.getpid())
        kill_user(uid, left)
        wait_for_ends(left, deadline)
    return not reap(ended)


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def reap(ended: dict[int, int]) -> bool:
    """Collect ended children; whether any child is left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = status
    except ChildProcessError:
        return False
    return True


def wait_for_ends(of: set[int] | list[int], deadline: float) -> None:
    """Until these processes have ended (zombies count as ended) or the deadline has passed."""
    for pid in of:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue  # gone
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        os.close(handle)


def of_user(uid: int) -> dict[int, str]:
    """pid → name of the living processes that have `uid` in any of their four places, but for the server's own
    handlers, which are root's (real uid 0) and only act for a user."""
    found = {}
    for pid in pids():
        fields = status(pid)
        ids = [int(word) for word in fields.get(b"Uid", b"").split()]
        if uid in ids and ids[0] != 0 and not _dead(pid, fields):
            found[pid] = clean(fields[b"Name"])
    return found


def status(pid: int) -> dict[bytes, bytes]:
    """/proc/PID/status; empty when the process has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(line.split(b":", 1) for line in text.split(b"\n") if b":" in line)


def _dead(pid: int, fields: dict[bytes, bytes]) -> bool:
    """A zombie runs nothing, unless it is a leader whose other threads still do."""
    if fields[b"State"].strip()[:1] not in (b"Z", b"X"):
        return False
    try:
        return len(os.listdir(f"/proc/{pid}/task")) <= 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def clean(name: bytes) -> str:
    """A process names itself, so its name may hold anything: keep what is safe to print."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in name.decode("latin-1").strip())[:64]


def kill_user(uid: int, known: Iterable[int]) -> None:
    """One SIGKILL to every process of the user at once; the kernel lets no fork slip past it. Where there is no room
    for another process, the known ones make some."""

    def kill() -> None:
        os.setresuid(KILLER, uid, KILLER)
        send(-1, signal.SIGKILL)

    try:
        child = os.fork()
    except BlockingIOError:
        for pid in known:
            send(pid, signal.SIGKILL)
        return
    if child == 0:
        run_forked(kill)
    if os.waitpid(child, 0)[1]:
        raise OSError("the process that kills by user failed")


def end_user(uid: int, seconds: float, limit: int | None = None) -> tuple[dict[int, str], dict[int, str]]:
    """End every process of the user: (all that were seen, what is left). limit: how many it may have; a crowd is not
    looked at before it is ended."""
    deadline = time.monotonic() + seconds
    seen: dict[int, str] = {}
    if crowded(limit):
        seen[0] = f"of {len(pids())} processes, too many to name"
        kill_user(uid, ())
    while left := of_user(uid):
        seen.update(left)
        if time.monotonic() >= deadline:
            return seen, left
        kill_user(uid, left)
        wait_for_ends(list(left), deadline)
    return seen, {}
