"""A real computer server as root's pid 1 in a bare box of this host's own programs: no image, no provider."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import ale.computer.server
from ale.computer.endpoint import Endpoint

SERVER = Path(ale.computer.server.__file__).parent
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")


@dataclass
class Box:
    """A running server, and what it said and handed over at its start."""

    process: subprocess.Popen[bytes]
    endpoint: Endpoint
    greeting: dict[str, object]
    door: socket.socket | None


StartBox = Callable[..., Box]


@pytest.fixture
def start_box(tmp_path: Path) -> Iterator[StartBox]:
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("needs root and bubblewrap")
    boxes: list[Box] = []

    def start(**spec: object) -> Box:
        box = _start(tmp_path / f"{len(boxes)}.sock", spec)
        boxes.append(box)
        return box

    yield start
    for box in boxes:
        box.process.kill()
        box.process.wait()
        if box.door is not None:
            box.door.close()


@pytest.fixture
def box(start_box: StartBox) -> Box:
    return start_box()


def _start(path: Path, spec: dict[str, object]) -> Box:
    token = secrets.token_urlsafe()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    ours, theirs = socket.socketpair()
    order = {"token": token, "sandbox": "box", "hostname": "desk", "door": False, "screen": None}
    order["limits"] = {"processes": 400, "file_mb": None, "open_files": 4096}
    with listener, theirs:
        # The server wants its listening socket on descriptor 3; a shell puts it there.
        argv = ["bash", "--norc", "-c", f'exec "$@" 3<&{listener.fileno()}', "bash", *_command()]
        process = subprocess.Popen(argv, stdin=theirs, pass_fds=(listener.fileno(),), env={"PATH": os.environ["PATH"]})
    ours.sendall(json.dumps(order | spec).encode() + b"\n")
    ours.settimeout(30)
    data, fds, _, _ = socket.recv_fds(ours, 65536, 4)
    ours.close()
    door = socket.socket(fileno=fds[0]) if fds else None
    return Box(process, Endpoint("box", token, socket=str(path)), json.loads(data or b"{}"), door)


def _command() -> list[str]:
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--as-pid-1"]
    command += ["--die-with-parent", "--clearenv", "--cap-drop", "ALL"]
    for name in CAPABILITIES:
        command += ["--cap-add", f"CAP_{name}"]
    command += ["--perms", "0755", "--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for name in ("bin", "sbin", "lib", "lib64"):
        command += ["--symlink", f"usr/{name}", f"/{name}"]
    for name in ("home", "task", "task/input", "task/software", "task/output", "opt", "root", "run"):
        command += ["--perms", "0755", "--dir", f"/{name}"]
    command += ["--perms", "1777", "--dir", "/tmp", "--perms", "0755", "--dir", "/home/agent"]
    command += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", str(SERVER), "/opt/ale/server"]
    return [*command, "--chdir", "/", "--", "/usr/bin/python3", "-I", "-S", "/opt/ale/server"]
