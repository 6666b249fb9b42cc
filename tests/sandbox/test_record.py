"""Records on disk, locks, and what a sweep may take."""

import json
import os
from pathlib import Path

import pytest

from ale.sandbox.local.disk import DiskWatch
from ale.sandbox.local.idmap import find_range
from ale.sandbox.local.processes import ProcessId, boot_id
from ale.sandbox.local.record import Record, Shelf
from ale.sandbox.local.removal import Removal
from ale.sandbox.local.state import State, try_lock, write_json
from ale.sandbox.protocol import ImageIdentity, SandboxSpec, Screen, Size

IMAGE = ImageIdentity("base", "r", "c")

pytestmark = pytest.mark.sandbox


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    state = State(tmp_path / "ale")
    state.prepare()
    return Shelf(state)


def removal(tmp_path: Path, shelf: Shelf) -> Removal:
    state = State(tmp_path / "ale")
    return Removal(state, shelf, find_range(), DiskWatch(state, shelf, find_range()))


def test_a_record_reads_back_as_it_was_written(shelf: Shelf) -> None:
    spec = SandboxSpec("l", "base", layers=("a",), size=Size(1, 2, 3), screen=Screen(5, 6), door=True)
    record, lock = shelf.reserve(spec, IMAGE, ("older",))
    record = shelf.update(record, monitor=ProcessId(1, 2, "b"), init=None, frozen=True, cgroups=("/x",))
    assert shelf.read(record.id) == record
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert record.disks == (record.id, "older")
    assert (shelf.folder(record.id) / "sandbox.json").stat().st_mode & 0o077 == 0, "others may read the token"
    os.close(lock)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "unknown"])
def test_names_that_are_no_sandbox(shelf: Shelf, name: str) -> None:
    assert shelf.read(name) is None


def test_a_sweep_takes_what_nobody_holds_and_spares_the_rest(tmp_path: Path, shelf: Shelf) -> None:
    held, lock = shelf.reserve(SandboxSpec("held", "base"), IMAGE, ())
    dead, dead_lock = shelf.reserve(SandboxSpec("dead", "base"), IMAGE, ())
    kept, kept_lock = shelf.reserve(SandboxSpec("kept", "base", keep=True), IMAGE, ())
    os.close(dead_lock)
    os.close(kept_lock)
    (shelf.disk("nobodys")).mkdir()
    assert removal(tmp_path, shelf).sweep() == [dead.id]
    assert [record.id for record in shelf.all()] == sorted([held.id, kept.id])
    assert sorted(path.name for path in (tmp_path / "ale/disks").iterdir()) == sorted([held.id, kept.id])
    os.close(lock)


def test_a_folder_without_a_record_is_swept(tmp_path: Path, shelf: Shelf) -> None:
    shelf.folder("halfway").mkdir()
    assert removal(tmp_path, shelf).sweep() == ["halfway"]
    assert list((tmp_path / "ale/sandboxes").iterdir()) == []


def test_a_disk_lives_as_long_as_a_fork_needs_it(tmp_path: Path, shelf: Shelf) -> None:
    old, old_lock = shelf.reserve(SandboxSpec("old", "base"), IMAGE, ())
    fork, fork_lock = shelf.reserve(SandboxSpec("fork", "base"), IMAGE, old.disks)
    take = removal(tmp_path, shelf)
    take.remove(old)
    assert shelf.disk(old.id).is_dir()
    take.remove(fork)
    assert list((tmp_path / "ale/disks").iterdir()) == []
    os.close(old_lock)
    os.close(fork_lock)


def test_old_images_go_with_their_layers_unless_a_machine_uses_them(tmp_path: Path, shelf: Shelf) -> None:
    state = State(tmp_path / "ale")
    for name in ("current", "used", "old"):
        (state.images / name).mkdir()
        write_json(state.images / name / "image.json", {"name": name, "content": f"content of {name}"})
    for name, image in (("of-old", "content of old"), ("of-current", "content of current"), ("node", "")):
        (state.layers / name).mkdir()
        write_json(state.layers / name / "layer.json", {"name": name, "image": image})
    _, lock = shelf.reserve(SandboxSpec("l", "base"), ImageIdentity("base", "used", "c"), ())
    assert removal(tmp_path, shelf).old_builds({"current"}) == ["image old old", "layer of-old of-old"]
    assert sorted(path.name for path in state.images.iterdir()) == ["current", "used"]
    os.close(lock)


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    first = try_lock(tmp_path / "lock")
    assert first is not None
    assert try_lock(tmp_path / "lock") is None
    os.close(first)
    second = try_lock(tmp_path / "lock")
    assert second is not None
    os.close(second)


def test_a_pid_alone_names_no_process() -> None:
    mine = ProcessId.of(os.getpid())
    assert mine is not None
    assert mine.alive()
    assert not ProcessId(mine.pid, mine.start + 1, mine.boot).alive(), "another process with this pid was taken for it"
    assert not ProcessId(mine.pid, mine.start, "before-the-boot").alive()
    assert mine.boot == boot_id()


def test_the_home_of_all_this_follows_the_environment(tmp_path: Path) -> None:
    assert State.of({"ALE_HOME": str(tmp_path)}).root == tmp_path
    assert State.of({"XDG_DATA_HOME": "/data", "HOME": "/h"}).root == Path("/data/ale")
    assert State.of({"HOME": "/h"}).root == Path("/h/.local/share/ale")
