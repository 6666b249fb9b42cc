"""POST /exec: run a command and stream it. Request and answer are frames, both ways at once."""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import termios

from . import frames, supervisor
from .faults import Fault, Reported
from .http1 import Disconnected
from .programs import parse_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import Request
    from .programs import Program
    from .state import State

_READ = 256 * 1024
_STDIN_AHEAD = 64 * 2**20
"""Bytes of stdin kept for a program that reads slowly; beyond that the client waits."""


def exec_command(request: Request, user: str, state: State) -> None:
    reader = frames.Frames()
    spec = read_spec(request, reader)
    program = parse_program(spec, user, state)
    terminal = spec.get("terminal")
    run = Run(request, reader, program, state, seconds(spec), _window(terminal) if terminal else None)
    run.stream()
    run.send_exit()
    request.end_stream()


def read_spec(request: Request, reader: frames.Frames) -> dict[str, object]:
    """The first frame: what is to be run."""
    while (frame := reader.next()) is None:
        data = request.body.read()
        if not data:
            raise Fault("invalid", "the body must begin with a specification frame")
        reader.feed(data)
    if frame[0] != frames.SPEC:
        raise Fault("invalid", "the body must begin with a specification frame")
    spec = json.loads(frame[1])
    if not isinstance(spec, dict):
        raise Fault("invalid", "the specification must be a JSON object")
    return spec


def seconds(spec: dict[str, object]) -> float | None:
    value = spec.get("timeout")
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
        raise Fault("invalid", "timeout must be a number of seconds or null")
    return float(value)


def _window(value: object) -> tuple[int, int]:
    if not isinstance(value, dict):
        raise Fault("invalid", "terminal must be an object with rows and columns")
    rows, columns = int(value.get("rows", 24)), int(value.get("columns", 80))
    if not (0 < rows < 1000 and 0 < columns < 1000):
        raise Fault("invalid", "a terminal has 1 to 999 rows and columns")
    return rows, columns


class Run:
    """One command, from fork to its exit frame. `ending` is the exit frame's content."""

    def __init__(
        self,
        request: Request,
        reader: frames.Frames,
        program: Program,
        state: State,
        seconds: float | None,
        window: tuple[int, int] | None = None,
    ) -> None:
        self._request = request
        self._reader = reader
        self._pending = bytearray()
        self._terminal = window is not None
        self._stdin_ended = False
        self.ending: dict[str, object] = {}
        if window is None:
            self._open_pipes(program, state, seconds)
        else:
            self._open_terminal(program, state, seconds, window)
        self._lines = b""
        started = self._hear()
        if "fault" in started:
            self._close()
            raise Reported(*started["fault"])  # type: ignore[misc]

    def _open_pipes(self, program: Program, state: State, seconds: float | None) -> None:
        stdin, self._stdin = os.pipe2(os.O_CLOEXEC)
        out, stdout = os.pipe2(os.O_CLOEXEC)
        err, stderr = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._stdin, False)
        self._outputs = {out: frames.STDOUT, err: frames.STDERR}
        self._control = supervisor.spawn(program, state, (stdin, stdout, stderr), (out, err), seconds)
        for fd in (stdin, stdout, stderr):
            os.close(fd)

    def _open_terminal(self, program: Program, state: State, seconds: float | None, window: tuple[int, int]) -> None:
        master, slave = os.openpty()
        if program.user != "root":
            from .users import UIDS

            os.fchown(slave, UIDS[program.user], -1)
        _resize(master, *window)
        program.env.setdefault(b"TERM", b"xterm-256color")
        self._control = supervisor.spawn(program, state, (slave, slave, slave), (master,), seconds, terminal=True)
        os.close(slave)
        self._stdin = os.dup(master)
        os.set_blocking(master, False)
        self._outputs = {master: frames.STDOUT}

    def stream(self) -> None:
        """Carry bytes in both directions until the command has ended and all that it wrote has been sent."""
        self._request.start_stream("application/vnd.ale.frames")
        try:
            self._carry()
            for fd in self._outputs:
                self._drain(fd)
        finally:
            self._close()

    def send_exit(self) -> None:
        self._send(frames.EXIT, json.dumps(self.ending).encode())

    def _carry(self) -> None:
        conn = self._request.connection.sock.fileno()
        control = self._control.fileno()
        open_outputs = set(self._outputs)
        self._take_input()
        while not self.ending:
            if b"\n" in self._lines:  # a quick command's end came with its start
                self._finish(self._hear())
                return
            poll = select.poll()
            poll.register(control, select.POLLIN)
            for fd in open_outputs:
                poll.register(fd, select.POLLIN)
            if len(self._pending) < _STDIN_AHEAD:
                poll.register(conn, select.POLLIN)
            if self._pending and self._stdin >= 0:
                poll.register(self._stdin, select.POLLOUT)
            for fd, _ in poll.poll():
                if fd in open_outputs:
                    if not self._forward(fd, _READ):
                        open_outputs.discard(fd)
                elif fd == conn:
                    if not self._request.connection.fill():
                        raise Disconnected
                    self._take_input()
                elif fd == control:
                    self._finish(self._hear())
                elif fd == self._stdin:
                    self._feed()

    def _take_input(self) -> None:
        body = self._request.body
        while data := body.available():
            self._reader.feed(data)
        while frame := self._reader.next():
            kind, payload = frame
            if kind == frames.STDIN:
                self._stdin_ended = self._stdin_ended or not payload
                if self._stdin >= 0:
                    self._pending += payload
            elif kind == frames.KILL:
                self._control.sendall(b"K")
            elif kind == frames.RESIZE and self._terminal:
                rows, columns = _window(json.loads(payload))
                _resize(next(iter(self._outputs)), rows, columns)
        self._feed()

    def _feed(self) -> None:
        """Hand stdin on as far as the program takes it; close it when the client has closed it."""
        while self._pending and self._stdin >= 0:
            try:
                count = os.write(self._stdin, self._pending[:65536])
            except BlockingIOError:
                return
            except OSError:  # the program has closed its stdin: the rest is nobody's
                self._pending.clear()
                self._close_stdin()
                return
            del self._pending[:count]
        ended = self._stdin_ended or self._request.body.done
        if ended and not self._pending and not self._terminal:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    def _forward(self, fd: int, limit: int) -> int:
        try:
            data = os.read(fd, limit)
        except BlockingIOError:
            return 1
        except OSError:  # a terminal without a program on it reads as EIO
            data = b""
        if data:
            self._send(self._outputs[fd], data)
        return len(data)

    def _drain(self, fd: int) -> None:
        """What lies in the pipe when the command has ended; not what others that hold it write afterwards."""
        left = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))[0]
        while left > 0 and (count := self._forward(fd, min(left, _READ))):
            left -= count

    def _send(self, kind: bytes, data: bytes) -> None:
        self._request.send_chunk(frames.header(kind, len(data)), data)

    def _hear(self) -> dict[str, object]:
        """The supervisor's next line."""
        while b"\n" not in self._lines:
            data = self._control.recv(65536)
            if not data:
                raise RuntimeError("a command's supervisor ended without a word")
            self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def _finish(self, ended: dict[str, object]) -> None:
        code = os.waitstatus_to_exitcode(int(str(ended["status"])))
        self.ending = {
            "code": code if code >= 0 else 128 - code,
            "signal": -code if code < 0 else None,
            "cause": ended["cause"],
            "survivors": ended["survivors"],
            "duration": ended["duration"],
        }

    def _close(self) -> None:
        self._close_stdin()
        for fd in self._outputs:
            os.close(fd)
        self._control.close()


def _resize(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
