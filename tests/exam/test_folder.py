"""The run folder: whole files only, earlier tries set aside, one owner at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ale.errors import UsageError
from ale.exam.events import EventLog, read_events
from ale.exam.folder import RESULT, claimed, find_runs, read_result, set_aside, write_whole


def test_a_file_is_replaced_whole_and_no_temporary_one_stays(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "f", b"one")
    write_whole(tmp_path / "a" / "f", b"two")
    assert (tmp_path / "a" / "f").read_bytes() == b"two"
    assert [entry.name for entry in (tmp_path / "a").iterdir()] == ["f"]


def test_what_a_try_left_is_set_aside_in_order(tmp_path: Path) -> None:
    assert set_aside(tmp_path / "run") == 0
    for number in (1, 2):
        write_whole(tmp_path / "run" / "events.jsonl", str(number).encode())
        assert set_aside(tmp_path / "run") == number
    assert (tmp_path / "run" / "tries" / "2" / "events.jsonl").read_bytes() == b"2"
    assert set_aside(tmp_path / "run") == 0


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from ale.exam.folder import claimed\n"
        f"with claimed(Path({str(tmp_path)!r})) as mine: print(mine)"
    )
    with claimed(tmp_path) as mine:
        assert mine
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert other.stdout.strip() == "False"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == "True"


def test_attempt_ten_comes_after_attempt_nine(tmp_path: Path) -> None:
    for attempt in (10, 9, 1):
        write_whole(tmp_path / "agent" / "c" / "w" / "i" / str(attempt) / "events.jsonl", b"")
    assert [folder.name for folder in find_runs(tmp_path)] == ["1", "9", "10"]


def test_a_result_that_is_none_is_named(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    (tmp_path / RESULT).write_text('{"schema": "ale.run/9"}', encoding="utf-8")
    with pytest.raises(UsageError, match=RESULT):
        read_result(tmp_path)


def test_phases_are_logged_with_true_times_also_when_they_fail(tmp_path: Path) -> None:
    seen: list[str] = []
    log = EventLog(tmp_path / "events.jsonl", "r1", lambda event: seen.append(event.event))
    with log.phase("plan") as notes:
        notes["agent"] = "a"
    with pytest.raises(KeyError), log.phase("provision"):
        raise KeyError
    log.close()
    events = list(read_events(tmp_path / "events.jsonl"))
    assert [event.event for event in events] == seen == ["plan.start", "plan.end", "provision.start", "provision.end"]
    assert events[1].data["agent"] == "a"
    assert events[3].data["error"] == "KeyError"
    assert [event.mono for event in events] == sorted(event.mono for event in events)
    assert set(log.phases) == {"plan", "provision"}


def test_what_a_machine_says_can_be_logged_whatever_it_is(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", "r1", lambda event: None)
    log.emit("sandbox.lost", evidence="\ud800\0")
    log.close()
    [event] = read_events(tmp_path / "events.jsonl")
    assert event.data["evidence"] == "\ufffd\u2400"


def test_a_line_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", "r1", lambda event: None)
    log.emit("plan.start")
    log.close()
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "plan.en')
    assert [event.event for event in read_events(tmp_path / "events.jsonl")] == ["plan.start"]
