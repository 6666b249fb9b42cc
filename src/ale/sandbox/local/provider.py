"""The local provider: machines made of bubblewrap, user namespaces and overlayfs on this host."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio

from ale.computer.client import connect
from ale.computer.paths import UIDS
from ale.documents import nearest
from ale.errors import InfrastructureError, SandboxLost, SandboxUnavailable, UsageError
from ale.sandbox.images import find_recipes, read_recipe
from ale.sandbox.layers import LayerIdentity, LayerRecipe
from ale.sandbox.local import cgroups, machine
from ale.sandbox.local.apt import host_suite
from ale.sandbox.local.build import build_image, identity, is_whole
from ale.sandbox.local.disk import DiskWatch
from ale.sandbox.local.idmap import IdRange, find_range
from ale.sandbox.local.launch import Overlay
from ale.sandbox.local.layers import Layers
from ale.sandbox.local.mapped import tree_mb
from ale.sandbox.local.record import Record, Shelf
from ale.sandbox.local.removal import Removal
from ale.sandbox.local.sandbox import Grip, LocalSandbox, Surroundings
from ale.sandbox.local.spawner import Spawner
from ale.sandbox.local.state import State, read_json
from ale.sandbox.protocol import ImageIdentity, Sandbox, SandboxInfo, SandboxSpec, Say, Strength


class LocalProvider:
    """Machines of one user on this host. Their maker's end is their end, unless they are kept."""

    name = "local"

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._state = State.of(os.environ if environ is None else environ)
        self._known: _Known | None = None

    async def image(self, name: str) -> ImageIdentity:
        digest = read_recipe(name).digest(host_suite())
        facts_path = self._state.images / digest / "image.json"
        if not is_whole(facts_path.parent):
            raise SandboxUnavailable(f"image '{name}' is not built; build it: ale sandbox build {name}")
        facts = read_json(facts_path)
        ids = find_range()
        if facts["ids"] != {"uid": ids.uid, "gid": ids.gid}:
            raise SandboxUnavailable(
                f"image '{name}' was unpacked for the ids from {facts['ids']['uid']}, but this user's begin at "
                f"{ids.uid}; remove {facts_path.parent} and build it again: ale sandbox build {name}"
            )
        return identity(facts)

    async def build_image(self, name: str, say: Say) -> ImageIdentity:
        return await build_image(read_recipe(name), self._state, say)

    async def build_layer(self, recipe: LayerRecipe, image: str, say: Say) -> LayerIdentity:
        built = await self.image(image)
        return await self._prepared().layers.harness(recipe, built, say)

    async def create(self, spec: SandboxSpec) -> Sandbox:
        return await self._start(spec, await self.image(spec.image), inherited=())

    async def list(self) -> Sequence[SandboxInfo]:
        known = self._prepared()
        records = await anyio.to_thread.run_sync(known.shelf.all)
        return [await anyio.to_thread.run_sync(self._info, known, record) for record in records]

    async def attach(self, sandbox: str) -> Sandbox:
        known = self._prepared()
        record = self._find(known, sandbox)
        if record.init is None or not record.init.alive():
            raise UsageError(f"sandbox {sandbox} has ended; remove what is left of it: ale sandbox rm {sandbox}")
        session = await connect(known.shelf.endpoint(record))
        return LocalSandbox(record, session, self._surroundings(known))

    async def remove(self, sandbox: str) -> None:
        known = self._prepared()
        record = self._find(known, sandbox)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(known.removal.stop_and_remove, record)

    async def sweep(self) -> Sequence[str]:
        known = self._prepared()
        with anyio.CancelScope(shield=True):
            removed = await anyio.to_thread.run_sync(known.removal.sweep)
        return removed  # noqa: RET504 - the scope may swallow a cancellation, says its type

    async def collect_garbage(self, *, old: bool = False) -> Sequence[str]:
        """What `sweep` removes, and what builds that died left behind; a line for each. old: also images that no
        recipe gives any more, with their layers."""
        known = self._prepared()
        removed = [f"sandbox {name}" for name in await self.sweep()]
        with anyio.CancelScope(shield=True):
            removed += await anyio.to_thread.run_sync(known.removal.dead_builds)
            if old:
                suite = host_suite()
                current = {read_recipe(name).digest(suite) for name in find_recipes()}
                removed += await anyio.to_thread.run_sync(known.removal.old_builds, current)
        return removed

    # making

    async def _start(self, spec: SandboxSpec, image: ImageIdentity, inherited: tuple[str, ...]) -> LocalSandbox:
        known = self._prepared()
        if not inherited:  # a run that has begun is not given up for the space that its agent may have used up
            known.watch.check_room()
        server = await known.layers.server(image)
        layers = [path for digest in reversed(spec.layers) for path in known.layers.directories(digest)]
        record, lock = await anyio.to_thread.run_sync(known.shelf.reserve, spec, image, inherited)
        process = door = None
        folder = known.shelf.folder(record.id)
        try:
            groups = cgroups.make(known.hierarchy, f"ale-{record.id}", spec.size)
            record = known.shelf.update(record, cgroups=tuple(str(path) for path in groups))
            uppers = [known.shelf.disk(disk) / "upper" for disk in inherited]
            overlay = Overlay(
                lower=(*uppers, *layers, server, self._state.images / image.recipe / "rootfs"),
                disk=known.shelf.disk(record.id),
            )
            with machine.listen(folder / "control.sock") as control:
                started = await known.spawner.run(
                    partial(
                        machine.start,
                        machine.box_for(spec.hostname, tied=not spec.keep, memory_mb=spec.size.memory_mb),
                        overlay,
                        known.ids,
                        control=control,
                        log=folder / "log",
                        before_start=partial(cgroups.enter, groups),
                    )
                )
            process = started.process
            # known on disk before the server is told to run: from here a sweep finds what this process leaves
            record = known.shelf.update(record, monitor=started.monitor, init=started.init)
            door = await machine.greet(started, _start_message(record), folder / "log")
            session = await connect(known.shelf.endpoint(record))
            if spec.screen is not None:
                # a program that starts before the window manager is never managed: it gets neither focus nor frame
                await session.screen_size()
        except BaseException as error:
            words = machine.last_words(folder / "log")
            with anyio.CancelScope(shield=True):
                if door is not None:
                    door.close()
                await anyio.to_thread.run_sync(known.removal.stop_and_remove, record)
                if process is not None:
                    await anyio.to_thread.run_sync(process.wait)
                os.close(lock)
            if isinstance(error, SandboxLost):
                raise SandboxUnavailable(f"a sandbox ended while it started: {error.evidence}; {words}") from error
            if isinstance(error, InfrastructureError | OSError) and not isinstance(error, SandboxUnavailable):
                raise SandboxUnavailable(f"a sandbox did not start as a whole: {error}; {words}") from error
            raise
        known.watch.add(record)
        return LocalSandbox(record, session, self._surroundings(known), Grip(lock, process, door))

    async def _release(self, record: Record) -> None:
        await anyio.to_thread.run_sync(self._prepared().removal.remove, record)

    async def _fork(self, ancestor: Record, spec: SandboxSpec) -> Sandbox:
        return await self._start(replace(spec, image=ancestor.image.name), ancestor.image, inherited=ancestor.disks)

    # knowing

    def _prepared(self) -> _Known:
        """What this machine can do, found out once. Raises SandboxUnavailable with the mend."""
        if self._known is None:
            ids = find_range()
            self._state.prepare()
            shelf = Shelf(self._state)
            hierarchy = cgroups.find_hierarchy()
            watch = DiskWatch(self._state, shelf, ids)
            self._known = _Known(
                ids=ids,
                shelf=shelf,
                layers=Layers(self._state, ids),
                hierarchy=hierarchy,
                strength=strength(hierarchy, ids),
                watch=watch,
                removal=Removal(self._state, shelf, ids, watch),
                spawner=Spawner(),
            )
        return self._known

    def _surroundings(self, known: _Known) -> Surroundings:
        return Surroundings(
            shelf=known.shelf,
            strength=known.strength,
            agent_uid=known.ids.host_uid(UIDS["agent"]),
            fork=self._fork,
            release=self._release,
            verdict=known.watch.verdict,
        )

    def _find(self, known: _Known, sandbox: str) -> Record:
        record = known.shelf.read(sandbox)
        if record is None:
            names = [other.id for other in known.shelf.all()]
            raise UsageError(f"there is no sandbox '{sandbox}'{nearest(sandbox, names)}; see `ale sandbox list`")
        return record

    def _info(self, known: _Known, record: Record) -> SandboxInfo:
        upper = known.shelf.disk(record.id) / "upper"
        size = tree_mb(upper, known.ids) * 2**20 if upper.exists() else 0
        return known.shelf.info(record, size)


