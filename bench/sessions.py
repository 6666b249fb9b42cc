"""Round trips of a Session: a command, a file, a tree; and the screen."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from ale.computer.session import Session
from ale.sandbox import open_provider
from ale.sandbox.protocol import SandboxSpec, Screen
from bench.measure import Series

_MB = 2**20


async def measure(samples: int) -> AsyncIterator[Series]:
    provider = open_provider("local")
    await provider.build_image("base", lambda line: None)
    machine = await provider.create(SandboxSpec(label="bench", image="base", screen=Screen()))
    session = machine.session()
    try:
        bare = Series("subprocess true on the host (for comparison)")
        command = Series("session: run_command true", wanted_wall=0.004)
        exists = Series("session: exists")
        write = Series("session: write 1 MB")
        read = Series("session: read 1 MB")
        shot = Series("session: screenshot 1280x800")
        for _ in range(samples * 5):
            with bare.sample():
                subprocess.run(["true"], check=True)
            with command.sample():
                await session.run_command(["true"])
            with exists.sample():
                await session.exists("/task/input")
            with write.sample():
                await session.write_bytes("/tmp/file", b"x" * _MB)
            with read.sample():
                await session.read_bytes("/tmp/file")
            with shot.sample():
                await session.screenshot()
        for series in (bare, command, exists, write, read, shot):
            yield series
        async for series in _trees(samples, session):
            yield series
    finally:
        await machine.destroy()


async def _trees(samples: int, session: Session) -> AsyncIterator[Series]:
    tar = Series("tar to tar on the host, 100 MB in 1,000 files (for comparison)")
    up = Series("session: upload 100 MB in 1,000 files")
    down = Series("session: download 100 MB in 1,000 files")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "tree"
        source.mkdir()
        for number in range(1000):
            (source / f"{number:04}.bin").write_bytes(number.to_bytes(4, "big") * (100 * _MB // 1000 // 4))
        for number in range(max(2, samples // 4)):
            target = Path(scratch) / f"copy{number}"
            target.mkdir()
            with tar.sample():
                subprocess.run(f"tar -C {source} -cf - . | tar -C {target} -xf -", shell=True, check=True)
            with up.sample():
                await session.upload(source, "/tmp/tree")
            with down.sample():
                await session.download("/tmp/tree", Path(scratch) / f"back{number}")
            await session.delete("/tmp/tree")
    for series in (tar, up, down):
        yield series
