"""POST /launch: start a command in the background, in a session of its own."""

from __future__ import annotations

import json
import os
import signal

from . import processes, programs, users
from .faults import Fault, Reported, describe
from .places import checked, open_file
from .programs import parse_program, raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import Request
    from .state import State


def launch(request: Request, user: str, state: State) -> None:
    spec = request.body.json()
    program = parse_program(spec, user, state)
    log = spec.get("log")
    with users.acting_as(user):
        place = b"/dev/null" if log is None else checked(raw(log, "log"), "log")
        output = open_file(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.set_blocking(output, True)
    stdin = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    reader, writer = os.pipe2(os.O_CLOEXEC)

    def middle() -> None:
        # The program's parent ends at once, so that pid 1 inherits it and no handler has to collect it.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            pid = programs.start(program, state, (stdin, output, output))
        except (OSError, Fault) as error:
            os.write(writer, json.dumps({"fault": describe(error)}).encode())
            return
        os.write(writer, json.dumps({"pid": pid}).encode())

    child = os.fork()
    if child == 0:
        processes.run_forked(middle)
    for fd in (stdin, output, writer):
        os.close(fd)
    with os.fdopen(reader, "rb") as report:
        answer = json.loads(
            report.read() or b'{"fault": [500, {"error": {"type": "internal", "message": "no report"}}]}'
        )
    os.waitpid(child, 0)
    if "fault" in answer:
        raise Reported(*answer["fault"])
    request.answer(answer)
