"""Grade a delivered program by what it does on cases that the agent has never seen.

The program runs in the grading machine as the agent's user, through `Session.run_delivered`: it sees its own files and
the input of the one case, and nothing else of the task. What it leaves is judged on the host.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import anyio

from ale.computer.session import DeliveredRun, Session
from ale.errors import GraderError
from ale.grading.compose import weighted
from ale.score import Score
from ale.text import one_line

Judge = Callable[["Case", Path], Score]
"""Scores what the program left: the directory, on the host, holds its files after the run."""

_KEEPER = ".keep"
"""An otherwise empty directory travels by this file."""


@dataclass(frozen=True)
class Case:
    """One run of the program. inputs: name in the program's directory → file or directory of the host. empty:
    directories that are there and empty."""

    name: str
    inputs: Mapping[str, Path]
    empty: tuple[str, ...] = ()
    stdin: bytes | None = None
    weight: float = 1.0


async def run_cases(
    session: Session,
    *,
    program: Mapping[str, str],
    command: Sequence[str],
    cases: Sequence[Case],
    judge: Judge,
    timeout: float = 60.0,
    memory_mb: int = 1024,
) -> Score:
    """The mean of the judge's scores over the cases by weight; a case whose run fails is 0 and says how.

    program: name in the program's directory → path in the machine, of a file or directory. Raises GraderError when
    there are no cases or one's input is missing.
    """
    if not cases:
        raise GraderError("there are no cases to run the delivered program on")
    scores: dict[str, tuple[float, Score]] = {}
    for case in cases:
        scores[case.name] = (
            case.weight,
            await _run_case(session, program, command, case, judge=judge, timeout=timeout, memory_mb=memory_mb),
        )
    return weighted(scores)


async def _run_case(
    session: Session,
    program: Mapping[str, str],
    command: Sequence[str],
    case: Case,
    *,
    judge: Judge,
    timeout: float,
    memory_mb: int,
) -> Score:
    place = f"/root/case-{secrets.token_hex(8)}"
    try:
        staged = await _stage(session, case, place)
        run = await session.run_delivered(
            command, files={**program, **staged}, timeout=timeout, memory_mb=memory_mb, stdin=case.stdin
        )
    except FileNotFoundError as error:
        return Score(0.0, "wrong_shape", sentence=f"the program could not be started: {error}")
    finally:
        await session.delete(place)
    failure = _failure(run, timeout, memory_mb)
    if failure is not None:
        return Score(0.0, "wrong", details={"exit_code": run.result.return_code}, sentence=failure)
    return await anyio.to_thread.run_sync(_judged, case, run, judge)


async def _stage(session: Session, case: Case, place: str) -> dict[str, str]:
    """Put the case where only the machine's root can look; the delivered program gets copies."""
    staged: dict[str, str] = {}
    for name, source in case.inputs.items():
        if not await anyio.Path(source).exists():
            raise GraderError(f"the input of case {case.name} is missing: {source}")
        await session.upload(source, f"{place}/{name}", owner="root")
        staged[name] = f"{place}/{name}"
    for name in case.empty:
        await session.create_dir(f"{place}/{name}")
        await session.write_file(f"{place}/{name}/{_KEEPER}", "")
        staged[name] = f"{place}/{name}"
    return staged


def _failure(run: DeliveredRun, timeout: float, memory_mb: int) -> str | None:
    if run.timed_out:
        return f"the program was stopped after its limit of {timeout:g} s"
    if run.out_of_memory:
        return f"the program was stopped for using more than its {memory_mb} MB"
    if run.result.return_code == 0:
        return None
    lines = [line for line in run.result.stderr[-4000:].splitlines() if line.strip()]
    last = one_line(lines[-1], 200) if lines else "no error output"
    return f"the program ended with exit code {run.result.return_code}: {last}"


def _judged(case: Case, run: DeliveredRun, judge: Judge) -> Score:
    folder = Path(tempfile.mkdtemp(prefix="ale-case-"))
    try:
        for name, content in run.files.items():
            relative = PurePosixPath(name)
            if relative.is_absolute() or ".." in relative.parts or relative.name == _KEEPER:
                continue
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return judge(case, folder)
    finally:
        shutil.rmtree(folder)
