"""Builds read-only layers: the computer server, a Node runtime, and what a harness's recipe asks for.

Packages are installed inside a box of the image, which has the host's network and its npm configuration for just that
long. Only `/opt/harness/<name>` of what the box wrote becomes the layer.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from ale.errors import HarnessError, SandboxUnavailable
from ale.sandbox.layers import HARNESS_ROOT, LayerIdentity, LayerRecipe
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.mapped import make_directory, remove_tree, run_mapped, tool, tree_mb
from ale.sandbox.local.node import DEFAULT_NODE, node_digest, node_tar
from ale.sandbox.local.npm import npm_configuration
from ale.sandbox.local.server import SERVER_PLACE, server_digest, server_tar
from ale.sandbox.local.state import State, held, read_json, write_json
from ale.sandbox.local.workshop import Job, carry_out
from ale.sandbox.protocol import ImageIdentity, Say

INSTALL_BOUND = 900.0
CHECK_BOUND = 120.0

_EXACT = re.compile(r"^(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*@\d+\.\d+\.\d+[A-Za-z0-9.+-]*$")
"""npm silently takes an older version than the newest when it fits the Node that runs, so versions are written out."""


class Layers:
    """The layers of one state, over its images."""

    def __init__(self, state: State, ids: IdRange) -> None:
        self._state = state
        self._ids = ids

    def directories(self, digest: str) -> tuple[Path, ...]:
        """What a layer puts into an overlay, highest first. Raises SandboxUnavailable when it is not built."""
        facts = self._facts(digest)
        if facts is None:
            raise SandboxUnavailable(f"layer {digest[:12]} is not built; build it: ale agent build")
        return (
            self._state.layers / digest / "fs",
            *(path for need in facts["requires"] for path in self.directories(need)),
        )

    async def server(self, image: ImageIdentity) -> Path:
        """The computer server, compiled by the image's own Python."""
        digest = server_digest(image.content)
        rootfs = self._state.images / image.recipe / "rootfs"

        async def fill(place: Path, fs: Path) -> dict[str, Any]:
            await anyio.to_thread.run_sync(self._unpack, server_tar(), fs)
            await self._compile(place, fs, rootfs)
            return {"name": "server", "version": "", "image": image.content}

        await self._build(digest, lambda line: None, fill)
        return self._state.layers / digest / "fs"

    async def harness(self, recipe: LayerRecipe, image: ImageIdentity, say: Say) -> LayerIdentity:
        """Raises HarnessError when it can't be installed or its check fails."""
        for package in recipe.npm:
            if not _EXACT.match(package):
                raise HarnessError(
                    f"agent '{recipe.name}': npm package '{package}' must have an exact version: name@1.2.3"
                )
        digest = recipe.digest(image.content)
        if self._facts(digest) is None:
            rootfs = self._state.images / image.recipe / "rootfs"
            node = await self._node(recipe.node or DEFAULT_NODE, say) if recipe.npm or recipe.node else None
            needs = (node,) if node is not None and recipe.node else ()

            async def fill(place: Path, fs: Path) -> dict[str, Any]:
                if recipe.npm and node is not None:
                    await self._install(recipe, place, (*self.directories(node), rootfs), say)
                lower = (fs, *(path for need in needs for path in self.directories(need)), rootfs)
                return {
                    "name": recipe.name,
                    "version": await self._check(recipe, place, lower),
                    "requires": list(needs),
                    "image": image.content,
                    "npm": list(recipe.npm),
                }

            await self._build(digest, say, fill)
        facts = self._facts(digest)
        assert facts is not None
        return LayerIdentity(name=recipe.name, digest=digest, version=facts["version"])

    async def _node(self, version: str, say: Say) -> str:
        digest = node_digest(version)

        async def fill(place: Path, fs: Path) -> dict[str, Any]:
            say(f"fetching Node {version}")
            tar, wheel = await anyio.to_thread.run_sync(node_tar, version, place)
            await anyio.to_thread.run_sync(self._unpack, tar, fs)
            return {"name": f"node-{version}", "version": version, "wheel_sha256": wheel}

        await self._build(digest, say, fill)
        return digest

    def _facts(self, digest: str) -> dict[str, Any] | None:
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            return None
        try:
            return read_json(self._state.layers / digest / "layer.json")
        except FileNotFoundError:
            return None

    async def _build(self, digest: str, say: Say, fill: Callable[[Path, Path], Any]) -> None:
        """Make a layer under a temporary name; it gets its final one when it is whole."""
        if self._facts(digest) is not None:
            return
        async with held(self._state, f"layer-{digest[:16]}", say):
            if self._facts(digest) is not None:
                return
            place = self._state.layers / f".build-{digest[:16]}"
            await anyio.to_thread.run_sync(remove_tree, place, self._ids)
            place.mkdir(mode=0o755)
            try:
                fs = place / "fs"
                await anyio.to_thread.run_sync(make_directory, fs, self._ids)
                facts = {"requires": [], **await fill(place, fs)}
                for left in [path for path in place.iterdir() if path != fs]:
                    await anyio.to_thread.run_sync(remove_tree, left, self._ids)
                size = await anyio.to_thread.run_sync(tree_mb, fs, self._ids)
                built = datetime.now(UTC).isoformat(timespec="seconds")
                write_json(place / "layer.json", {**facts, "digest": digest, "built": built, "size_mb": size})
                place.rename(self._state.layers / digest)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(remove_tree, place, self._ids)
                raise

    def _unpack(self, tar: io.BufferedIOBase | Path, fs: Path) -> None:
        command = [tool("tar"), "--extract", "--preserve-permissions", "--numeric-owner"]
        path = tar if isinstance(tar, Path) else fs.parent / "unpack.tar"
        if not isinstance(tar, Path):
            with path.open("wb") as file:
                shutil.copyfileobj(tar, file)
        with path.open("rb") as file:
            run_mapped(command, self._ids, cwd=fs, stdin=file)
        path.unlink()

    async def _compile(self, place: Path, fs: Path, rootfs: Path) -> None:
        """Unchecked: the layer never changes, so nothing needs to be looked up when the server starts."""
        command = ("/usr/bin/python3", "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
        job = Job((*command, SERVER_PLACE), (fs, rootfs), place / "compile")
        done = await carry_out(job, self._ids)
        if done.return_code != 0:
            raise SandboxUnavailable(f"the computer server does not compile in the image: {done.stdout[-300:]}")
        await self._keep(place, f"compile/upper{SERVER_PLACE}/__pycache__", f"fs{SERVER_PLACE}")

    async def _install(self, recipe: LayerRecipe, place: Path, lower: tuple[Path, ...], say: Say) -> None:
        say(f"installing {' '.join(recipe.npm)}")
        home = f"{HARNESS_ROOT}/{recipe.name}"
        settings = npm_configuration()
        quiet = ("--no-audit", "--no-fund", "--no-update-notifier")
        options = ("--global", "--prefix", home, "--cache", "/tmp/npm", *quiet)  # noqa: S108 - in the box, gone with it
        job = Job(
            ("/usr/bin/env", "npm", "install", *options, *recipe.npm),
            lower,
            place / "install",
            network=True,
            env=settings.env,
            data=settings.data,
            timeout=INSTALL_BOUND,
        )
        done = await carry_out(job, self._ids)
        if done.return_code != 0:
            words = "; ".join(line for line in done.stderr.splitlines() if "error" in line.lower())[:500]
            how = "took too long" if done.return_code is None else f"failed with exit code {done.return_code}"
            raise HarnessError(f"agent '{recipe.name}': npm install {how}: {words or done.stderr.strip()[-300:]}")
        await self._keep(place, f"install/upper{home}", f"fs{HARNESS_ROOT}")

    async def _check(self, recipe: LayerRecipe, place: Path, lower: tuple[Path, ...]) -> str:
        if not recipe.check:
            return ""
        job = Job(("/usr/bin/env", *recipe.check), lower, place / "check", as_agent=True, timeout=CHECK_BOUND)
        done = await carry_out(job, self._ids)
        lines = done.stdout.strip().splitlines()
        if done.return_code != 0 or not lines:
            words = (done.stderr.strip() or done.stdout.strip())[-300:]
            raise HarnessError(
                f"agent '{recipe.name}' was installed but does not run: {' '.join(recipe.check)} ended with "
                f"{done.return_code}: {words or 'no output'}"
            )
        return lines[0].strip()[:200]

    async def _keep(self, place: Path, source: str, target: str) -> None:
        """Move what a box wrote into the layer, as the mapped root that owns both."""
        command = [tool("sh"), "-c", 'mkdir -p "$2" && mv "$1" "$2"/', "keep", source, target]
        await anyio.to_thread.run_sync(lambda: run_mapped(command, self._ids, cwd=place))
