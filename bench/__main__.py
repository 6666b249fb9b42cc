"""`python -m bench [PART ...]`: measure, print, write JSON, and compare with a baseline of this machine."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import click

from bench import commands, machines, runs, sessions

PARTS = {"commands": commands.measure, "machines": machines.measure, "sessions": sessions.measure, "runs": runs.measure}

_KINDS = ("wall", "cpu")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--samples", default=8, show_default=True, type=click.IntRange(min=2))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Where the figures go as JSON.")
@click.option("--baseline", type=click.Path(path_type=Path, dir_okay=False), help="Earlier figures to compare with.")
def main(parts: tuple[str, ...], samples: int, out: Path | None, baseline: Path | None) -> None:
    """Figures of this machine, now. The load average is printed first: on a busy machine only CPU seconds mean much."""
    before = json.loads(baseline.read_text(encoding="utf-8"))["series"] if baseline else {}
    python = platform.python_version()
    click.echo(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {platform.machine()}, Python {python}")
    click.echo(f"{'':<72} {'wall median':>12} {'q1..q3':>17} {'cpu':>9}  wanted")
    found = anyio.run(_measure, parts or tuple(PARTS), samples, before)
    if out is not None:
        document = {
            "schema": "ale.bench/1",
            "taken": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": platform.platform(),
            "load": os.getloadavg()[0],
            "series": found,
        }
        out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


async def _measure(parts: tuple[str, ...], samples: int, before: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in parts:
        async for series in PARTS[part](samples):
            found[series.name] = figures = series.to_json()
            _print(series.name, figures, before.get(series.name))
    return found


def _print(name: str, figures: dict[str, Any], before: dict[str, Any] | None) -> None:
    wall, cpu = figures["wall"], figures["cpu"]
    wanted = [f"{kind} {figures[f'wanted_{kind}']:g} s" for kind in ("wall", "cpu") if figures[f"wanted_{kind}"]]
    spread = f"{wall['q1']:>8.4f}..{wall['q3']:<7.4f}"
    line = f"{name:<72} {wall['median']:>10.4f} s {spread} {cpu['median']:>7.4f} s  {', '.join(wanted)}"
    if before is not None:
        ratios = (f"{kind} x{figures[kind]['median'] / max(before[kind]['median'], 1e-9):.2f}" for kind in _KINDS)
        line += f"  [{', '.join(ratios)}]"
    click.echo(line)


main()
