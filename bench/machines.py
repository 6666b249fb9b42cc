"""What a local sandbox costs: to the first command, to a usable desktop, to a grading machine on a frozen disk."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator

from ale.sandbox import open_provider
from ale.sandbox.protocol import SandboxSpec, Screen
from bench.measure import Series

_SPEC = SandboxSpec(label="bench", image="base")
_DESKTOP = SandboxSpec(label="bench", image="base", screen=Screen())


async def measure(samples: int) -> AsyncIterator[Series]:
    provider = open_provider("local")
    await provider.build_image("base", lambda line: None)
    bare = Series("bwrap --unshare-all true (for comparison)")
    answering = Series("sandbox: create, server answers", wanted_wall=0.2)
    first = Series("sandbox: create, first command", wanted_wall=0.25)
    fork = Series("sandbox: grading machine on a frozen disk", wanted_wall=0.1)
    destroy = Series("sandbox: destroy")
    desktop = Series("sandbox: create, desktop usable", wanted_wall=0.9)
    for _ in range(samples):
        with bare.sample():
            subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], check=True)
        with answering.sample():
            machine = await provider.create(_SPEC)
        await machine.destroy()
        with first.sample():
            machine = await provider.create(_SPEC)
            await machine.session().run_command(["true"])
        await machine.session().write_bytes("/home/agent/file", b"x" * 2**20)
        await machine.freeze()
        with fork.sample():
            copy = await machine.fork(_SPEC)
        with destroy.sample():
            await copy.destroy()
        await machine.destroy()
        with desktop.sample():
            machine = await provider.create(_DESKTOP)
        await machine.destroy()
    for series in (bare, answering, first, fork, destroy, desktop):
        yield series
