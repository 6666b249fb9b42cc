"""`ale doctor`: what this machine can do, each tried rather than assumed, with the mend for what it can't."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

import click

from ale.sandbox.finding import Finding
from ale.sandbox.host import host_findings
from ale.sandbox.local.requirements import findings
from ale.sandbox.local.state import State
from ale.text import one_line

_NEEDED = ("run", "build")
_PURPOSES = {"run": "local sandboxes", "build": "building images", "limits": "limits of local sandboxes"}


@click.command()
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def doctor(ctx: click.Context, /, as_json: bool) -> None:
    """Say what this machine can do, and how to mend what it can't.

    Exit code 1 when something is missing that every local sandbox needs.
    """
    found = [*findings(State.of(os.environ)), *host_findings(os.environ)]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in found], indent=1))
    else:
        _print(found)
    ctx.exit(0 if all(finding.ok for finding in found if finding.needed_for in _NEEDED) else 1)


def _print(found: Sequence[Finding]) -> None:
    for purpose, findings_of in groupby(found, key=lambda finding: finding.needed_for):
        click.secho(_PURPOSES.get(purpose, f"for {purpose}"), bold=True)
        for finding in findings_of:
            mark, colour = ("✓", "green") if finding.ok else ("✗", "red") if purpose in _NEEDED else ("–", "yellow")
            click.echo(f"  {click.style(mark, fg=colour)} {finding.name}: {one_line(finding.why, 300)}")
            if finding.mend:
                click.echo(f"    mend: {finding.mend}")
