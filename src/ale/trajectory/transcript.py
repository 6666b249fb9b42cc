"""transcript.jsonl: every call of a run as it passed the gateway, one JSON object a line, written when the call ends.

The first line is `{"schema": "ale.transcript/1", "run": ...}`. Bodies are kept as differences
(`ale.trajectory.difference`) with big strings in `blobs/` (`ale.trajectory.blobs`); a reader rebuilds every body
exactly. docs/trajectory.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal

from ale.trajectory.blobs import BlobStore
from ale.trajectory.clock import Moment
from ale.trajectory.difference import Decoded, Decoder, Encoder, body_digest, canonical
from ale.trajectory.schema import Usage

SCHEMA = "ale.transcript/1"
FILE = "transcript.jsonl"
BLOBS = "blobs"

CallKind = Literal["model", "count_tokens", "models", "refused"]
"""`model` calls are what steps are made of. `refused` never was a call: wrong token, unknown address, no body."""

MASK = "[masked]"
_SHORTEST_SECRET = 6
_RAW_KEPT = 2048


class TranscriptError(ValueError):
    """A transcript that is damaged otherwise than by an unfinished last line; says file and line."""


@dataclass(frozen=True)
class Call:
    """What is recorded of a call beside its request body.

    n: number of the call in its run, in the order of arrival. model: the name that was asked for. first_byte: when the
    answer began to leave, None if it never did. limit: the budget that refused it. aborted: the client went away before
    it had the whole answer. response: the answer's body (for a stream, what the stream adds up to).
    """

    n: int
    kind: CallKind
    method: str
    path: str
    status: int
    start: Moment
    end: Moment
    first_byte: Moment | None = None
    dialect: str | None = None
    model: str | None = None
    stream: bool = False
    has_tools: bool = False
    usage: Usage | None = None
    limit: str | None = None
    aborted: bool = False
    error: str | None = None
    response: Any = None


class TranscriptWriter:
    """Appends calls to a run's transcript, flushed one by one. Single-threaded: whoever opened it writes."""

    def __init__(self, folder: Path, run: str, secrets: Sequence[str] = ()) -> None:
        check_secrets(secrets)
        self._secrets = [canonical(secret)[1:-1] for secret in sorted(secrets, key=len, reverse=True)]
        folder.mkdir(parents=True, exist_ok=True)
        self._blobs = BlobStore(folder / BLOBS)
        self._encoder = Encoder(self._blobs.pack, self._mask)
        self._file: IO[bytes] = (folder / FILE).open("xb")
        self._lines_bytes = 0
        self._write({"schema": SCHEMA, "run": run, "opened": Moment.now().isoformat()})

    @property
    def bytes_written(self) -> int:
        """Bytes on disk so far, lines and blobs."""
        return self._lines_bytes + self._blobs.bytes_written

    def append(self, call: Call, body: dict[str, Any] | bytes | None) -> None:
        """Record a finished call. A body that was no JSON object comes as bytes; its beginning is kept."""
        moments = (call.start, call.first_byte, call.end)
        line: dict[str, Any] = {
            "n": call.n,
            "kind": call.kind,
            "dialect": call.dialect,
            "method": call.method,
            "path": call.path,
            "model": call.model,
            "stream": call.stream,
            "has_tools": call.has_tools,
            "start": call.start.isoformat(),
            "first_byte": call.first_byte.isoformat() if call.first_byte else None,
            "end": call.end.isoformat(),
            "monotonic": [round(moment.monotonic, 6) if moment else None for moment in moments],
            "status": call.status,
            "limit": call.limit,
            "aborted": call.aborted,
            "error": call.error,
            "usage": call.usage.model_dump() if call.usage else None,
        }
        request: dict[str, Any] | None = None
        if isinstance(body, dict):
            encoded = self._encoder.encode(body)
            request = {"digest": encoded.digest, "base": encoded.base, "slot": encoded.slot, "body": encoded.body}
        elif body is not None:
            start = body[:_RAW_KEPT].decode("utf-8", errors="replace")
            request = {"raw": start, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        masked = json.loads(self._mask(canonical({**line, "response": call.response})))
        response = masked.pop("response")
        if request is not None and "raw" in request:
            request = json.loads(self._mask(canonical(request)))
        self._write({**masked, "request": request, "response": self._blobs.pack(response)})

    def close(self) -> None:
        """Everything is on disk when this returns. Idempotent."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def _mask(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def _write(self, line: dict[str, Any]) -> None:
        data = canonical(line).encode("ascii") + b"\n"
        self._file.write(data)
        self._file.flush()
        self._lines_bytes += len(data)


def check_secrets(secrets: Sequence[str]) -> None:
    """Raises ValueError for one that is so short that masking it would hurt other text."""
    if any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(f"a secret of fewer than {_SHORTEST_SECRET} characters can't be masked without harm")


@dataclass(frozen=True)
class Record:
    """A call as it was read back. `call.response` is unpacked; the request's body is unpacked when it is asked for."""

    call: Call
    line: int
    _blobs: BlobStore = field(repr=False)
    _decoded: Decoded | None = field(repr=False)
    _digest: str | None = field(repr=False)
    raw: str | None = None

    def body(self) -> dict[str, Any] | None:
        """The request's body, JSON-equal to what was sent (key order kept, secrets masked). None if it had none or was
        no JSON object. Raises TranscriptError if it can't be rebuilt to its recorded digest."""
        if self._decoded is None:
            return None
        body = {key: self._blobs.unpack(value) for key, value in self._decoded.body.items()}
        if body_digest(body) != self._digest:
            raise TranscriptError(f"line {self.line}: the request rebuilt from it has not the recorded digest")
        return body

    def fresh(self) -> list[Any]:
        """The messages of the request that the call it is recorded against did not have."""
        return [self._blobs.unpack(item) for item in self._decoded.fresh] if self._decoded else []


def read_transcript(folder: Path) -> Iterator[Record]:
    """The calls of a run's transcript in the order in which they ended, one at a time. An unfinished last line (the
    gateway was killed) is left out. Raises FileNotFoundError, TranscriptError."""
    blobs = BlobStore(folder / BLOBS)
    decoder = Decoder()
    path = folder / FILE
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            if not data.endswith(b"\n"):
                return
            try:
                line = json.loads(data)
                if number == 1:
                    if line["schema"] != SCHEMA:
                        raise TranscriptError(f"{path}: schema {line['schema']!r} is not {SCHEMA!r}")
                    continue
                yield _record(line, number, blobs, decoder)
            except (ValueError, KeyError, IndexError, TypeError) as error:
                raise TranscriptError(f"{path}, line {number}: {error!r}") from error


def _record(line: dict[str, Any], number: int, blobs: BlobStore, decoder: Decoder) -> Record:
    request = line["request"]
    decoded = None
    if request is not None and "body" in request:
        decoded = decoder.decode(request["base"], request["slot"], request["body"])
    start, first, end = line["monotonic"]
    call = Call(
        n=line["n"],
        kind=line["kind"],
        method=line["method"],
        path=line["path"],
        status=line["status"],
        start=Moment(datetime.fromisoformat(line["start"]), start),
        end=Moment(datetime.fromisoformat(line["end"]), end),
        first_byte=Moment(datetime.fromisoformat(line["first_byte"]), first) if line["first_byte"] else None,
        dialect=line["dialect"],
        model=line["model"],
        stream=line["stream"],
        has_tools=line["has_tools"],
        usage=Usage(**line["usage"]) if line["usage"] else None,
        limit=line["limit"],
        aborted=line["aborted"],
        error=line["error"],
        response=blobs.unpack(line["response"]),
    )
    return Record(
        call,
        number,
        blobs,
        decoded,
        request.get("digest") if request else None,
        request.get("raw") if request else None,
    )
