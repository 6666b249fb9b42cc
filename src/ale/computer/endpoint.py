"""Where a computer server listens and the token it wants: all that another process needs to open a Session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Endpoint:
    """Exactly one of `socket` (path of a Unix socket) and `address` (host, port; loopback only) is set."""

    sandbox: str
    token: str = field(repr=False)
    socket: str | None = None
    address: tuple[str, int] | None = None
    os: Literal["linux", "windows"] = "linux"
