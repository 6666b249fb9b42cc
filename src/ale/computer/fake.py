"""A machine that is none: the real wire protocol on a Unix socket, files in a private directory, commands answered by
Python functions. No process is ever started. It is how everything above a Session is tested.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ale.computer.endpoint import Endpoint
from ale.computer.server import files as server_files
from ale.computer.server import frames, trees
from ale.computer.server import tree as server_tree
from ale.computer.server.command import read_spec
from ale.computer.server.digests import digest_below, read_order
from ale.computer.server.faults import Fault, describe
from ale.computer.server.http1 import BadRequest, Connection, Disconnected, Request, read_request
from ale.computer.server.picture import png
from ale.computer.server.programs import parse_program
from ale.computer.server.state import State

_FIRST_PID = 100


@dataclass(frozen=True)
class FakeCall:
    """What a command is given. `path` turns a path of the machine into the host's, so that a command can leave files.
    door: where 127.0.0.1:7700 of the machine really listens."""

    argv: tuple[str, ...]
    user: str
    cwd: str
    env: Mapping[str, str]
    stdin: bytes
    root: Path
    door: tuple[str, int] | None = None

    @property
    def line(self) -> str:
        """The shell line, or the arguments as one."""
        if self.argv[:2] == ("/bin/bash", "-c"):
            return self.argv[2]
        return shlex.join(self.argv)

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")


@dataclass(frozen=True)
class FakeReply:
    """How a command ends. seconds: how long it takes by the real clock; its time limit and its client's end cut that
    short, as they would end a process. math.inf: it never ends by itself."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    signal: int | None = None
    seconds: float = 0.0


FakeCommand = Callable[[FakeCall], FakeReply]


