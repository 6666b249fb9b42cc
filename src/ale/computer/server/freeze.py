"""POST /freeze: nothing of the agent runs any more, and nothing will."""

from __future__ import annotations

import time

from . import processes, users
from .faults import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http1 import Request
    from .state import State

_SECONDS = 10.0
_NAMES = 1000


def freeze(request: Request, user: str, state: State) -> None:
    """The mark is set first: a command that is just being started sees it, or is seen by the look that follows."""
    if user != "root":
        raise Fault("permission", "only root freezes a machine", 403)
    request.body.read_all()
    begin = time.monotonic()
    state.freeze()
    seen, left = processes.end_user(users.AGENT, _SECONDS, state.limits["processes"])
    request.answer(
        {
            "killed": [f"{pid} {name}" for pid, name in sorted(seen.items())][:_NAMES],
            "killed_count": len(seen),
            "left": [f"{pid} {name}" for pid, name in sorted(left.items())][:_NAMES],
            "seconds": time.monotonic() - begin,
        }
    )
