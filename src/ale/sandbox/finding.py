"""One thing that was looked for on this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """needed_for: what can't be done without it; `run` is any local sandbox, `build` images alone, `limits` a limit
    that is not enforced then. why: what was seen. mend: what to do; empty when ok, or when nothing helps."""

    name: str
    needed_for: str
    ok: bool
    why: str
    mend: str = ""
