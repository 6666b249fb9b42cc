"""Which error of the operating system is called what on the wire, and with which HTTP status."""

from __future__ import annotations

import errno


class Fault(Exception):
    """An error that is named by this protocol itself."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class Reported(Exception):
    """An error that another process of the server has already described."""

    def __init__(self, status: int, body: dict[str, object]) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


_BY_ERRNO = {
    errno.ENOENT: ("not_found", 404),
    errno.EISDIR: ("is_directory", 409),
    errno.ENOTDIR: ("not_directory", 409),
    errno.EEXIST: ("exists", 409),
    errno.ENOTEMPTY: ("exists", 409),
    errno.EACCES: ("permission", 403),
    errno.EPERM: ("permission", 403),
    errno.EROFS: ("permission", 403),
    errno.ENOSPC: ("no_space", 507),
    errno.EDQUOT: ("no_space", 507),
    errno.EFBIG: ("no_space", 507),
    errno.ENAMETOOLONG: ("invalid", 400),
    errno.EINVAL: ("invalid", 400),
}


def describe(error: BaseException) -> tuple[int, dict[str, object]]:
    """HTTP status and body of the answer that reports `error`."""
    if isinstance(error, Reported):
        return error.status, error.body
    if isinstance(error, Fault):
        return error.status, _body(error.kind, str(error))
    if isinstance(error, OSError):
        kind, status = _BY_ERRNO.get(error.errno or 0, ("os", 500))
        message = error.strerror or str(error)
        if error.filename is not None:
            name = error.filename
            shown = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
            message = f"{message}: {shown}"
        return status, _body(kind, message, error.errno)
    if isinstance(error, (ValueError, KeyError, TypeError)):
        return 400, _body("invalid", f"{type(error).__name__}: {error}")
    return 500, _body("internal", f"{type(error).__name__}: {error}")


def _body(kind: str, message: str, number: int | None = None) -> dict[str, object]:
    inner: dict[str, object] = {"type": kind, "message": message}
    if number is not None:
        inner["errno"] = number
    return {"error": inner}
