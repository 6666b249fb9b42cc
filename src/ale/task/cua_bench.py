"""A stand-in for the public `cua_bench` package: just what task modules written for it use while they load.

The decorators only mark; `DesktopSession` is there for annotations. The real package wins where it is installed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ale.task.task import Task

_NAME = "cua_bench"
_MARK, _SPLIT = "_td_type", "_td_split"
_PHASES = {"tasks_config": "load", "setup_task": "start", "evaluate_task": "evaluate", "solve_task": "solve"}


class DesktopSession:
    """A name for annotations; what tasks are handed is our Session."""


def offer() -> None:
    """Make `import cua_bench` find the stand-in, unless the real package is installed."""
    if _NAME in sys.modules or importlib.util.find_spec(_NAME) is not None:
        return
    module = ModuleType(_NAME, __doc__)
    vars(module).update({decorator: _marker(decorator) for decorator in _PHASES})
    vars(module).update(Task=Task, DesktopSession=DesktopSession, _ale_stand_in=True)
    sys.modules[_NAME] = module


def withdraw() -> None:
    """The stand-in exists only while a module loads."""
    if hasattr(sys.modules.get(_NAME), "_ale_stand_in"):
        del sys.modules[_NAME]


def marked_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """`load`, `start`, `evaluate`, `solve` → the function that carries the decorator's mark, whatever its name."""
    found: dict[str, Callable[..., Any]] = {}
    for value in vars(module).values():
        phase = _PHASES.get(str(getattr(value, _MARK, "")))
        if phase is not None and callable(value):
            found[phase] = value
    return found


def _marker(decorator: str) -> Callable[..., Any]:
    """Works bare and called: `@cb.setup_task` and `@cb.setup_task(split="train")`."""

    def mark(function: Callable[..., Any] | None = None, *, split: str = "train", **_: Any) -> Any:
        def apply(target: Callable[..., Any]) -> Callable[..., Any]:
            setattr(target, _MARK, decorator)
            setattr(target, _SPLIT, split)
            return target

        return apply(function) if callable(function) else apply

    mark.__name__ = decorator
    return mark
