"""`ale logs`: a run's events, one line each; with -f as they happen."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import click
from watchfiles import watch

from ale.cli.locate import locate_run
from ale.exam.events import Event
from ale.text import one_line, seconds

_LAST = "release.end"


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), help="Where ids are looked for.")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends.")
@click.option("--json", "as_json", is_flag=True, help="The events as they are in events.jsonl.")
def logs(name: str, results: Path, follow: bool, as_json: bool) -> None:
    """Print what happened in RUN: its phases, model calls and limits."""
    folder = locate_run(name, results)
    try:
        _print(folder / "events.jsonl", follow=follow, as_json=as_json)
    except KeyboardInterrupt:
        sys.exit(130)  # how one stops following; nothing was aborted


def _print(path: Path, *, follow: bool, as_json: bool) -> None:
    for event in _events(path, follow=follow):
        if as_json:
            click.echo(event.model_dump_json(exclude_defaults=True))
        else:
            time = event.time.astimezone().isoformat(timespec="milliseconds")[11:23]
            click.echo(f"{time}  {event.event:<16} {one_line(_words(_timed(event)), 300)}".rstrip())


def _timed(event: Event) -> dict[str, Any]:
    """A model call's two times as what lies between them."""
    data = dict(event.data)
    if event.event == "model.call":
        begun, ended = (datetime.fromisoformat(data.pop(edge)) for edge in ("start", "end"))
        data["seconds"] = (ended - begun).total_seconds()
    return data


def _words(data: Mapping[str, Any]) -> str:
    """What an event says, for a person: in words, without what is empty."""
    said = []
    for key, value in data.items():
        if key == "seconds":
            said.append(seconds(value))
        elif isinstance(value, Mapping):
            said += [f"{name} {number}" for name, number in value.items() if number]
        elif isinstance(value, list):
            said.append(f"{key}: {', '.join(map(_entry, value)) or 'none'}")
        elif value not in (None, ""):
            said.append(f"{key} {value[:12] if key == 'image' else value}")
    return ", ".join(said)


def _entry(value: object) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


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