@dataclass(frozen=True)
class _Known:
    ids: IdRange
    shelf: Shelf
    layers: Layers
    hierarchy: cgroups.Hierarchy
    strength: Strength
    watch: DiskWatch
    removal: Removal
    spawner: Spawner


def strength(hierarchy: cgroups.Hierarchy, ids: IdRange) -> Strength:
    """Which limit is enforced by what here."""
    group: Callable[[str], str] = lambda controller: hierarchy.name if hierarchy.has(controller) else ""  # noqa: E731
    processes = [part for part in (group("pids"), "rlimit of the agent's user") if part]
    return Strength(
        memory=group("memory"),
        processes=" and ".join(processes),
        disk="file size limit, watcher and free-space floor",
        network="a namespace of its own, no device but loopback",
        users=f"mapped to host ids from {ids.uid}" + ("" if ids.privileged else " by newuidmap"),
        details={"cpu": group("cpu"), "system calls": "deny list", "capabilities": "over mapped users alone"},
    )


def _start_message(record: Record) -> dict[str, object]:
    spec = record.spec
    return {
        "token": record.token,
        "sandbox": record.id,
        "hostname": spec.hostname,
        "door": spec.door,
        "screen": {"width": spec.screen.width, "height": spec.screen.height} if spec.screen else None,
        "limits": {
            "processes": machine.AGENT_PROCESSES if record.cgroups else machine.UNGROUPED_PROCESSES,
            "file_mb": spec.size.disk_mb,
            "open_files": machine.OPEN_FILES,
        },
    }
