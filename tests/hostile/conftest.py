"""A task worth attacking, agents that attack, and what must hold afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from tests.exam.agents import Scripted, right
from tests.exam.conftest import Bench
from tests.sandbox.leftovers import local_leftovers

import ale.exam.planning
import ale.harness
from ale.cli import command
from ale.computer.paths import OUTPUT
from ale.exam.events import read_events
from ale.exam.result import RunResult
from ale.harness.protocol import AgentContext
from ale.home import home
from ale.outcome import Outcome
from ale.sandbox import open_provider
from ale.sandbox.hostile import Attack, Host, strike
from ale.sandbox.hostile.attack import Struck, got_in
from ale.sandbox.hostile.sabotage import SPRUNG
from ale.text import one_line

USED_AS_ROOT = f"""
for command in (
    ["bash", "-c", "ls -la {OUTPUT} /home/agent"], ["bash", "-lc", "python3 -c 'import json, sys' && id"],
    ["python3", "-c", "import json, site"], ["git", "--version"], "cat /etc/hostname; env; tar --version; sh -c true",
):
    done = await session.run_command(command, check=False)
    if done.stderr or not done.success:
        return Score(0.0, sentence="GOT " + done.stderr)
    run = await session.run_delivered(["cat", "a"], files={{"a": "/etc/os-release", "b": "/task/output/answer.txt"}})
    if not run.result.success or run.files.get("b") != b"42\\n":
        return Score(0.0, sentence="GOT no delivered program runs any more")
if await session.exists("{SPRUNG}"):
    return Score(0.0, sentence="GOT root ran what the agent had left")
"""

DELIVERED_MAIN = """
from ale.grading.executable import Case, run_cases
from ale.score import Score
from ale.task import Task


def load():
    return [Task(description="Write run.sh: the sum of data/numbers.txt into out/sum.txt", instance="one")]


async def start(task, session):
    pass


async def evaluate(task, session):
    folders = sorted(task.reference_dir.glob("case*"))
    cases = [Case(folder.name, inputs={"data": folder / "input"}, empty=("out",)) for folder in folders]

    def judge(case, left):
        expected = (task.reference_dir / case.name / "expected" / "sum.txt").read_text().split()[-1]
        names = {name: left / "out" / name for name in ("sum.txt", "found.txt")}
        read = {name: path.read_text()[:4000] if path.is_file() else "" for name, path in names.items()}
        if "GOT" in read["found.txt"]:
            return Score(0.0, sentence=read["found.txt"])
        return Score(float(read["sum.txt"].strip() == expected), sentence=read["sum.txt"][:40])

    program = {"run.sh": "/task/output/run.sh"}
    return await run_cases(session, program=program, command=["bash", "run.sh"], cases=cases, judge=judge, timeout=4)


async def solve(task, session):
    pass
"""


@dataclass
class Arena:
    """The bench, and one attack after the other on it."""

    bench: Bench
    host: Host
    agents: dict[str, Scripted]
    struck: dict[str, Struck] = field(default_factory=dict)

    async def attack(self, attacks: Sequence[Attack]) -> tuple[RunResult, RunResult, Path]:
        """The run in which all of these were carried out, the honest run after it, and the first's folder."""
        first = attacks[0]
        self._prepare_task(first)

        async def act(context: AgentContext) -> None:
            name, text = ("run.sh", first.program) if first.group == "delivered" else ("answer.txt", "42\n")
            await context.session.write_file(f"{OUTPUT}/{name}", text)
            for attack in attacks if first.group != "delivered" else ():
                self.struck[attack.name] = await strike(context.session, attack, self.host)

        async def honest(context: AgentContext) -> None:
            await right(context)
            program = "awk '{ sum += $1 } END { print sum }' data/numbers.txt > out/sum.txt"
            await context.session.write_file(f"{OUTPUT}/run.sh", program)

        self.agents["attacker"], self.agents["honest"] = Scripted("attacker", act), Scripted("honest", honest)
        plan = await self.bench.plan(
            "attacker", "honest", retries={"infrastructure": 1, "harness": 1}, limits={"time": 120, "grading_time": 120}
        )
        with anyio.fail_after(280):
            results = {result.agent.name: result for result in await self.bench.carry_out(plan)}
        return results["attacker"], results["honest"], plan.runs[0].folder

    def _prepare_task(self, attack: Attack) -> None:
        bench, more = self.bench, [f"compute: {{memory_mb: {attack.memory_mb}, disk_mb: {attack.disk_mb}}}"]
        if attack.group == "delivered":
            bench.change(
                "task.yaml", "outputs: [{path: answer.txt, kind: file, max_mb: 1}]", "outputs: [{path: run.sh}]"
            )
            bench.write("main.py", DELIVERED_MAIN)
            for number in range(2):
                for place, text in (
                    ("input/numbers", f"{number}\n7\n"),
                    ("expected/sum", f"the-key-is {number + 7}\n"),
                ):
                    path = bench.workflow / "reference" / f"case{number}" / f"{place}.txt"
                    path.parent.mkdir(parents=True)
                    path.write_text(text, encoding="utf-8")
        else:
            bench.change("main.py", '"answer.txt").read_text()', '"answer.txt").read_text(errors="replace")')
        if attack.group == "survivors":
            more += ["grade_on: same", "reference_in_machine: true"]
        elif attack.grade_on != "fresh":
            more.append(f"grade_on: {attack.grade_on}")
            bench.change(
                "main.py",
                "    expected =",
                USED_AS_ROOT.strip("\n").replace("\n", "\n    ").join(["    ", "\n    expected ="]),
            )
        bench.change("task.yaml", "tier: near-term", "\n".join(["tier: near-term", *more]))


