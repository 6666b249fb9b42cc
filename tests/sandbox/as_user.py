"""Unpacks an image and runs the provider conformance suite on it, as whoever starts this: `as_user TAR FACTS`."""

import json
import os
import sys
from pathlib import Path

import anyio
from tests.sandbox.leftovers import local_leftovers

from ale.sandbox import open_provider
from ale.sandbox.conformance import BOUND, CHECKS, Subject
from ale.sandbox.local.build import install_image
from ale.sandbox.local.idmap import find_range
from ale.sandbox.local.requirements import findings
from ale.sandbox.local.state import State


async def main(tar: Path, facts: Path) -> None:
    state = State.of(os.environ)
    state.prepare()
    with tar.open("rb") as file:
        install_image(state, find_range(), json.loads(facts.read_text()), file)
    wrong = [finding for finding in findings(state) if not finding.ok and finding.needed_for != "limits"]
    assert not wrong, wrong
    subject = Subject(open_provider("local"), "base", lambda: open_provider("local"), local_leftovers)
    for check in CHECKS:
        with anyio.fail_after(BOUND):
            await check(subject)
        sys.stdout.write(f"{check.__name__}\n")
        sys.stdout.flush()
    async with subject.machine() as machine:
        report = await machine.freeze()
        assert report.checked == ("guest", "host"), report


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]))
