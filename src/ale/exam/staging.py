"""What goes into a machine before the agent, the copy of it that is kept, and the check that no answer is among it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from ale.computer.paths import INPUT, OUTPUT, SOFTWARE
from ale.computer.session import Collected, Session, TreeLimits
from ale.errors import TaskError
from ale.exam.folder import tree_digest
from ale.sandbox.protocol import Sandbox
from ale.task.card import Card
from ale.task.discover import Folder, Workflow

_PLACES: tuple[tuple[Folder, str], ...] = (("input", INPUT), ("software", SOFTWARE))

_INPUT_LIMITS = TreeLimits(total_bytes=2**40, file_bytes=2**40, files=10_000_000)
"""Inputs are the task author's own: bounded only against a start() gone wild."""


@dataclass(frozen=True)
class Captured:
    """input/ and software/ as they were when the agent began. folder holds both; digest names the content."""

    folder: Path
    digest: str
    files: Mapping[str, str]


async def stage_inputs(session: Session, workflow: Workflow, instance: str) -> None:
    """Put input/ and software/ in place, root's and read-only, and an empty output/ that is the agent's."""
    for name, path in _PLACES:
        source = workflow.folder_of(name, instance)
        if source is not None:
            await session.upload(source, path, owner="root", read_only=True)
        else:
            await session.create_dir(path)
    await _empty_output(session)


async def stage_captured(session: Session, captured: Captured, output: Path, workspace: str) -> None:
    """Make a fresh grading machine look as the agent's did: the captured inputs, and what was collected as output."""
    for name, path in _PLACES:
        await session.upload(captured.folder / name, path, owner="root", read_only=True)
    await _empty_output(session)
    await session.upload(output, workspace, owner="agent")


async def start_services(machine: Sandbox, card: Card) -> None:
    """Start the card's services, each as a user that is not the agent's, so that they outlive it. What they print is in
    /var/log/ale-NAME.log of the machine."""
    for service in card.services:
        log = f"/var/log/ale-{service.name}.log"
        await machine.session("root").write_file(log, "")
        if service.user != "root":
            await machine.session("root").run_command(["chown", service.user, log])
        await machine.session(service.user).launch(service.command, log=log)


async def capture(session: Session, store: Path) -> Captured:
    """Copy input/ and software/ out of the machine, once for each content: equal runs share one copy in `store`."""
    store.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".capture-", dir=store))
    try:
        files: dict[str, str] = {}
        for name, path in _PLACES:
            collected = await session.download(path, scratch / name, limits=_INPUT_LIMITS)
            _refuse_refused(path, collected)
            files |= {f"{name}/{file.path}": file.sha256 for file in collected.files}
        digest = tree_digest(files)
        final = store / digest[:32]
        try:
            scratch.rename(final)
        except OSError:  # another run captured the same content first
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Captured(final, digest, files)


async def check_reference_absent(session: Session, reference: Path | None) -> int:
    """No file in the machine may be a reference file, whatever its name. Returns how many digests were looked for.

    Empty files are left out: they tell nothing. Raises TaskError naming both paths.
    """
    if reference is None or not reference.is_dir():
        return 0
    wanted = await anyio.to_thread.run_sync(_digests_by_size, reference)
    if not wanted:
        return 0
    sizes = sorted({size for size, _ in wanted.values()})
    answers = {digest: name for name, (_, digest) in wanted.items()}
    for path, digest in (await session.digests(["/"], sizes=sizes)).items():
        if digest in answers:
            raise TaskError(
                f"the reference file {reference.name}/{answers[digest]} is readable in the agent's machine as {path}; "
                "remove it from input/, software/ or what start() makes"
            )
    return len(wanted)


def _digests_by_size(folder: Path) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (size := path.stat().st_size):
            with path.open("rb") as file:
                found[str(path.relative_to(folder))] = (size, hashlib.file_digest(file, "sha256").hexdigest())
    return found


async def _empty_output(session: Session) -> None:
    await session.run_command(["install", "-d", "-o", "agent", "-g", "agent", "-m", "0755", OUTPUT])


def _refuse_refused(path: str, collected: Collected) -> None:
    """Inputs are the task's own: an entry that can't be copied faithfully would make grading see something else."""
    if collected.refused:
        first = collected.refused[0]
        raise TaskError(
            f"{path}/{first.path} can't be captured ({first.reason}): inputs are plain files and directories"
        )