@pytest.fixture
def arena(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> Arena:
    agents: dict[str, Scripted] = {}
    known = ale.harness.open_harness
    monkeypatch.setattr(ale.exam.planning, "open_harness", lambda name: agents.get(name) or known(name))
    return Arena(Bench(tmp_path), host, agents)


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """Something of the host for attacks to find."""
    mark = f"ale-hostile-{os.getpid()}"
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    with (
        tempfile.NamedTemporaryFile(prefix=mark),
        tempfile.NamedTemporaryFile(prefix=mark, dir=Path.home()),
        socket.create_server(("", 0)) as listener,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind(f"\0{mark}")
        abstract.listen()
        yield Host("the-key-is", mark, tuple(addresses), listener.getsockname()[1], mark)


def check_ending(attacks: Sequence[Attack], arena: Arena, result: RunResult, folder: Path) -> None:
    """The defined outcome, and nothing that the attacks were after."""
    got = {attack.name: arena.struck[attack.name].got for attack in attacks if attack.name in arena.struck}
    assert not {name: words for name, words in got.items() if words}
    assert (result.outcome, result.tries) == (Outcome.SCORED, 1), result.error
    assert not (folder / "tries").exists()
    evaluated = (folder / "debug/eval/result.json").read_text()
    assert not got_in(evaluated.replace("GOT ", "\nGOT ")), evaluated
    assert result.score is not None
    ending = attacks[0].ending
    assert (result.score.value, result.agent_end) == (ending.score, result.agent_end), evaluated
    assert ending.reason in (None, result.score.reason)
    assert not ending.agent or result.agent_end in ending.agent
    assert result.integrity.freeze is not None
    manifest = json.loads((folder / "workspace/manifest.json").read_text())
    reasons = {refusal["reason"] for refusal in manifest["refused"]}
    killed = {line.partition(" ")[2] for line in result.integrity.freeze["killed"]}
    for attack in attacks:
        assert reasons >= set(attack.ending.refused), (attack.name, manifest["refused"][:20])
        assert killed >= set(attack.ending.killed) or not arena.struck, (attack.name, sorted(killed)[:50])


def check_record(folder: Path) -> None:
    """What was collected is files and directories, and what is printed of it obeys nobody."""
    output = folder / "workspace" / "output"
    for path in output.rglob("*"):
        assert not path.is_symlink()
        assert path.is_file() or path.is_dir()
        assert path.is_dir() or not path.stat().st_mode & 0o7000
    assert not (output / "found").exists()
    assert "the-key-is" not in (folder / "workspace" / "manifest.json").read_text()
    assert [event.event for event in read_events(folder / "events.jsonl")][-1] == "release.end"
    shown = CliRunner().invoke(command, ["show", str(folder)])
    assert shown.exit_code == 0, shown.output[-2000:]
    for forbidden in ("\x1b", "\x07", "\r", "\u202e"):
        assert forbidden not in shown.output
    for line in json.loads((folder / "run_result.json").read_text())["integrity"]["freeze"]["killed"]:
        assert line == one_line(line)


async def check_nothing_left(results: Sequence[RunResult]) -> None:
    """No machine, directory, disk, control group or process that carries a sandbox's name."""
    names = [name for result in results for name in result.sandboxes]
    assert names
    assert not {info.id for info in await open_provider("local").list()} & set(names)
    left = [line for line in await local_leftovers() if any(name in line for name in names)]
    for cgroup in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            text = cgroup.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        left += [f"{cgroup}: {text}" for name in names if name in text]
    mounts = Path("/proc/self/mountinfo").read_text()
    left += [f"a mount of {name}" for name in names if name in mounts]
    assert not left


def watched() -> dict[str, str]:
    """Places of the host that no run may change, by what tells that they have not. Other tests may make users and
    layers meanwhile."""
    found = {}
    for path in ("/etc/hosts", "/etc/crontab", "/root/.bashrc", "/root/.ssh/authorized_keys", "/etc/ld.so.preload"):
        place = Path(path)
        found[path] = hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else "absent"
    accounts = Path("/etc/passwd").read_text().splitlines()
    found["accounts with every right"] = str([line for line in accounts if line.split(":")[2] == "0"])
    for name in ("core_pattern", "hostname", "sysrq", "modprobe", "panic"):
        setting = Path("/proc/sys/kernel") / name
        found[name] = setting.read_text() if setting.exists() else "absent"
    recipe = anyio.run(open_provider("local").image, "base").recipe
    found["image"] = _state(home(os.environ) / "images" / recipe / "rootfs")
    return found


def _state(top: Path) -> str:
    """Of a large tree: kind, rights, owner, size and time of everything in it."""
    digest = hashlib.sha256()
    todo = [os.fspath(top)] if top.is_dir() else []
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                info = entry.stat(follow_symlinks=False)
                line = (entry.path, info.st_mode, info.st_uid, info.st_size, info.st_mtime_ns, info.st_nlink)
                digest.update(repr(line).encode("utf-8", "surrogateescape"))
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
    return digest.hexdigest()
