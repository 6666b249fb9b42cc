"""`ale run`: bad input starts nothing; signals and kills lose nothing and leave nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import ale, start
from tests.exam.conftest import Bench

from ale.exam.events import read_events
from ale.exam.folder import RESULT, read_result
from ale.outcome import Outcome

EXAM = """
name: e
tasks: [computing_math/sums]
agents: [oracle, idle]
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


BAD = {
    "unknown key": ("agnets: [idle]\n", "exam.yaml:5: unknown key 'agnets' (did you mean 'agents'?)"),
    "unknown agent": (EXAM.replace("idle", "idel"), "no agent harness 'idel' (did you mean 'idle'?)"),
    "unknown task": (EXAM.replace("sums", "sumz"), "'computing_math/sumz' (did you mean 'computing_math/sums'?)"),
    "unknown instance": (EXAM.replace("/sums", "/sums:two"), "no instance 'two'"),
    "unknown provider": (EXAM + "sandbox: {provider: locla}\n", "provider 'locla' (did you mean 'local'?)"),
    "unknown setting": (EXAM.replace("idle", "{harness: idle, settings: {speed: 2}}"), "idle has no setting 'speed'"),
    "no model": (EXAM.replace("idle", "qwen-code"), "agent 'qwen-code' needs a model"),
    "no such script": (EXAM.replace("idle", "{harness: qwen-code, model: 'script:no.yaml'}"), "no.yaml does not exist"),
    "not yaml": ("name: [", "not valid YAML"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_starts_nothing(place: Bench, case: str) -> None:
    text, expected = BAD[case]
    text = text if "name" in text else EXAM + text
    (place.folder / "exam.yaml").write_text(text, encoding="utf-8")
    done = ale("run", "exam.yaml", cwd=place.folder)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not (place.folder / "results").exists()


OPTIONS = {
    "a name that is a path": (["--name", "a/b"], "--name 'a/b' must be letters, digits"),
    "no name": (["--name", ""], "--name '' must be letters, digits"),
    "an agent twice": (["-a", "idle"], "two agents are called 'idle'"),
    "a model for nobody": (["-m", "script:x.yaml"], "none of the agents (idle) calls a model; leave --model out"),
    "output that is a file": (["-o", "taken"], "taken is no folder; name another place with --output"),
    "output that can't be made": (["-o", "/proc/x"], "name another place with --output"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_bad_options_are_one_sentence_and_start_nothing(place: Bench, case: str) -> None:
    (place.folder / "taken").write_text("")
    options, expected = OPTIONS[case]
    done = ale("run", "-t", "computing_math/sums", "-a", "idle", *options, cwd=place.folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place.folder / "results").exists()


def test_a_name_for_an_exam_file_is_checked_too(place: Bench) -> None:
    (place.folder / "exam.yaml").write_text(EXAM, encoding="utf-8")
    done = ale("run", "exam.yaml", "--name", "a/b", cwd=place.folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_missing_exam_file_is_named(tmp_path: Path) -> None:
    done = ale("run", "no.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "ale: no.yaml does not exist\n")


def test_a_verb_with_a_typo_names_the_nearest(tmp_path: Path) -> None:
    done = ale("rnu", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'run'?" in done.stderr


def test_a_dry_run_prints_the_plan_and_starts_nothing(place: Bench) -> None:
    (place.folder / "exam.yaml").write_text(EXAM, encoding="utf-8")
    done = ale("run", "exam.yaml", "--dry-run", "--json", cwd=place.folder)
    runs = json.loads(done.stdout)
    assert [(run["agent"], run["instance"]) for run in runs] == [("oracle", "one"), ("idle", "one")]
    assert not (place.folder / "results").exists()


def test_a_broken_task_is_named_with_file_and_line(place: Bench) -> None:
    place.change("main.py", "def load():", "def load(:")
    (place.folder / "exam.yaml").write_text(EXAM, encoding="utf-8")
    done = ale("run", "exam.yaml", cwd=place.folder)
    assert done.returncode == 2
    assert f"{place.workflow / 'main.py'}:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.sandbox
@pytest.mark.usefixtures("base_image")
class TestRealRuns:
    def test_scores_are_printed_and_the_exit_code_says_that_all_have_one(self, place: Bench) -> None:
        (place.folder / "exam.yaml").write_text(EXAM, encoding="utf-8")
        done = ale("run", "exam.yaml", cwd=place.folder)
        assert done.returncode == 0, done.stderr
        assert "1.00" in done.stdout
        assert "no_output" in done.stdout
        assert "ale show results/e" in done.stdout
        again = ale("run", "exam.yaml", "--json", cwd=place.folder)
        assert {result["attempt"] for result in json.loads(again.stdout)} == {1}
        assert again.stderr == "2 of 2 runs done before and kept; --again makes new attempts\n"
        dry = ale("run", "exam.yaml", "--dry-run", cwd=place.folder)
        assert dry.stdout.startswith("0 runs to do; 2 more have a final result")
        shown = ale("show", "results/e/oracle/computing_math/sums/one/1", cwd=place.folder)
        assert "found 42" in shown.stdout
        assert "run_command" in shown.stdout
        by_id = ale("show", json.loads(again.stdout)[0]["id"][:8], "--json", cwd=place.folder)
        assert json.loads(by_id.stdout)["result"]["workflow"] == "computing_math/sums"
        logs = ale("logs", "results/e/oracle/computing_math/sums/one/1", cwd=place.folder)
        assert [line.split()[1] for line in logs.stdout.splitlines()][-1] == "release.end"

    def test_a_mended_task_is_told_from_the_runs_that_were_done_before(self, place: Bench) -> None:
        place.grade_by("raise RuntimeError('broken')")
        again = ("run", "-t", "computing_math/sums", "-a", "oracle", "--name", "e")
        assert ale(*again, cwd=place.folder).returncode == 1
        place.change("main.py", "raise RuntimeError('broken')", "return 1.0")
        done = ale(*again, cwd=place.folder)
        assert done.returncode == 1
        assert "since then computing_math/sums changed; --again makes new attempts" in done.stderr
        assert ale(*again, "--again", "--quiet", cwd=place.folder).stderr == ""

    def test_a_run_without_a_score_makes_exit_code_one(self, place: Bench) -> None:
        place.grade_by("raise RuntimeError('broken')")
        done = ale("run", "-t", "computing_math/sums", "-a", "oracle", cwd=place.folder)
        assert done.returncode == 1
        assert "unscored.grader" in done.stdout
        assert "broken" in done.stdout

    def test_kept_sandboxes_are_listed_entered_and_removed(self, place: Bench) -> None:
        done = ale("run", "-t", "computing_math/sums", "-a", "oracle", "--keep", "--json", cwd=place.folder)
        [result] = json.loads(done.stdout)
        kept = result["sandboxes"][0]
        try:
            listed = json.loads(ale("sandbox", "list", "--json", cwd=place.folder).stdout)
            assert [info["kept"] for info in listed if info["id"] == kept] == [True]
            seen = ale("sandbox", "shell", kept, "--root", "--", "cat", "/task/output/answer.txt", cwd=place.folder)
            assert seen.stdout == "42\n", seen.stderr
        finally:
            removed = ale("sandbox", "rm", kept, cwd=place.folder)
        assert removed.returncode == 0
        listed = json.loads(ale("sandbox", "list", "--json", cwd=place.folder).stdout)
        assert kept not in [info["id"] for info in listed]


@pytest.fixture
def stuck(place: Bench) -> Iterator[tuple[Bench, subprocess.Popen[str], Path]]:
    """`ale run` whose oracle works for ever; the agent is at work when the test begins."""
    place.change(
        "main.py", 'program = "', 'await session.run_command(["sleep", "1000"], timeout=None)\n    program = "'
    )
    command = start("run", "-t", "computing_math/sums", "-a", "oracle", "--name", "s", cwd=place.folder)
    folder = place.folder / "results/s/oracle/computing_math/sums/one/1"
    deadline = time.monotonic() + 60
    while "agent.start" not in events(folder):
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield place, command, folder
    command.kill()
    command.communicate()


def events(folder: Path) -> list[str]:
    path = folder / "events.jsonl"
    return [event.event for event in read_events(path)] if path.exists() else []


def left_of(run: str, place: Bench) -> list[str]:
    return [
        info["id"]
        for info in json.loads(ale("sandbox", "list", "--json", cwd=place.folder).stdout)
        if info["label"] == run
    ]


@pytest.mark.sandbox
@pytest.mark.usefixtures("base_image")
class TestStopping:
    @pytest.mark.parametrize(
        ("number", "code", "times"), [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 1), (signal.SIGINT, 130, 3)]
    )
    def test_a_signal_stops_cleanly(
        self, stuck: tuple[Bench, subprocess.Popen[str], Path], number: signal.Signals, code: int, times: int
    ) -> None:
        place, command, folder = stuck
        for _ in range(times):
            command.send_signal(number)
        _, stderr = command.communicate(timeout=30)
        assert command.returncode == code, stderr
        assert "Traceback" not in stderr
        assert stderr.endswith("stopped with 0 of 1 run complete; the same command goes on from there\n")
        result = read_result(folder)
        assert result is not None
        assert result.outcome is Outcome.CANCELLED
        assert events(folder)[-1] == "release.end"
        assert left_of(result.id, place) == []

    def test_the_same_command_goes_on_after_a_signal(self, stuck: tuple[Bench, subprocess.Popen[str], Path]) -> None:
        place, command, folder = stuck
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=30)
        place.change("main.py", 'await session.run_command(["sleep", "1000"], timeout=None)', "pass")
        done = ale("run", "-t", "computing_math/sums", "-a", "oracle", "--name", "s", cwd=place.folder)
        assert done.returncode == 0, done.stderr
        assert "1.00" in done.stdout
        assert (folder / "tries" / "1" / RESULT).is_file()

    def test_after_kill_9_nothing_runs_and_the_next_command_sweeps(
        self, stuck: tuple[Bench, subprocess.Popen[str], Path]
    ) -> None:
        place, command, folder = stuck
        children = subprocess.run(["pgrep", "-P", str(command.pid)], capture_output=True, text=True, check=True).stdout
        assert children
        run = next(read_events(folder / "events.jsonl")).run
        assert left_of(run, place)
        os.kill(command.pid, signal.SIGKILL)
        command.communicate()
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{child}/root").exists() for child in children.split()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        place.change("main.py", 'await session.run_command(["sleep", "1000"], timeout=None)', "pass")
        done = ale("run", "-t", "computing_math/sums", "-a", "oracle", "--name", "s", cwd=place.folder)
        assert done.returncode == 0, done.stderr
        assert left_of(run, place) == []

    def test_logs_are_followed_to_the_end(self, stuck: tuple[Bench, subprocess.Popen[str], Path]) -> None:
        place, command, folder = stuck
        following = start("logs", "-f", folder, cwd=place.folder)
        assert following.stdout is not None
        assert "plan.start" in following.stdout.readline()
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=30)
        stdout, _ = following.communicate(timeout=30)
        assert stdout.splitlines()[-1].split()[1] == "release.end"
