"""Pid 1: the start message in, the door's socket out, then accept, fork, accept."""

from __future__ import annotations

import array
import json
import os
import signal
import socket

from . import PROTOCOL
from .state import RUN, State

DOOR_PORT = 7700
_START_LIMIT = 64 * 1024
_CONTROL_FD = 3


def main() -> None:
    os.umask(0o022)
    _ignore_signals()
    channel = socket.socket(fileno=0)
    try:
        state = State(_read_start(channel))
        listener = socket.socket(fileno=_CONTROL_FD)
        listener.set_inheritable(False)
        door = _open_door() if state.door else None
        _make_run_directory()
    except Exception as error:  # noqa: BLE001 - the boundary: told to whoever started the machine
        _say(channel, {"ready": False, "error": f"{type(error).__name__}: {error}"}, None)
        os._exit(1)
    _say(channel, {"ready": True, "pid": os.getpid(), "protocol": PROTOCOL}, door)
    _leave(channel)
    if door is not None:
        door.close()
    _harden()
    _start_display(state)
    _accept_forever(listener, state)


def _read_start(channel: socket.socket) -> dict[str, object]:
    data = b""
    while not data.endswith(b"\n"):
        part = channel.recv(_START_LIMIT)
        if not part or len(data) > _START_LIMIT:
            raise ValueError("the start message did not arrive as one line")
        data += part
    value = json.loads(data)
    if not isinstance(value, dict) or not value.get("token"):
        raise ValueError("the start message must be a JSON object with a token")
    return value


def _open_door() -> socket.socket:
    """The host accepts on this socket, so no process in here forwards anything."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", DOOR_PORT))
    door.listen(512)
    return door


def _make_run_directory() -> None:
    os.makedirs(RUN, exist_ok=True)
    os.chown(RUN, 0, 0)
    os.chmod(RUN, 0o711)


def _say(channel: socket.socket, message: dict[str, object], door: socket.socket | None) -> None:
    ancillary = []
    if door is not None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [door.fileno()]))]
    channel.sendmsg([json.dumps(message).encode() + b"\n"], ancillary)


def _leave(channel: socket.socket) -> None:
    """The start channel closes and fd 0 becomes /dev/null."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    channel.detach()


def _ignore_signals() -> None:
    """Nobody inside ends the server; ended children vanish by themselves, since SIGCHLD is ignored too."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


def _harden() -> None:
    """After `ready`, before anyone else runs: what takes milliseconds to import."""
    from . import processes

    processes.be_undumpable()


def _start_display(state: State) -> None:
    if state.screen is None:
        return
    from . import display, processes

    display.prepare()
    state.display_wait, held = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        processes.run_forked(lambda: display.run(state, held))
    os.close(held)


def _accept_forever(listener: socket.socket, state: State) -> None:
    from . import command, files, handler, launch  # noqa: F401 - loaded once here, not in each handler

    while True:
        try:
            sock, _ = listener.accept()
        except ConnectionError:
            continue  # the client gave up before it was its turn
        try:
            pid = os.fork()
        except OSError:
            pid = -1  # no room for another process now; the client sees its connection close
        if pid == 0:
            _handle(listener, sock, state)
        sock.close()


def _handle(listener: socket.socket, sock: socket.socket, state: State) -> None:
    from . import handler, processes

    listener.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    processes.run_forked(lambda: handler.serve(sock, state))
