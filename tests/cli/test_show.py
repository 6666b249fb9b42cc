"""`ale show` and `ale logs` on what lies in a results folder: finished, cut short, or nothing."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.commands import ale, start

from ale.exam.folder import RESULT, write_record
from ale.exam.plan import run_id
from ale.exam.result import AgentRecord, LimitRecord, RunResult, ScoreRecord
from ale.outcome import AgentEnd, Outcome

START = datetime(2025, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
CALL = {
    "n": 1,
    "start": "2025-03-01T12:00:00Z",
    "end": "2025-03-01T12:00:02.500Z",
    "status": 200,
    "usage": {"input_tokens": 900, "output_tokens": 30, "cache_read_tokens": 0},
    "error": None,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """results/march: two agents, three runs; one of them has no result yet. results/april: one run."""
    run(tmp_path, "march", "oracle", 1, 1.0)
    run(tmp_path, "march", "qwen-scripted-with-a-long-name", 1, 0.25)
    run(tmp_path, "march", "qwen-scripted-with-a-long-name", 2, None)
    run(tmp_path, "april", "oracle", 1, 1.0)
    return tmp_path


def run(root: Path, experiment: str, agent: str, attempt: int, score: float | None) -> None:
    workflow = "business_finance/vendor_reconciliation"
    folder = root / "results" / experiment / agent / workflow / "instance1" / str(attempt)
    folder.mkdir(parents=True)
    events: tuple[tuple[str, dict[str, object]], ...] = (
        ("agent.start", {}),
        ("model.call", CALL),
        ("freeze.end", {"killed": [{"pid": 7, "name": "node"}], "checked": ["guest", "host"], "seconds": 0.5}),
    )
    with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
        for name, data in events:
            event = {"event": name, "run": "r", "time": START.isoformat(), "mono": 1.0, "data": data}
            file.write(json.dumps(event) + "\n")
    if score is not None:
        result = RunResult(
            id=run_id(experiment, agent, workflow, "instance1", attempt),
            experiment=experiment,
            workflow=workflow,
            instance="instance1",
            attempt=attempt,
            agent=AgentRecord(name=agent, harness=agent),
            outcome=Outcome.SCORED,
            score=ScoreRecord(value=score),
            agent_end=AgentEnd.FINISHED if score == 1 else AgentEnd.TIME_LIMIT,
            started=START,
            ended=START + timedelta(seconds=9),
            limits=LimitRecord(time=60, time_set_by="task"),
        )
        write_record(folder / RESULT, result)


LONG = "qwen-scripted-with-a-long-name/business_finance/vendor_reconciliation/instance1"


@pytest.mark.parametrize("arguments", [[], ["results"]])
def test_without_a_name_the_experiments_are_listed(place: Path, arguments: list[str]) -> None:
    done = ale("show", *arguments, cwd=place)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:3]] == [["april", "1", "1"], ["march", "3", "2"]]
    listed = json.loads(ale("show", "--json", *arguments, cwd=place).stdout)
    assert [(one["name"], one["runs"], one["scored"]) for one in listed] == [("april", 1, 1), ("march", 3, 2)]


def test_without_any_experiment_that_is_said(tmp_path: Path) -> None:
    done = ale("show", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ale: there is no experiment in results; `ale run` makes one, --results looks elsewhere\n"


def test_an_experiment_shows_every_run_whole_even_when_it_is_long(place: Path) -> None:
    done = ale("show", "march", cwd=place)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    text = "".join(line.strip() for line in lines)
    assert "…" not in text
    assert any("no result yet" in line for line in lines)
    assert any("0.25 (time_limit)" in line for line in lines)
    whole = run_id("march", "oracle", "business_finance/vendor_reconciliation", "instance1", 1)
    (line,) = (line for line in lines if line.startswith(whole[:8]))
    assert line.split()[1] == "oracle/business_finance/vendor_reconciliation/instance1/1"


def test_a_part_of_an_experiment_is_shown_too(place: Path) -> None:
    agent = ale("show", "results/march/oracle", cwd=place)
    assert "result     1.00" in agent.stdout  # its only run
    attempts = json.loads(ale("show", f"results/march/{LONG}", "--json", cwd=place).stdout)
    assert [result["attempt"] for result in attempts] == [1]


def test_the_path_of_a_run_is_not_cut(place: Path) -> None:
    done = ale("show", f"results/march/{LONG}/1", cwd=place)
    assert f"folder     results/march/{LONG}/1\n" in done.stdout


@pytest.mark.parametrize("option", [[], ["--json"], ["--html"]])
def test_a_run_without_a_result_says_where_to_look(place: Path, option: list[str]) -> None:
    done = ale("show", f"results/march/{LONG}/2", *option, cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "has no result yet: it is under way, or its command was killed; see how far it came: ale logs " in done.stderr
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "mrach"], "there is no run or experiment 'mrach' in results (did you mean 'march'?)"),
        (["show", "march", "--html"], "a page is made of one run; results/march holds several"),
        (["logs", "march"], "results/march holds several runs; name one of them (ale show results/march)"),
        (["logs", "."], ". holds no run"),
    ],
)
def test_what_can_not_be_shown_is_one_sentence(place: Path, arguments: list[str], words: str) -> None:
    done = ale(*arguments, cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_following_ends_with_ctrl_c_and_without_a_word(place: Path) -> None:
    following = start("logs", "-f", f"results/march/{LONG}/2", cwd=place)
    assert following.stdout is not None
    assert "agent.start" in following.stdout.readline()
    following.send_signal(signal.SIGINT)
    _, stderr = following.communicate(timeout=30)
    assert (following.returncode, stderr) == (130, "")


def test_logs_are_sentences_for_people_and_json_for_scripts(place: Path) -> None:
    done = ale("logs", f"results/march/{LONG}/2", cwd=place)
    assert [line.split(maxsplit=1)[1] for line in done.stdout.splitlines()] == [
        "agent.start",
        "model.call       n 1, status 200, input_tokens 900, output_tokens 30, 2.5 s",
        "freeze.end       killed: 7 node, checked: guest, host, 0.5 s",
    ]
    script = ale("logs", f"results/march/{LONG}/2", "--json", cwd=place)
    assert [json.loads(line)["event"] for line in script.stdout.splitlines()] == [
        "agent.start",
        "model.call",
        "freeze.end",
    ]
