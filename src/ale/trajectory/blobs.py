"""Big strings of a recorded body live as files named by their SHA-256, and the body keeps a reference.

A reference is `{"$blob": sha256, "encoding": "base64" | "utf-8", "prefix": "data:image/png;base64,"}` in the place of
the string. A recorded object that happens to have the key `$blob` or `$literal` itself is wrapped as
`{"$literal": object}`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from pathlib import Path
from typing import Any

BASE64_FROM = 4 * 2**10
"""Base64 (pictures, mostly) of at least this many characters becomes a blob."""

TEXT_FROM = 64 * 2**10
"""Other strings stay readable in the transcript up to this many characters."""

_MARKS = ("$blob", "$literal")
_DATA_URL = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{0,100}){0,4};base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class BlobStore:
    """The folder `blobs/` of a run. The same content is kept once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self.bytes_written = 0

    def pack(self, value: Any) -> Any:
        """The same JSON value with big strings moved into blobs."""
        if isinstance(value, str):
            return self._pack_text(value) if len(value) >= BASE64_FROM else value
        if isinstance(value, list):
            return [self.pack(item) for item in value]
        if isinstance(value, dict):
            packed = {key: self.pack(item) for key, item in value.items()}
            return {"$literal": packed} if any(mark in packed for mark in _MARKS) else packed
        return value

    def unpack(self, value: Any) -> Any:
        """The exact value that was packed. Raises FileNotFoundError for a lost blob, ValueError for a bad reference."""
        if isinstance(value, list):
            return [self.unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$literal" in value:
            return {key: self.unpack(item) for key, item in value["$literal"].items()}
        if "$blob" in value:
            return self._unpack_text(value)
        return {key: self.unpack(item) for key, item in value.items()}

    def _pack_text(self, text: str) -> Any:
        prefix = found.group() if (found := _DATA_URL.match(text)) else ""
        data = _canonical_base64(text[len(prefix) :])
        if data is not None:
            return {"$blob": self._keep(data), "encoding": "base64", "prefix": prefix}
        if len(text) < TEXT_FROM:
            return text
        return {"$blob": self._keep(text.encode("utf-8", errors="surrogatepass")), "encoding": "utf-8", "prefix": ""}

    def _unpack_text(self, reference: dict[str, Any]) -> str:
        name = reference["$blob"]
        if not isinstance(name, str) or not _SHA256.fullmatch(name):
            raise ValueError(f"not a blob's name: {name!r}")
        data = (self._folder / name).read_bytes()
        if reference["encoding"] == "base64":
            return str(reference["prefix"]) + base64.b64encode(data).decode("ascii")
        return data.decode("utf-8", errors="surrogatepass")

    def _keep(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        if name not in self._known:
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = self._folder / f".{name}.{os.getpid()}"
            partial.write_bytes(data)
            partial.replace(self._folder / name)
            self._known.add(name)
            self.bytes_written += len(data)
        return name


def _canonical_base64(text: str) -> bytes | None:
    """The bytes behind `text` if encoding them again gives exactly `text`."""
    if len(text) < BASE64_FROM or len(text) % 4 or not _BASE64.fullmatch(text):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if base64.b64encode(data) == text.encode("ascii") else None
