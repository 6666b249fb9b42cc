"""What a server's typed error is called in Python, and careful reading of the JSON it sends."""

from __future__ import annotations

import errno
import json
from typing import Any

from ale.computer.session import DisplayMissing
from ale.computer.wire import WireError
from ale.errors import InfrastructureError

_MESSAGE = 500


class Unauthorized(InfrastructureError):
    """The server does not know this token: it is another machine, or one that was started anew."""


def as_exception(status: int, body: bytes) -> Exception:
    """The exception that an answer with an error status stands for."""
    try:
        error = json.loads(body)["error"]
        kind, message = str(error["type"]), shown(str(error["message"]))
        number = error.get("errno")
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise WireError(f"an answer with status {status} has no error in it") from problem
    match kind:
        case "not_found":
            return FileNotFoundError(errno.ENOENT, message)
        case "is_directory":
            return IsADirectoryError(errno.EISDIR, message)
        case "not_directory":
            return NotADirectoryError(errno.ENOTDIR, message)
        case "exists":
            return FileExistsError(errno.EEXIST, message)
        case "permission" | "frozen":
            return PermissionError(errno.EACCES, message)
        case "no_space":
            return OSError(errno.ENOSPC, message)
        case "os":
            return OSError(number if isinstance(number, int) else errno.EIO, message)
        case "no_display":
            return DisplayMissing(message)
        case "invalid":
            return ValueError(message)
        case "unsupported":
            return NotImplementedError(message)
        case "unauthorized":
            return Unauthorized(message)
    return InfrastructureError(f"the computer server failed: {message}")


def shown(text: str) -> str:
    """Words from a machine, for people: bounded, and without what a terminal would obey."""
    return "".join(char if char.isprintable() else "?" for char in text[:_MESSAGE])


def parse(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError("an answer is not JSON") from error
    if not isinstance(value, dict):
        raise WireError("an answer is not a JSON object")
    return value


def whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise WireError("a field is not a whole number")
    return value


def number(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < 1e15:
        raise WireError("a field is not a number")
    return float(value)


def words(value: object, limit: int = 1_000_000) -> list[str]:
    if not isinstance(value, list) or len(value) > limit or not all(isinstance(item, str) for item in value):
        raise WireError("a field is not a list of strings")
    return value


def mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WireError("a field is not an object")
    return value


def objects(value: object, limit: int = 1_000_000) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) > limit:
        raise WireError("a field is not a list of objects")
    return [mapping(item) for item in value]


def digests(data: bytes) -> dict[str, str]:
    """Lines of `[path, digest]`; a file that could not be read has null for a digest and is left out."""
    found: dict[str, str] = {}
    for line in data.splitlines():
        try:
            path, digest = json.loads(line)
        except (ValueError, TypeError, RecursionError) as error:
            raise WireError("a digest line makes no sense") from error
        if not isinstance(path, str) or not (digest is None or isinstance(digest, str)):
            raise WireError("a digest line makes no sense")
        if digest is not None:
            found[path] = digest
    return found
