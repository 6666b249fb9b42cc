"""The server itself: how it starts, whom it serves, and what a freeze means."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

import ale.computer.server
from ale.computer.client import connect
from ale.computer.commands import running, specify
from ale.computer.endpoint import Endpoint
from ale.computer.machine import Machine
from ale.computer.session import Session
from ale.errors import InfrastructureError, SandboxLost

from .conftest import Box, StartBox

pytestmark = pytest.mark.root


def test_what_costs_time_is_not_imported_at_the_start() -> None:
    folder = Path(ale.computer.server.__file__).parent
    script = f"import sys; sys.path.insert(0, {str(folder.parent)!r}); import server.init; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "asyncio",
        "subprocess",
        "typing",
        "http",
        "http.server",
        "tarfile",
        "ctypes",
        "logging",
        "ssl",
    }


def test_a_start_message_that_makes_no_sense_is_answered(start_box: StartBox) -> None:
    for spec in ({"token": ""}, {"screen": 7}):
        box = start_box(**spec)
        assert box.greeting["ready"] is False
        assert box.greeting["error"]
        assert box.process.wait(timeout=10) == 1


async def test_the_door_leads_out_of_a_machine_without_network(start_box: StartBox) -> None:
    box = start_box(door=True)
    session = await connect(box.endpoint)
    assert box.door is not None
    assert box.door.getsockname() == ("127.0.0.1", 7700)
    box.door.settimeout(30)

    def answer(door: socket.socket) -> bytes:
        inside, _ = door.accept()
        with inside:
            inside.sendall(b"from the host")
            return inside.recv(100)

    script = "import socket; s = socket.create_connection(('127.0.0.1', 7700)); s.sendall(b'hi'); print(s.recv(100))"
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, answer, box.door)
        result = await session.as_user("agent").run_command(["python3", "-c", script])
    assert "from the host" in result.stdout
    outside = await session.run_command(
        ["python3", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 3)"], check=False
    )
    assert not outside.success
    await session.aclose()


async def test_without_a_door_nothing_listens(box: Box) -> None:
    session = await connect(box.endpoint)
    script = "import socket; socket.create_connection(('127.0.0.1', 7700), 3)"
    assert "refused" in (await session.run_command(["python3", "-c", script], check=False)).stderr
    await session.aclose()


async def test_a_wrong_token_gets_nothing(box: Box) -> None:
    for token in ("", "wrong", box.endpoint.token + "x", box.endpoint.token[:-1]):
        with pytest.raises(InfrastructureError, match="token"):
            await connect(Endpoint("box", token, socket=box.endpoint.socket))


def test_bytes_that_are_no_request_are_answered_and_hurt_nobody(box: Box) -> None:
    for data in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"x" * 100_000, b""):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(30)
            sock.connect(box.endpoint.socket or "")
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            answer = b""
            while part := sock.recv(65536):
                answer += part
            assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(box.endpoint.socket or "")
        token = box.endpoint.token
        sock.sendall(f"GET /status HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert json.loads(sock.recv(65536).partition(b"\r\n\r\n")[2])["sandbox"] == "box"


async def test_the_token_is_nowhere_in_the_machine(box: Box) -> None:
    session = await connect(box.endpoint)
    line = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null; cat /run/ale/* 2>/dev/null; true"
    assert box.endpoint.token.encode() not in (await session.run_command(line)).stdout_bytes
    await session.aclose()


DAEMONS = {
    "setsid": "setsid sleep 9000 &",
    "double fork": "(setsid nohup sleep 9000 > /dev/null 2>&1 &)",
    "ignores signals": "setsid bash -c 'trap \"\" TERM INT HUP QUIT; while :; do sleep 1; done' &",
    "respawns": "setsid bash -c 'respawn() { while :; do sleep 0.01; done; }; while :; do respawn & wait; done' &",
    "fork bomb": "setsid bash -c 'bomb() { bomb | bomb & }; bomb; sleep 9000' > /dev/null 2>&1 &",
    "stopped": "setsid bash -c 'kill -STOP $$' &",
    "kills the killer": "setsid bash -c 'while :; do kill -9 -1; done' > /dev/null 2>&1 &",
}


@pytest.mark.parametrize("line", DAEMONS.values(), ids=DAEMONS)
async def test_after_a_freeze_nothing_of_the_agent_is_alive_or_starts(box: Box, line: str) -> None:
    session = await connect(box.endpoint)
    agent = session.as_user("agent")
    with anyio.fail_after(60):
        await agent.run_command(line, check=False)
        await session.freeze()
        assert (await session.run_command(["pgrep", "-c", "-u", "1000"], check=False)).stdout == "0\n"
        for call in (agent.run_command("true"), agent.launch("true")):
            with pytest.raises(PermissionError, match="frozen"):
                await call
        assert (await session.status())["frozen"] is True
        assert (await session.run_delivered(["id", "-u"])).result.stdout == "1000\n"
        assert (await session.run_command("id -u")).stdout == "0\n"
    await session.aclose()


async def test_a_freeze_does_not_race_with_commands_that_are_starting(box: Box) -> None:
    session = await connect(box.endpoint)
    agent = session.as_user("agent")

    async def start_many() -> None:
        while True:
            try:
                await agent.launch(["sleep", "9000"])
            except PermissionError:
                return

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(start_many)
            while (await session.run_command("pgrep -c sleep", check=False)).stdout < "1":
                pass
            await session.freeze()
        assert (await session.run_command(["pgrep", "-c", "-u", "1000"], check=False)).stdout == "0\n"
    await session.aclose()


async def test_only_root_freezes_and_runs_what_was_delivered(box: Box) -> None:
    agent = await connect(box.endpoint, "agent")
    with pytest.raises(PermissionError):
        await agent.freeze()
    with pytest.raises(PermissionError):
        await agent.run_delivered(["true"])
    await agent.aclose()


async def test_a_delivered_program_can_leave_anything_behind(box: Box) -> None:
    """Deep nests, unreadable directories, links in its own place: all of it is cleared away."""
    session = await connect(box.endpoint)
    program = (
        "import os\n"
        "for _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
        "try: os.listdir('/run/ale/cases'); print('LEAK')\n"
        "except PermissionError: print('closed')\n"
    )
    nest = await session.run_delivered(["python3", "-c", program])
    assert nest.result.stdout == "closed\n"
    locked = await session.run_delivered(["bash", "-c", "mkdir a; echo x > a/b; echo y > c; chmod 0 a c"])
    assert locked.files == {"a/b": b"x\n", "c": b"y\n"}
    moved = await session.run_delivered(["bash", "-c", "d=$PWD; cd /; rmdir $d || mv $d /tmp/x; ln -s /etc $d"])
    assert moved.files == {}
    assert await session.list_dir("/run/ale/cases") == []
    await session.aclose()


async def test_an_upload_that_can_not_be_taken_says_why(box: Box, tmp_path: Path) -> None:
    session = await connect(box.endpoint)
    (tmp_path / "big").write_bytes(b"x" * 3_000_000)
    (tmp_path / "dir/sub").mkdir(parents=True)
    with pytest.raises(PermissionError):
        await session.as_user("agent").upload(tmp_path / "big", "/etc/big")
    with pytest.raises(IsADirectoryError):
        await session.upload(tmp_path / "big", "/task/input")
    with pytest.raises(NotADirectoryError):
        await session.upload(tmp_path / "big", "/etc/passwd/below")
    await session.upload(tmp_path / "big", "/task/output/big")
    await session.upload(tmp_path / "big", "/task/private/big", private=True)
    with pytest.raises(PermissionError):
        await session.as_user("agent").read_bytes("/task/private/big")
    await session.aclose()


async def test_an_upload_replaces_links_and_never_writes_through_them(box: Box, tmp_path: Path) -> None:
    session = await connect(box.endpoint)
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").write_text("new", encoding="utf-8")
    await session.run_command("mkdir /task/victim; echo old > /task/victim/file; mkdir /task/output/t")
    for planted in (
        "ln -s /task/victim /task/output/t/sub",
        "mkdir /task/output/t/sub; ln -s /task/victim/file $_/file",
    ):
        await session.run_command(f"rm -rf /task/output/t/sub; {planted}")
        await session.upload(tmp_path / "tree", "/task/output/t")
        assert await session.read_file("/task/victim/file") == "old\n"
        assert await session.read_file("/task/output/t/sub/file") == "new"
    await session.aclose()


async def test_a_machine_that_is_gone_is_lost(box: Box) -> None:
    session: Session = await connect(box.endpoint)
    box.process.kill()

    async def use() -> None:
        while True:  # the kernel ends what is in the box a moment after the box
            await session.exists("/")

    with anyio.fail_after(30), pytest.raises(SandboxLost):
        await use()
    await session.aclose()


async def test_a_screen_that_can_not_be_had_is_named_and_the_rest_works(start_box: StartBox) -> None:
    """The bare box has no X server."""
    session = await connect(start_box(screen={"width": 800, "height": 600}).endpoint)
    with pytest.raises(InfrastructureError, match="no Xvnc"):
        await session.screenshot()
    assert (await session.status())["screen"]["state"] == "failed"
    assert (await session.run_command("echo $DISPLAY")).stdout == ":0\n"
    await session.aclose()


async def test_a_command_can_have_a_terminal(box: Box) -> None:
    machine = Machine(box.endpoint)
    spec = specify("tty; stty size; read line; echo got $line", None, 20, None, None)
    seen = b""
    async with running(machine, "/exec", "agent", spec | {"terminal": {"rows": 30, "columns": 90}}, None) as command:
        async for item in command:
            if isinstance(item, tuple):
                seen += item[1]
                if b"30 90" in seen and b"got" not in seen:
                    await command.type(b"hello\n")
    assert seen.startswith(b"/dev/pts/")
    assert b"got hello" in seen
    await machine.aclose()
