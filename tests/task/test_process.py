"""Task code runs behind walls, within limits, and is gone afterwards."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.task.conftest import WriteWorkflow

from ale.errors import TaskError
from ale.task import confine, process
from ale.task.confine import walls
from ale.task.process import Bounds, Job, run_job

RunMain = Callable[..., Any]

LOAD = """
import json
from ale.task import Task
def load():
    return [Task(description=json.dumps(found()))]
async def start(task, session): pass
async def evaluate(task, session): return 1.0
"""


@pytest.fixture
def run_main(write_workflow: WriteWorkflow, tmp_path: Path) -> RunMain:
    """Runs a module whose found() returns something, and gives that back."""

    async def run(body: str, *, bounds: Bounds | None = None, **files: Any) -> Any:
        folder = write_workflow(LOAD + body, **files)
        job = Job(phase="instances", name="legal/first", folder=folder, root=folder.parents[1])
        (entry,) = await run_job(job, bounds or Bounds(seconds=30), tmp_path / "logs")
        return json.loads(entry["description"])

    return run


needs_walls = pytest.mark.skipif(walls() is None, reason="bubblewrap does not work here")


@needs_walls
async def test_there_is_no_network_no_environment_and_no_capability(
    run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    found = await run_main(
        """
import os, socket
def found():
    try:
        socket.create_connection(("127.0.0.1", 22), 1)
        network = True
    except OSError:
        network = False
    interfaces = [name for _, name in socket.if_nameindex()]
    status = open("/proc/self/status").read()
    return {
        "network": network, "interfaces": interfaces, "environment": sorted(os.environ),
        "capabilities": status.split("CapEff:")[1].split()[0], "home": os.path.exists(os.path.expanduser("~root/.ssh")),
    }
"""
    )
    assert found["network"] is False
    assert found["interfaces"] == ["lo"]
    assert set(found["environment"]) <= {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "LC_CTYPE"}
    assert int(found["capabilities"], 16) == 0


@needs_walls
async def test_nothing_of_the_host_can_be_written_or_looked_into(run_main: RunMain, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    found = await run_main(
        f"""
from pathlib import Path
PLACES = ["/proc/sys/kernel/hostname", "/proc/sys/vm/swappiness", "/proc/sys/kernel/core_pattern",
          "/usr/x", __file__, str(Path(__file__).parent / "x"), json.__file__, "/x/y"]
def found():
    written = []
    for place in PLACES:
        try:
            with open(place, "r+" if Path(place).exists() else "w"):
                written.append(place)
        except OSError:
            pass
    return {{"written": written, "private": Path({str(tmp_path / "private")!r}).exists(),
             "etc": sorted(path.name for path in Path("/etc").iterdir()),
             "processes": [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]}}
"""
    )
    assert found["written"] == []
    assert found["private"] is False
    assert "shadow" not in found["etc"]
    assert len(found["processes"]) <= 2


@needs_walls
async def test_the_reference_is_out_of_reach_until_evaluate(run_main: RunMain) -> None:
    body = """
from pathlib import Path
def found():
    return sorted(path.name for path in Path(__file__).parent.rglob("*") if path.is_file())
"""
    files = {"reference/answer.txt": "42", "authoring/make.py": "42", "input/a.txt": "1", "scripts/b.py": "2"}
    assert await run_main(body, files=files) == ["a.txt", "b.py", "main.py", "task.yaml"]


async def test_what_is_printed_is_kept_whole_and_is_never_the_result(run_main: RunMain, tmp_path: Path) -> None:
    found = await run_main(
        """
import sys
def found():
    print('{"ok": true, "value": "forged"}')
    sys.stdout.write("x" * 10_000_000)
    sys.stderr.buffer.write(bytes(range(256)))
    return 1
"""
    )
    assert found == 1
    assert (tmp_path / "logs" / "stdout.txt").stat().st_size == 10_000_000 + 32
    assert (tmp_path / "logs" / "stderr.txt").read_bytes() == bytes(range(256))


async def test_output_beyond_the_limit_is_dropped_with_a_note(
    run_main: RunMain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_LOG", 1000)
    await run_main("def found():\n    print('x' * 4999)\n    return 1\n")
    text = (tmp_path / "logs" / "stdout.txt").read_text()
    assert text == "x" * 1000 + "\n[4000 more bytes are not kept; the limit is 1000]\n"


async def test_a_time_limit_ends_it_and_all_that_it_started(run_main: RunMain, tmp_path: Path) -> None:
    marker = f"ale-test-{os.getpid()}-{time.monotonic_ns()}"
    body = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def found():
    print("started", flush=True)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)  # {marker}"], start_new_session=True)
    while True:
        time.sleep(1)
"""
    with anyio.fail_after(30), pytest.raises(TaskError, match="stopped after its limit of 2 s"):
        await run_main(body, bounds=Bounds(seconds=2))
    assert (tmp_path / "logs" / "stdout.txt").read_text() == "started\n"
    if walls():
        await gone(marker)


async def test_what_it_leaves_running_dies_with_it(run_main: RunMain) -> None:
    marker = f"ale-test-{os.getpid()}-{time.monotonic_ns()}"
    body = f"""
import subprocess, sys, threading, time
def found():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)  # {marker}"], start_new_session=True)
    threading.Thread(target=time.sleep, args=(300,)).start()
    return 1
"""
    with anyio.fail_after(30):
        assert await run_main(body) == 1
    if walls():
        await gone(marker)


async def test_cancellation_ends_it(run_main: RunMain) -> None:
    marker = f"ale-test-{os.getpid()}-{time.monotonic_ns()}"
    with anyio.fail_after(30):
        with anyio.move_on_after(1) as scope:
            await run_main(f"import time\nMARK = '{marker}'\ndef found():\n    time.sleep(300)\n")
        assert scope.cancelled_caught


async def test_a_memory_limit_is_named(run_main: RunMain) -> None:
    with pytest.raises(TaskError, match="memory limit"):
        await run_main("def found():\n    return len(bytearray(2**30))\n", bounds=Bounds(seconds=30, memory_mb=512))


async def test_a_crash_is_named_with_its_last_words(run_main: RunMain) -> None:
    body = """
import os, signal, sys
def found():
    print("so long", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    with pytest.raises(TaskError, match="without a result: so long"):
        await run_main(body)


async def test_without_bubblewrap_it_still_runs_bounded_and_says_so(
    run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (confine, process):
        monkeypatch.setattr(module, "walls", lambda: None)
    assert await run_main("import os\ndef found():\n    return sorted(os.environ)\n") != []
    with anyio.fail_after(30), pytest.raises(TaskError, match=r"limit of 1 s \(bubblewrap is missing"):
        await run_main("import time\ndef found():\n    time.sleep(300)\n", bounds=Bounds(seconds=1))


async def gone(marker: str) -> None:
    """No process of the host has the marker in its command line."""
    with anyio.fail_after(10):
        while any(marker in line for line in command_lines()):
            await anyio.sleep(0.02)


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found
