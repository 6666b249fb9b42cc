"""What commands print, whole and as it appears."""

from __future__ import annotations

import hashlib
import os

import anyio
import anyio.lowlevel

from ale.computer.conformance.check import Checks
from ale.computer.session import CommandExit, Session

checks = Checks()


@checks("10 MB on both streams at once arrive whole")
async def _both_streams(session: Session) -> None:
    script = (
        "import sys, threading\n"
        "def put(stream, byte):\n"
        "    for _ in range(160): stream.buffer.write(byte * 65536); stream.flush()\n"
        "t = threading.Thread(target=put, args=(sys.stderr, b'e')); t.start(); put(sys.stdout, b'o'); t.join()"
    )
    result = await session.run_command(["python3", "-c", script])
    assert result.stdout_bytes == b"o" * 160 * 65536
    assert result.stderr_bytes == b"e" * 160 * 65536


@checks("one line of 20 MB arrives whole")
async def _long_line(session: Session) -> None:
    result = await session.run_command("head -c 20000000 /dev/zero | tr '\\0' x; echo")
    assert len(result.stdout_bytes) == 20_000_001
    assert not result.truncated


@checks("binary output keeps its digest, and reading it as text does not fail")
async def _binary(session: Session) -> None:
    script = "import os,sys,hashlib; d=os.urandom(2048)+bytes(range(256)); sys.stdout.buffer.write(d); "
    script += "sys.stderr.write(hashlib.sha256(d).hexdigest())"
    result = await session.run_command(["python3", "-c", script])
    assert hashlib.sha256(result.stdout_bytes).hexdigest() == result.stderr
    assert "\ufffd" in result.stdout


@checks("a child that keeps the pipes open does not keep the command from ending, and lives on")
async def _background_child(session: Session) -> None:
    marker = f"9{int.from_bytes(os.urandom(3), 'big'):08d}"
    with anyio.fail_after(30):
        result = await session.run_command(f"(while sleep 0.05; do echo noise; done) & sleep {marker} & echo 1")
    assert "1" in result.stdout.splitlines()
    found = await session.run_command(["pgrep", "-f", "--", f"sleep {marker}"], check=False)
    assert found.success, "the child was killed"
    await session.run_command(["pkill", "-f", "--", "sleep 0.05|echo noise"], check=False)
    await session.run_command(["pkill", "-f", "--", f"sleep {marker}"], check=False)


@checks("output is streamed as it appears")
async def _streaming(session: Session) -> None:
    async with session.stream_command("echo first; sleep 0.1; echo second >&2; exit 3") as items:
        found = [item async for item in items]
    assert found[:2] == [("stdout", b"first\n"), ("stderr", b"second\n")]
    assert isinstance(found[-1], CommandExit)
    assert found[-1].return_code == 3
    async with session.stream_command("echo out; sleep 600") as items:
        with anyio.fail_after(30):
            assert await anext(items) == ("stdout", b"out\n")
