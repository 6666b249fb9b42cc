"""An ordinary user with a subordinate id range passes the whole provider conformance suite, without root."""

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ale.sandbox.conformance import CHECKS
from ale.sandbox.images import read_recipe
from ale.sandbox.local.apt import host_suite
from ale.sandbox.local.idmap import find_range
from ale.sandbox.local.mapped import run_mapped, tool
from ale.sandbox.local.state import State

pytestmark = [pytest.mark.sandbox, pytest.mark.root, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def user() -> Iterator[str]:
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("useradd", "runuser", "newuidmap")):
        pytest.skip("needs root, useradd, runuser and newuidmap")
    name = f"ale{secrets.token_hex(3)}"
    limits = ["-K", "SUB_UID_MIN=600000", "-K", "SUB_GID_MIN=700000"]
    subprocess.run(["useradd", "--create-home", *limits, name], check=True)
    try:
        yield name
    finally:
        subprocess.run(["userdel", "--remove", name], check=True, stderr=subprocess.DEVNULL)


def interpreter(user: str) -> str:
    """A Python of this version that the user may run: this one may lie in somebody's home."""
    version = f"python3.{sys.version_info.minor}"
    for path in (os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if subprocess.run(["runuser", "-u", user, "--", path, "-c", ""], capture_output=True).returncode == 0:
            return path
    pytest.skip(f"no {version} that ordinary users may run")


def test_an_ordinary_user_passes_the_conformance_suite(
    user: str, base_image: str, state: State, tmp_path: Path
) -> None:
    python = interpreter(user)
    home = Path(f"~{user}").expanduser()
    facts = state.images / read_recipe(base_image).digest(host_suite()) / "image.json"
    with (home / "rootfs.tar").open("wb") as tar:
        # packed rather than built again: this is about running, and needs no network
        pack = [tool("tar"), "--create", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--exclude=./dev/*", "."]
        run_mapped(pack, find_range(), cwd=facts.parent / "rootfs", stdout=tar)
    (home / "facts.json").write_text(json.dumps({key: json.loads(facts.read_text())[key] for key in FACTS}))
    paths = [str(ROOT), *(path for path in sys.path if path)]
    done = subprocess.run(
        ["runuser", "-u", user, "--", "env", "-i", f"HOME={home}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
         f"PYTHONPATH={':'.join(paths)}", python, "-B", "-m", "tests.sandbox.as_user", "rootfs.tar", "facts.json"],
        cwd=home, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == [check.__name__ for check in CHECKS]


FACTS = ("name", "recipe", "content", "suite", "seconds")
