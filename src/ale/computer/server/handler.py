"""One connection: who is asking, what for, and how its end is told."""

from __future__ import annotations

import os
import socket
import time
from _operator import _compare_digest as same  # hmac.compare_digest, without what hmac imports
from importlib import import_module

from . import PROTOCOL, processes, users
from .faults import Fault, describe
from .http1 import BadRequest, Connection, Disconnected, Request, read_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import State

_ROUTES = {
    ("GET", "/status"): "handler.status",
    ("POST", "/exec"): "command.exec_command",
    ("POST", "/launch"): "launch.launch",
    ("POST", "/freeze"): "freeze.freeze",
    ("POST", "/deliver"): "deliver.deliver",
    ("GET", "/file"): "files.read_file",
    ("PUT", "/file"): "files.write_file",
    ("POST", "/fs"): "files.operate",
    ("GET", "/tree"): "tree.send_tree",
    ("PUT", "/tree"): "tree.receive_tree",
    ("POST", "/digests"): "digests.digests",
    ("GET", "/screen"): "desktop.screenshot",
    ("POST", "/desktop"): "desktop.operate",
}
"""What each endpoint needs is imported when it is first asked for."""

_LINGER = 10.0
"""Seconds that a client may go on sending a body that was refused."""

_DISPLAY_STATES = ("starting", "ready", "failed")


def serve(sock: socket.socket, state: State) -> None:
    """Answer requests until the client closes or breaks the protocol."""
    connection = Connection(sock)
    try:
        while (request := _next(connection)) is not None:
            if not _answer(request, state):
                return
            processes.reap({})  # supervisors that have ended
    except Disconnected:
        return


def _next(connection: Connection) -> Request | None:
    try:
        return read_request(connection)
    except BadRequest as error:
        Request(connection, "GET", "/", {}).answer(describe(error)[1], 400, close=True)
        connection.linger(_LINGER)
        return None


def _answer(request: Request, state: State) -> bool:
    """Whether the connection can be used again."""
    try:
        _check_token(request, state)
        user = users.check_user(request.headers.get("ale-user", "root"))
        _route(request)(request, user, state)
        while request.body.read():
            pass
    except Disconnected:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: each failure becomes a typed answer
        status, body = describe(error)
        if request.streaming or body["error"]["type"] == "internal":  # type: ignore[index]
            import traceback

            traceback.print_exc()
        if request.streaming:
            return False
        while request.body.available():
            pass
        request.answer(body, status, close=not request.body.done)
        if not request.body.done:
            request.connection.linger(_LINGER)
        return request.body.done
    return True


def _check_token(request: Request, state: State) -> None:
    given = request.headers.get("authorization", "").encode("latin-1")
    if not same(given, b"Bearer " + state.token):
        raise Fault("unauthorized", "the token is missing or wrong", 401)


def _route(request: Request) -> Handler:
    name = _ROUTES.get((request.method, request.path))
    if name is None:
        raise Fault("unsupported", f"there is no {request.method} {request.path[:100]}", 404)
    module, _, function = name.partition(".")
    found: Handler = getattr(import_module(f"{__package__}.{module}"), function)
    return found


def status(request: Request, user: str, state: State) -> None:
    del user
    screen = None
    if state.screen:
        width, height = state.screen
        screen = {
            "width": width,
            "height": height,
            "state": _DISPLAY_STATES[state.display],
            "error": state.display_error or None,
        }
    request.answer(
        {
            "protocol": PROTOCOL,
            "sandbox": state.sandbox,
            "os": "linux",
            "pid": os.getppid(),
            "uptime": time.monotonic() - state.started,
            "frozen": state.frozen,
            "screen": screen,
        }
    )


if TYPE_CHECKING:
    from collections.abc import Callable

    Handler = Callable[[Request, str, State], None]
