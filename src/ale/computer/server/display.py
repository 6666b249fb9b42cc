"""The screen: an X server as its own user and a window manager as the agent, started and watched by one process.

The window manager can be talked into starting programs, so it is the agent's and ends with the freeze; the X server is
not, and goes on showing what was last drawn.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import time

from . import programs, trees, users
from .programs import Program
from .state import FAILED, READY, RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import State

_SOCKETS = b"/tmp/.X11-unix"
_LOCK = b"/tmp/.X0-lock"
_LOG = RUN + b"/display.log"
_HOMES = {"display": RUN + b"/display", "agent": RUN + b"/window-manager"}
_VNC = RUN + b"/display/vnc.sock"
_START_SECONDS = 60.0
_CONFIGURATION = "/etc/xdg/openbox/rc.xml"


def prepare() -> None:
    """Before anyone else runs: the places that an agent must not be able to take first. A fork's disk still has those
    of the machine it was made from."""
    for path in (_SOCKETS, _LOCK, *_HOMES.values()):
        trees.delete(path)
    os.mkdir(_SOCKETS)
    os.chmod(_SOCKETS, 0o1777)
    for user, path in _HOMES.items():
        os.mkdir(path, 0o700)
        os.chown(path, users.UIDS[user], users.UIDS[user])


def run(state: State, ready: int) -> None:
    """The life of the display's process. Closing `ready` wakes everyone who waits for the screen."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        server = _start_server(state)
        manager = _start_manager(state)
    except (OSError, RuntimeError) as error:
        state.set_display(FAILED, str(error))
        return
    state.set_display(READY)
    os.close(ready)
    while True:
        pid, _ = os.wait()
        if pid == server:
            state.set_display(FAILED, f"the X server has ended: {_last_words()}")
            return
        if pid == manager:
            continue  # the freeze, or an agent that ended it: the screen stays


def _start_server(state: State) -> int:
    assert state.screen is not None
    width, height = state.screen
    argv = ["Xvnc", ":0", "-displayfd", "1", "-geometry", f"{width}x{height}", "-depth", "24", "-nolisten", "tcp"]
    argv += ["-SecurityTypes", "None", "-rfbport", "-1", "-rfbunixpath", _VNC.decode(), "-rfbunixmode", "0600"]
    argv += ["-AlwaysShared", "-ac", "-desktop", state.sandbox]
    pid, output = _start(state, "display", argv)
    _await(output, b"0\n", "the X server")
    return pid


def _start_manager(state: State) -> int:
    """Programs that start before openbox manages windows are never managed, so its own word is waited for."""
    argv = ["openbox", "--startup", "echo manages-windows"]
    if os.path.exists(_CONFIGURATION):
        argv += ["--config-file", _CONFIGURATION]
    pid, output = _start(state, "agent", argv)
    _await(output, b"manages-windows\n", "the window manager")
    return pid


def _start(state: State, user: str, argv: list[str]) -> tuple[int, int]:
    if shutil.which(argv[0], path="/usr/local/bin:/usr/bin:/bin") is None:
        raise RuntimeError(f"this image has no {argv[0]}")
    env = users.login_env(user, state) | {"HOME": _HOMES[user].decode()}
    reader, writer = os.pipe2(os.O_CLOEXEC)
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    log = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    program = Program(
        [word.encode() for word in argv],
        {name.encode(): value.encode() for name, value in env.items()},
        _HOMES[user],
        user,
    )
    try:
        return programs.start(program, state, (null, writer, log)), reader
    finally:
        for fd in (null, writer, log):
            os.close(fd)


def _await(output: int, mark: bytes, who: str) -> None:
    """Until the program has printed the mark. Its pipe stays open: what it prints later is few and harmless."""
    deadline = time.monotonic() + _START_SECONDS
    seen = b""
    while mark not in seen:
        if not select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise RuntimeError(f"{who} was not ready after {_START_SECONDS:g} s: {_last_words()}")
        data = os.read(output, 4096)
        if not data:
            raise RuntimeError(f"{who} ended at its start: {_last_words()}")
        seen = (seen + data)[-65536:]


def _last_words() -> str:
    try:
        fd = os.open(_LOG, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return "no reason given"
    try:
        size = os.fstat(fd).st_size
        os.lseek(fd, max(0, size - 600), os.SEEK_SET)
        return " ".join(os.read(fd, 600).decode("utf-8", "replace").split())
    finally:
        os.close(fd)
