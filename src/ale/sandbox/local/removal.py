"""Takes apart what is no longer needed: machines, disks that nobody uses, builds that died. Calls block."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ale.errors import SandboxUnavailable
from ale.sandbox.local import cgroups
from ale.sandbox.local.build import clean_scratch
from ale.sandbox.local.disk import DiskWatch
from ale.sandbox.local.idmap import IdRange
from ale.sandbox.local.mapped import remove_tree
from ale.sandbox.local.record import Record, Shelf, stop
from ale.sandbox.local.state import State, read_json, try_lock


class Removal:
    def __init__(self, state: State, shelf: Shelf, ids: IdRange, watch: DiskWatch) -> None:
        self._state = state
        self._shelf = shelf
        self._ids = ids
        self._watch = watch

    def stop_and_remove(self, record: Record) -> None:
        if not stop(record):
            raise SandboxUnavailable(
                f"sandbox {record.id} can't be stopped: its processes ignore SIGKILL; the kernel waits for a device"
            )
        self.remove(record)

    def remove(self, record: Record) -> None:
        """Of a machine that was stopped. Its disk stays while a fork of it lives."""
        self._watch.forget(record.id)
        cgroups.remove(tuple(Path(path) for path in record.cgroups))
        remove_tree(self._shelf.folder(record.id), self._ids)
        self._remove_disks()

    def sweep(self) -> list[str]:
        """Machines whose maker holds their lock no more; ids of those. Kept ones stay."""
        removed = []
        with self._state.locked():
            folders = [path for path in sorted(self._state.sandboxes.iterdir()) if path.is_dir()]
        for folder in folders:
            record = self._shelf.read(folder.name)
            if record is not None and record.spec.keep:
                continue
            with self._state.locked():
                lock = try_lock(folder / "lock") if folder.exists() else None
            if lock is None:
                continue  # its maker lives, or it is gone
            try:
                if record is None:
                    remove_tree(folder, self._ids)
                else:
                    self.stop_and_remove(record)
                removed.append(folder.name)
            finally:
                os.close(lock)
        self._remove_disks()
        return removed

    def dead_builds(self) -> list[str]:
        """A line for each that was removed."""
        removed = [f"scratch directory {path}" for path in clean_scratch(self._state, self._ids)]
        for folder, kind in ((self._state.images, "build"), (self._state.layers, "layer")):
            for place in sorted(folder.glob(".build-*")):
                lock = try_lock(self._state.root / f".{kind}-{place.name.removeprefix('.build-')}.lock")
                if lock is None:
                    continue
                try:
                    remove_tree(place, self._ids)
                    removed.append(f"unfinished build {place}")
                finally:
                    os.close(lock)
        return removed

    def old_builds(self, current: Collection[str]) -> list[str]:
        """Images whose recipe is none of `current` and that no machine uses, and the layers on images that are gone;
        a line for each."""
        removed = []
        with self._state.locked():
            used = {record.image.recipe for record in self._shelf.all()}
            for place in sorted(self._state.images.iterdir()):
                if (place / "image.json").exists() and place.name not in used and place.name not in current:
                    removed.append(f"image {read_json(place / 'image.json')['name']} {place.name[:12]}")
                    remove_tree(place, self._ids)
            contents = {read_json(path)["content"] for path in self._state.images.glob("*/image.json")}
            for path in sorted(self._state.layers.glob("*/layer.json")):
                facts = read_json(path)
                if facts.get("image", "") not in ("", *contents):
                    removed.append(f"layer {facts['name']} {path.parent.name[:12]}")
                    remove_tree(path.parent, self._ids)
        return removed

    def _remove_disks(self) -> None:
        with self._state.locked():
            unused = self._shelf.unused_disks()
            # taken out of sight under the lock, since removing a large tree takes seconds
            doomed = [path if path.name[0] == "." else path.rename(path.with_name(f".{path.name}")) for path in unused]
        for path in doomed:
            remove_tree(path, self._ids)