@dataclass
class FakeMachine:
    """commands: by the name of the program (the first word of a shell line); "*" answers all others. Unknown programs
    exit with 127. What happened to it can be read off: `calls`, `desktop`, `owners`, `background`."""

    root: Path
    socket_path: Path
    sandbox: str = "fake"
    token: str = "fake-token"
    commands: Mapping[str, FakeCommand] = field(default_factory=dict)
    screen: tuple[int, int] | None = None
    door: tuple[str, int] | None = None
    calls: list[FakeCall] = field(default_factory=list)
    desktop: list[dict[str, Any]] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    background: dict[int, str] = field(default_factory=dict)
    frozen: bool = False

    def __post_init__(self) -> None:
        screen = None if self.screen is None else {"width": self.screen[0], "height": self.screen[1]}
        self._state = State({"token": self.token, "sandbox": self.sandbox, "screen": screen})
        self._next_pid = _FIRST_PID
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.sandbox, self.token, socket=str(self.socket_path))

    @property
    def running(self) -> bool:
        return self._listener is not None

    def start(self) -> None:
        for folder in ("task/input", "task/software", "task/output", "home/agent", "root", "tmp"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.socket_path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """The machine is gone, as after a power cut; the files stay for whoever looks."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        _shut(listener)
        self.socket_path.unlink(missing_ok=True)
        with self._lock:
            for sock in self._open:
                _shut(sock)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return  # stopped
            with self._lock:
                self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        connection = Connection(sock)
        try:
            while (request := read_request(connection)) is not None and self._answer(request):
                pass
        except (Disconnected, BadRequest, OSError):
            return  # the client has gone, or was put out
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _answer(self, request: Request) -> bool:
        """Whether another request may follow."""
        try:
            if request.headers.get("authorization") != f"Bearer {self.token}":
                raise Fault("unauthorized", "the token is missing or wrong", 401)
            user = request.headers.get("ale-user", "root")
            self._route(request, user)
            while request.body.read():
                pass
        except Disconnected:
            raise
        except Exception as error:  # noqa: BLE001 - the same boundary as the real server's
            status, body = describe(error)
            if request.streaming:
                return False
            request.answer(body, status, close=not request.body.done)
            return request.body.done
        return True

    def _route(self, request: Request, user: str) -> None:
        match request.method, request.path:
            case "GET", "/status":
                request.answer(self._status())
            case "POST", "/exec":
                self._exec(request, user)
            case "POST", "/deliver":
                self._deliver(request)
            case "POST", "/launch":
                self._launch(request, user)
            case "POST", "/freeze":
                self._freeze(request)
            case "GET", "/file":
                self._map_query(request)
                server_files.read_file(request, "root", self._state)
            case "PUT", "/file":
                self._map_query(request)
                server_files.write_file(request, "root", self._state)
            case "POST", "/fs":
                self._operate(request)
            case "GET", "/tree":
                self._map_query(request)
                server_tree.send_tree(request, "root", self._state)
            case "PUT", "/tree":
                self._receive_tree(request, user)
            case "POST", "/digests":
                self._digests(request)
            case "GET", "/screen":
                request.answer_bytes(self._screenshot(), "image/png")
            case "POST", "/desktop":
                self._desktop(request)
            case _:
                raise Fault("unsupported", f"there is no {request.method} {request.path}", 404)

    def _status(self) -> dict[str, Any]:
        screen = None
        if self.screen:
            screen = {"width": self.screen[0], "height": self.screen[1], "state": "ready", "error": None}
        return {
            "protocol": 1,
            "sandbox": self.sandbox,
            "os": "linux",
            "pid": 1,
            "uptime": time.monotonic() - self._state.started,
            "frozen": self.frozen,
            "screen": screen,
        }

    # commands

    def _exec(self, request: Request, user: str) -> None:
        reader = frames.Frames()
        spec = read_spec(request, reader)
        call = self._call(spec, user, self.root)
        request.start_stream("application/vnd.ale.frames")
        call = _with_stdin(call, request, reader)
        self._play(request, reader, spec, call)
        request.end_stream()

    def _deliver(self, request: Request) -> None:
        reader = frames.Frames()
        spec = read_spec(request, reader)
        case = self.root / "run/ale/cases" / os.urandom(8).hex()
        case.mkdir(parents=True)
        try:
            for name, path in dict(spec.get("files") or {}).items():  # type: ignore[call-overload]
                target = case / name
                target.parent.mkdir(parents=True, exist_ok=True)
                trees.copy(os.fsencode(self._inside(path)), os.fsencode(target))
            call = self._call(spec, "agent", self.root, cwd="/" + str(case.relative_to(self.root)), delivered=True)
            request.start_stream("application/vnd.ale.frames")
            call = _with_stdin(call, request, reader)
            self._play(request, reader, spec, call)
            self._send_left(request, case)
            request.end_stream()
        finally:
            shutil.rmtree(case)

    def _send_left(self, request: Request, case: Path) -> None:
        fd = os.open(case, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sender = server_tree.TreeSender(
                lambda data: request.send_chunk(frames.header(frames.TREE, len(data)), data),
                server_tree.Limits(2**62, 2**62, 2**62),
            )
            sender.send_directory(fd, 64)
            sender.finish()
        finally:
            os.close(fd)

    def _call(
        self, spec: dict[str, object], user: str, root: Path, *, cwd: str | None = None, delivered: bool = False
    ) -> FakeCall:
        if self.frozen and user == "agent" and not delivered:
            raise Fault("frozen", "the machine is frozen: nothing runs as the agent any more", 409)
        program = parse_program(spec, user, self._state, delivered=True)
        if program.cwd is not None and not self._inside(os.fsdecode(program.cwd)).is_dir():
            raise FileNotFoundError(2, "No such file or directory", program.cwd)
        home = {"root": "/root", "agent": "/home/agent"}.get(user, "/")
        where = cwd or (os.fsdecode(program.cwd) if program.cwd else home)
        argv = tuple(map(os.fsdecode, program.argv))
        env = {os.fsdecode(name): os.fsdecode(value) for name, value in program.env.items()}
        return FakeCall(argv, user, where, env, b"", root, self.door)

    def _play(self, request: Request, reader: frames.Frames, spec: dict[str, object], call: FakeCall) -> None:
        """Answer by the table, and let the reply's time pass, or as much of it as the limit and the client allow."""
        self.calls.append(call)
        begin = time.monotonic()
        reply = self._reply(call)
        for kind, data in ((frames.STDOUT, reply.stdout), (frames.STDERR, reply.stderr)):
            for start in range(0, len(data), 65536):
                part = data[start : start + 65536]
                request.send_chunk(frames.header(kind, len(part)), part)
        limit = spec.get("timeout")
        seconds = reply.seconds if limit is None else min(reply.seconds, float(str(limit)))
        cause = self._pass_time(request, reader, seconds)
        if not cause and seconds < reply.seconds:
            cause = "timeout"
        code, signal = (137, 9) if cause else (reply.code, reply.signal)
        ending = {
            "code": code,
            "signal": signal,
            "cause": cause,
            "survivors": False,
            "duration": time.monotonic() - begin,
        }
        data = json.dumps(ending).encode()
        request.send_chunk(frames.header(frames.EXIT, len(data)), data)

    def _reply(self, call: FakeCall) -> FakeReply:
        words = call.line.split()
        name = call.argv[0] if call.argv[:2] != ("/bin/bash", "-c") else (words[0] if words else "")
        command = self.commands.get(name) or self.commands.get("*")
        if command is None:
            return FakeReply(127, stderr=f"{name}: command not found\n".encode())
        return command(call)

    def _pass_time(self, request: Request, reader: frames.Frames, seconds: float) -> str:
        """ "" when the time has passed, `abandoned` when the client asked for the end."""
        connection = request.connection
        deadline = time.monotonic() + seconds
        try:
            while (left := deadline - time.monotonic()) > 0:
                connection.sock.settimeout(min(left, 3600.0))
                try:
                    if not connection.fill():
                        raise Disconnected
                except TimeoutError:
                    continue
                while data := request.body.available():
                    reader.feed(data)
                while frame := reader.next():
                    if frame[0] == frames.KILL:
                        return "abandoned"
        finally:
            connection.sock.settimeout(None)
        return ""

    def _launch(self, request: Request, user: str) -> None:
        spec = request.body.json()
        call = self._call(spec, user, self.root)
        self.calls.append(call)
        reply = self._reply(call)
        if spec.get("log") is not None:
            with self._inside(str(spec["log"])).open("ab") as log:
                log.write(reply.stdout + reply.stderr)
        pid, self._next_pid = self._next_pid, self._next_pid + 1
        if reply.seconds:
            self.background[pid] = Path(call.argv[0]).name
        request.answer({"pid": pid})

    def _freeze(self, request: Request) -> None:
        self.frozen = True
        killed = [f"{pid} {name}" for pid, name in sorted(self.background.items())]
        self.background.clear()
        request.answer({"killed": killed, "killed_count": len(killed), "left": [], "seconds": 0.0})

    # files

    def _inside(self, path: str) -> Path:
        """The host's path of a machine's path; a link that leads out of the fake machine leads nowhere."""
        place = self.root / path.lstrip("/")
        if not place.resolve().is_relative_to(self.root.resolve()):
            raise FileNotFoundError(2, "No such file or directory", path)
        return place

    def _map_query(self, request: Request) -> None:
        given = request.query.get("path", b"")
        if b"\0" in given or not given.startswith(b"/"):
            raise Fault("invalid", "path must be absolute and hold no NUL")
        request.query["path"] = os.fsencode(self._inside(os.fsdecode(given)))

    def _operate(self, request: Request) -> None:
        order = request.body.json()
        for name in ("path", "to"):
            if name in order:
                path = str(order[name])
                if "\0" in path or not path.startswith("/"):
                    raise Fault("invalid", f"{name} must be absolute and hold no NUL")
                order[name] = str(self._inside(path))
        request.answer(server_files.perform(order))

    def _receive_tree(self, request: Request, user: str) -> None:
        """Owners are remembered, not set: that would need root."""
        given = os.fsdecode(request.query.get("path", b""))
        self._map_query(request)
        owner = request.query.pop("owner", user.encode()).decode()
        read_only = request.query.pop("read_only", None)
        self.owners[given] = "root" if read_only else owner
        server_tree.receive_tree(request, "root", self._state, own=True)

    def _digests(self, request: Request) -> None:
        roots, sizes = read_order(request)
        places = [os.fsencode(self._inside(str(root))).rstrip(b"/") for root in roots]
        for place in places:
            os.lstat(place)
        top = os.fsencode(self.root)
        lines = [
            json.dumps([path.removeprefix(top).decode("utf-8", "surrogateescape"), digest]).encode() + b"\n"
            for path, digest in digest_below(places, sizes)
        ]
        request.answer_bytes(b"".join(lines), "application/x-ndjson")

    # screen

    def _needs_screen(self) -> tuple[int, int]:
        if self.screen is None:
            raise Fault("no_display", "this machine was made without a display; the card must ask for one", 409)
        return self.screen

    def _screenshot(self) -> bytes:
        width, height = self._needs_screen()
        return png(bytes(3 * width * height), width, height)

    def _desktop(self, request: Request) -> None:
        order = request.body.json()
        width, height = self._needs_screen()
        if order.get("op") == "size":
            request.answer({"width": width, "height": height})
            return
        if order.get("op") == "click":
            x, y = int(str(order["x"])), int(str(order["y"]))
            if not (0 <= x < width and 0 <= y < height):
                raise Fault("invalid", f"({x}, {y}) is outside the screen of {width}x{height}")
        self.desktop.append(order)
        request.answer({})


def _with_stdin(call: FakeCall, request: Request, reader: frames.Frames) -> FakeCall:
    """The call with all of its stdin: what comes before the end-of-stdin frame or the end of the body."""
    data = bytearray()
    while True:
        while (frame := reader.next()) is not None:
            kind, payload = frame
            if kind == frames.STDIN and not payload:
                return replace(call, stdin=bytes(data))
            if kind == frames.STDIN:
                data += payload
        part = request.body.read()
        if not part:
            return replace(call, stdin=bytes(data))
        reader.feed(part)


def _shut(sock: socket.socket) -> None:
    """Wakes whoever waits on it."""
    with suppress(OSError):  # the other side may have closed it already
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
