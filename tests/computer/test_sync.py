"""The synchronous session of class-form tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from ale.computer.fake import FakeCall, FakeReply
from ale.computer.sync import VmSession
from ale.sandbox.fake import FakeProvider
from ale.sandbox.protocol import SandboxSpec


def chmod(call: FakeCall) -> FakeReply:
    path = call.path(call.argv[2])
    path.chmod(path.stat().st_mode | 0o111)
    return FakeReply()


COMMANDS = {"chmod": chmod, "echo": lambda call: FakeReply(2, b"out", b"err")}


async def test_a_class_form_task_can_do_all_it_needs(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "raw/more").mkdir(parents=True)
    (folder / "raw/more/clip.txt").write_text("clip", encoding="utf-8")
    (folder / "check.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    sandbox = await FakeProvider(COMMANDS).create(SandboxSpec(label="test", image="base"))
    vm = VmSession(sandbox.session(), folder)

    def act() -> None:
        vm.upload_file("raw", "/workspace/footage/")
        assert vm.read_file("/workspace/footage/more/clip.txt") == "clip"
        vm.upload_file("check.sh", "/workspace/bin/")
        assert vm.file_exists("/workspace/bin/check.sh")
        vm.upload_file("check.sh", "/workspace/named")
        assert vm.list_dir("/workspace") == ["bin", "footage", "named"]
        vm.download_file("/workspace/footage/more/clip.txt", tmp_path / "back/clip.txt")
        assert (tmp_path / "back/clip.txt").read_text(encoding="utf-8") == "clip"
        result = vm.exec("echo hello")
        assert (result.exit_code, result.return_code, result.stdout, result.stderr) == (2, 2, "out", "err")
        assert not result.success
        vm.write_file("/tmp/x", "y")
        vm.copy("/tmp/x", "/tmp/y")
        vm.delete("/tmp/x")
        assert not vm.exists("/tmp/x")
        assert vm.directory_exists("/tmp")
        with pytest.raises(FileNotFoundError, match="no file nothing"):
            vm.upload_file("nothing", "/tmp/nothing")
        with pytest.raises(FileNotFoundError):
            vm.read_file("/tmp/x")

    try:
        await run_sync(act)
        found = {entry.name: entry.mode for entry in await sandbox.session().scan_dir("/workspace/bin")}
        assert found["check.sh"] & 0o111
    finally:
        await sandbox.destroy()
