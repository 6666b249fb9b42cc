"""Errors as both OpenAI dialects tell them."""

from __future__ import annotations

from typing import Any

from ale.gateway.neutral import Failure, FailureKind

_ERRORS: dict[FailureKind, tuple[str, str | None]] = {
    "invalid_request": ("invalid_request_error", None),
    "budget": ("invalid_request_error", "budget_exhausted"),
    "authentication": ("invalid_request_error", "invalid_api_key"),
    "not_found": ("invalid_request_error", None),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "overloaded"),
    "server": ("server_error", None),
}


def openai_failure(failure: Failure) -> dict[str, Any]:
    kind, code = _ERRORS[failure.kind]
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code or code}}
