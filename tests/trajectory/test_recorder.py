"""From what is done with a Session to steps: reported by the recording Session, read back by the trajectory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ale.computer.recording import MAX_TEXT, RecordingSession
from ale.computer.session import CommandResult
from ale.errors import CommandFailed
from ale.trajectory.recorder import RecordedAction, steps_from_actions
from ale.trajectory.schema import Step


class Machine:
    """The few calls of a Session that these tests make."""

    async def run_command(self, command: str, *, check: bool = True, stdin: bytes | None = None) -> CommandResult:
        result = CommandResult(2, b"built", b"warning")
        if check:
            raise CommandFailed(command, result)
        return result

    async def screenshot(self) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + bytes(range(256))

    async def read_file(self, path: str) -> str:
        if path == "/nowhere":
            raise FileNotFoundError(path)
        return "x" * (MAX_TEXT + 7)

    async def write_file(self, path: str, text: str) -> None:
        """Nothing to see."""


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def session(told: list[str]) -> Any:
    def report(action: Mapping[str, Any]) -> None:
        told.append(json.dumps(action))

    return RecordingSession(Machine(), report)  # type: ignore[arg-type]


def steps(folder: Path, told: list[str]) -> list[Step]:
    return list(steps_from_actions(folder, map(RecordedAction.model_validate_json, told)))


async def test_calls_become_steps_with_true_times_and_exit_codes(session: Any, told: list[str], tmp_path: Path) -> None:
    assert (await session.run_command("make", check=False, stdin=b"123")).return_code == 2
    await session.screenshot()
    make, shot = steps(tmp_path, told)
    assert (make.actor, make.action.type) == ("oracle", "Bash")
    assert make.action.args == {"command": "make", "check": False, "stdin": "3 bytes"}
    assert make.observation is not None
    assert (make.observation.stdout, make.observation.stderr, make.observation.exit_code) == ("built", "warning", 2)
    assert make.observation.timestamp is not None
    assert make.timestamp <= make.observation.timestamp
    assert shot.action.type == "GUI"
    assert shot.observation is not None
    assert (tmp_path / str(shot.observation.image_path)).read_bytes().startswith(b"\x89PNG")


async def test_what_a_call_raises_is_recorded_and_goes_on(session: Any, told: list[str], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await session.read_file("/nowhere")
    with pytest.raises(CommandFailed):
        await session.run_command("make")
    missing, failed = steps(tmp_path, told)
    assert missing.observation is not None
    assert missing.observation.error == "FileNotFoundError: /nowhere"
    assert failed.observation is not None
    assert (failed.observation.exit_code, failed.observation.stdout) == (2, "built")


async def test_texts_are_bounded_and_say_so(session: Any, told: list[str], tmp_path: Path) -> None:
    await session.read_file("/long")
    await session.write_file("/odd\ud800\0", "c" * 10 * MAX_TEXT)
    read, written = steps(tmp_path, told)
    assert read.observation is not None
    assert "7 characters are left out" in str(read.observation.text)
    assert len(written.action.args["text"]) < MAX_TEXT + 100
    assert written.action.args["path"] == "/odd\ufffd\u2400"


async def test_another_user_is_recorded_too(told: list[str]) -> None:
    class Both(Machine):
        def as_user(self, user: str) -> Machine:
            return self

    await RecordingSession(Both(), lambda action: told.append(action["kind"])).as_user("agent").screenshot()  # type: ignore[arg-type]
    assert told == ["screenshot"]
