"""What an attack is: a program of the agent's, and the one ending that it may have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ale.computer.session import Session
from ale.errors import CommandTimeout, SandboxLost

Group = Literal[
    "reference", "server", "kernel", "network", "survivors", "sabotage", "exhaustion", "output", "delivered"
]  # fmt: skip

SECONDS = 30.0
"""What one attack may take; most take a tenth of a second."""

_GOT = "GOT "


@dataclass(frozen=True)
class Ending:
    """What is defined to come of the attack, on a task whose right answer was written before it began.

    score, reason: as the grader gives them. agent: how the agent may be said to have ended; empty: in any way. refused:
    reasons that must be among those for which something of the output tree was not taken. killed: names that must be
    among the processes which the freeze ended.
    """

    score: float = 1.0
    reason: str | None = None
    agent: Collection[str] = ("finished",)
    refused: Collection[str] = ()
    killed: Collection[str] = ()


@dataclass(frozen=True)
class Attack:
    """program: for bash, run as the agent; it prints `GOT what` for everything that it must not get. A delivered one is
    run by the grader instead, as `bash run.sh` beside `data/` and `out/`.

    alone: it needs a machine of its own, of which there is too little left for another attack. memory_mb, disk_mb: that
    machine's size. grade_on: where it is to be graded. seconds: after which the program is stopped.
    """

    name: str
    group: Group
    program: str
    ending: Ending = Ending()
    alone: bool = False
    memory_mb: int = 1024
    disk_mb: int = 1024
    grade_on: Literal["fresh", "fork", "same"] = "fresh"
    slow: bool = False
    seconds: float = SECONDS


@dataclass(frozen=True)
class Host:
    """What there is on the host for an attack to find. key: words that only the reference holds. mark: part of the
    names of files on the host. addresses: the host's own. port: a TCP port on which something of the host listens, on
    every address. abstract: an abstract Unix socket of the host."""

    key: str
    mark: str
    addresses: Sequence[str] = ()
    port: int = 0
    abstract: str = ""

    def environment(self) -> dict[str, str]:
        """For the attack. Words to look for are reversed, or the attack would find itself."""
        return {
            "ALE_YEK": self.key[::-1],
            "ALE_KRAM": self.mark[::-1],
            "ALE_ADDRESSES": " ".join(self.addresses),
            "ALE_PORT": str(self.port),
            "ALE_ABSTRACT": self.abstract,
        }


@dataclass(frozen=True)
class Struck:
    """got: what the attack must not have got. lost: why the machine did not outlive it."""

    got: tuple[str, ...]
    output: str = field(repr=False, default="")
    lost: str = ""


async def strike(session: Session, attack: Attack, host: Host) -> Struck:
    """Carry out an attack as the agent. Raises only what is neither the attack's end nor the machine's."""
    try:
        result = await session.run_command(
            ["bash", "-c", attack.program], check=False, timeout=attack.seconds, env=host.environment()
        )
    except CommandTimeout as stopped:
        result = stopped.result
    except SandboxLost as lost:
        return Struck((), lost=str(lost))
    output = result.stdout + result.stderr
    return Struck(got_in(output), output)


def got_in(output: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(_GOT)[:300] for line in output.splitlines() if line.startswith(_GOT))


def python(program: str) -> str:
    """A bash program that runs this Python program, in which `got(...)` prints what must not be there."""
    prelude = "import os, sys\ndef got(*words): print('GOT', *words, flush=True)\n"
    return f"exec python3 - <<'END-OF-ATTACK'\n{prelude}{program.strip()}\nEND-OF-ATTACK\n"
