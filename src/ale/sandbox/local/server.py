"""The computer server as a layer: this package's own folder `ale/computer/server`, packed for the machine."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

SERVER_PLACE = "/opt/ale/server"

_SOURCE = Path(__file__).resolve().parents[2] / "computer" / "server"


def server_digest(image: str) -> str:
    """Changes with the server's code and with the image whose Python compiled it."""
    digest = hashlib.sha256(f"server 1 {image}\n".encode())
    for name, content in _files():
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def server_tar() -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for folder in ("opt", "opt/ale", "opt/ale/server"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, content in _files():
            entry = tarfile.TarInfo(f"{SERVER_PLACE[1:]}/{name}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return packed


def _files() -> Iterator[tuple[str, bytes]]:
    for path in sorted(_SOURCE.rglob("*.py")):
        yield path.relative_to(_SOURCE).as_posix(), path.read_bytes()
