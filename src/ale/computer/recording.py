"""A Session that tells what is done with it: how the oracle's work becomes a trajectory.

Each finished call is reported as one JSON object in the shape of `ale.trajectory.recorder.RecordedAction`.
"""

from __future__ import annotations

import base64
import inspect
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ale.computer.paths import User
from ale.computer.session import CommandResult, DeliveredRun, Session
from ale.errors import CommandFailed, CommandTimeout
from ale.text import storable

MAX_TEXT = 256 * 2**10
"""Characters of each text that are reported; a longer one loses its middle and says so."""

_UNSEEN = frozenset({"aclose", "stream_command", "terminal"})
"""Calls that pass through unreported: they end nothing, or hand out something that lives on."""

Report = Callable[[Mapping[str, Any]], None]


class RecordingSession:
    """Wraps a Session and behaves as it does."""

    def __init__(self, session: Session, report: Report) -> None:
        self._session = session
        self._report = report

    @property
    def interface(self) -> RecordingSession:
        return self

    def as_user(self, user: User) -> RecordingSession:
        return RecordingSession(self._session.as_user(user), self._report)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._session, name)
        if name.startswith("_") or name in _UNSEEN or not inspect.iscoroutinefunction(value):
            return value

        async def recorded(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(value).bind(*args, **kwargs).arguments
            action = _begun(name, given)
            try:
                result = await value(*args, **kwargs)
            except BaseException as error:
                action |= _failed(error)
                raise
            else:
                action |= _seen(result)
                return result
            finally:
                self._report(action | {"end": _utc(), "end_monotonic": time.monotonic()})

        return recorded


def _begun(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    args = {name: _shown(value) for name, value in given.items()}
    return {"kind": kind, "args": args, "start": _utc(), "start_monotonic": time.monotonic()}


def _seen(result: Any) -> dict[str, Any]:
    if isinstance(result, DeliveredRun):
        result = result.result
    if isinstance(result, CommandResult):
        return {
            "stdout": _bounded(result.stdout),
            "stderr": _bounded(result.stderr),
            "exit_code": result.return_code,
        }
    if isinstance(result, bytes):
        if result.startswith(b"\x89PNG"):
            return {"image": base64.urlsafe_b64encode(result).decode()}
        return {"text": f"{len(result)} bytes"}
    return {} if result is None else {"text": _bounded(str(result))}


def _failed(error: BaseException) -> dict[str, Any]:
    seen = _seen(error.result) if isinstance(error, CommandFailed | CommandTimeout) else {}
    return seen | {"error": _bounded(f"{type(error).__name__}: {error}")}


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return _bounded(value)
    if isinstance(value, Mapping):
        return {str(name): _shown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _bounded(text: str) -> str:
    text = storable(text)
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"


def _utc() -> str:
    return datetime.now(UTC).isoformat()
