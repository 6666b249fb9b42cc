"""`ale logs`: a run's events, one line each; with -f as they happen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click
from watchfiles import watch

from ale.cli.locate import is_run, locate
from ale.errors import UsageError
from ale.exam.events import Event
from ale.text import one_line

_LAST = "release.end"


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), help="Where ids are looked for.")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends.")
@click.option("--json", "as_json", is_flag=True, help="The events as they are in events.jsonl.")
def logs(name: str, results: Path, follow: bool, as_json: bool) -> None:
    """Print what happened in RUN: its phases, model calls and limits."""
    folder = locate(name, results)
    if not is_run(folder):
        raise UsageError(f"{folder} is an experiment; name one of its runs (ale show {folder})")
    for event in _events(folder / "events.jsonl", follow=follow):
        if as_json:
            click.echo(event.model_dump_json(exclude_defaults=True))
        else:
            data = one_line(json.dumps(event.data, ensure_ascii=False), 200) if event.data else ""
            click.echo(f"{event.time.astimezone():%H:%M:%S.%f} {event.event:<16} {data}")


def _events(path: Path, *, follow: bool) -> Iterator[Event]:
    with path.open("rb") as file:
        lines = _Lines(file)
        yield from lines.new()
        if not follow or lines.ended:
            return
        # what is written before the watch begins is picked up when its first second is over
        for _ in watch(path.parent, recursive=False, debounce=100, rust_timeout=1000, yield_on_timeout=True):
            yield from lines.new()
            if lines.ended:
                return


class _Lines:
    """The whole lines of a growing file; the part of a line at its end waits for the rest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""
        self.ended = False

    def new(self) -> Iterator[Event]:
        while chunk := self._file.read(2**16):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                event = Event.model_validate_json(line)
                self.ended = self.ended or event.event == _LAST
                yield event
