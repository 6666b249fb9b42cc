"""One request at a run's door and its answer. Everything that comes in here is hostile."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import hdrs, web

from ale.gateway.backend import Asker, Backend
from ale.gateway.body import parse_object
from ale.gateway.dialects import Dialect, find_address, guess_dialect
from ale.gateway.estimate import tokens_of_body
from ale.gateway.meter import Meter
from ale.gateway.neutral import BadRequest, Failure, ModelRequest, Reply
from ale.gateway.prices import listed_price
from ale.gateway.spec import CallEvent, DoorReport, DoorSpec, LimitReached, to_json
from ale.text import storable
from ale.trajectory.clock import Moment
from ale.trajectory.schema import Usage
from ale.trajectory.transcript import Call, CallKind, TranscriptWriter

MAX_BODY = 256 * 2**20
"""Bytes of the bodies that one run may have on their way in at once; a larger one is a 413."""

BODY_SECONDS = 600.0
"""How long a body may take to arrive."""

MAX_RECORD = 8 * 2**30
"""Bytes of transcript and blobs that one run may fill; then all that it sends is refused unread."""

MAX_REFUSED = 1000
"""Requests that never were a call are counted for ever, but only so many of a run are recorded."""

_PATH_KEPT = 2048
_NAME_KEPT = 200


class DoorState:
    """What all exchanges of a run share."""

    def __init__(self, spec: DoorSpec, backend: Backend, tell: Callable[[dict[str, Any]], None]) -> None:
        self.spec = spec
        self.tell = tell
        self.token = f"ale-{secrets.token_urlsafe(32)}"
        self.conversation = backend.converse(Asker(spec.run, spec.workflow, spec.instance))
        self.meter = Meter(spec.limits, backend.price or listed_price(spec.model))
        self.writer = TranscriptWriter(spec.folder, spec.run, (self.token, *spec.secrets))
        self.numbered = 0
        self.model_calls = 0
        self.refused = 0
        self.backend_failures = 0
        self.incoming = 0
        self.first_error: str | None = None
        self.limit_told = False
        self.broken: str | None = None

    def next_number(self) -> int:
        self.numbered += 1
        return self.numbered

    def report(self) -> DoorReport:
        return DoorReport(
            calls=self.model_calls,
            answered=self.meter.answered,
            refused=self.refused,
            usage=self.meter.usage,
            limit=self.meter.reached,
            backend_failures=self.backend_failures,
            first_error=self.first_error,
        )


class _Refused(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Exchange:
    """`serve` it, then `record` it once, whatever happened."""

    def __init__(self, state: DoorState, request: web.Request) -> None:
        self._state = state
        self._request = request
        self._n = state.next_number()
        self._start = Moment.now()
        self._first_byte: Moment | None = None
        self._kind: CallKind = "refused"
        self._status = 499
        self._body: dict[str, Any] | bytes | None = None
        self._asked: ModelRequest | None = None
        self._dialect: Dialect | None = None
        self._admitted = False
        self._usage: Usage | None = None
        self._answer: Any = None
        self._error: str | None = None
        self._limit: LimitReached | None = None
        self._complete = False

    async def serve(self) -> web.StreamResponse:
        state, request, path = self._state, self._request, self._request.path
        address = find_address(path, request.query)
        self._dialect = address.dialect if address else guess_dialect(path, request.headers)
        try:
            self._check_token()
            if path == "/v1/models" and request.method == "GET":
                self._kind = "models"
                return await self._send(200, _models(state.spec.models))
            if address is None or request.method != "POST":
                raise _Refused(Failure(404, "not_found", f"there is no {request.method[:16]} {path[:_NAME_KEPT]} here"))
            self._check_record()
            body = await self._read()
            spoken, counted = address.dialect, address.counted
            self._kind = "count_tokens" if counted else "model"
            try:
                self._body = body
                self._body = parsed = parse_object(body)
                self._asked = asked = spoken.parse(parsed)
            except BadRequest as error:
                raise _Refused(Failure(400, "invalid_request", str(error))) from None
            self._check_model(asked)
            if counted:
                return await self._send(200, {counted: tokens_of_body(parsed)})
            return await self._converse(spoken, asked)
        except _Refused as refused:
            return await self._fail(refused.failure)

    def record(self) -> None:
        """Write the exchange down and tell the conductor."""
        state = self._state
        if not self._complete and self._error is None:
            self._error = "the client went away before it had the whole answer"
        state.model_calls += self._kind == "model"
        state.refused += self._kind == "refused"
        if not self._limit:
            state.first_error = state.first_error or self._error
        try:
            if self._worth_recording():
                state.writer.append(self._call(), self._body)
        except Exception as error:  # noqa: BLE001 - the boundary: a run that is not recorded must not go on
            self._break(f"the record of run {state.spec.run} can't be written: {error!r}")
        if self._admitted:
            event = CallEvent(
                n=self._n,
                start=self._start.isoformat(),
                end=Moment.now().isoformat(),
                status=self._status,
                usage=self._usage,
                error=self._error,
            )
            state.tell({"event": "call", "call": to_json(event)})
        if self._limit and not state.limit_told:
            state.limit_told = True
            state.tell({"event": "limit", "limit": to_json(self._limit)})

    # the answer

    async def _converse(self, dialect: Dialect, asked: ModelRequest) -> web.StreamResponse:
        meter = self._state.meter
        self._limit = await meter.admit(self._n)
        if self._limit:
            message = f"{self._limit}: this examination answers no more model calls"
            raise _Refused(Failure(400, "budget", message))
        self._admitted = True
        answer: Reply | Failure | None = None
        try:
            answer = await self._state.conversation.answer(asked)
        finally:
            self._usage = meter.settle(answer.usage if isinstance(answer, Reply) else None)
        if isinstance(answer, Failure):
            # A request that the provider calls wrong is the agent's doing: dying of that buys no second run.
            self._state.backend_failures += answer.kind not in ("invalid_request", "too_large")
            raise _Refused(answer)
        unique = f"{self._state.spec.run} {self._n}"
        self._answer = dialect.render(asked, answer, unique)
        if asked.stream:
            return await self._stream(dialect, asked, answer, unique)
        return await self._send(200, self._answer)

    async def _stream(self, dialect: Dialect, asked: ModelRequest, reply: Reply, unique: str) -> web.StreamResponse:
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers=headers)
        self._status = 200
        await response.prepare(self._request)
        self._first_byte = Moment.now()
        for piece in dialect.stream(asked, reply, unique):
            await response.write(piece)
        await response.write_eof()
        self._complete = True
        return response

    async def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> web.StreamResponse:
        self._status = status
        self._answer = body
        response = web.json_response(body, status=status, headers=headers)
        await response.prepare(self._request)
        self._first_byte = Moment.now()
        await response.write_eof()
        self._complete = True
        return response

    async def _fail(self, failure: Failure) -> web.StreamResponse:
        self._error = storable(f"{failure.status}: {failure.message}")
        assert self._dialect is not None
        headers = {"x-should-retry": "true" if failure.retry else "false"}
        if failure.status == 413:
            headers[hdrs.CONNECTION] = "close"
        return await self._send(failure.status, self._dialect.failure(failure), headers)

    # the checks

    def _check_token(self) -> None:
        headers, token = self._request.headers, self._state.token.encode()
        scheme, _, credentials = headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        offered = [
            headers.get("x-api-key", ""),
            headers.get("x-goog-api-key", ""),
            self._request.query.get("key", ""),
            credentials.strip() if scheme.lower() == "bearer" else "",
        ]
        if not any(hmac.compare_digest(one.encode("utf-8", "surrogateescape"), token) for one in offered):
            raise _Refused(Failure(401, "authentication", "this is not the run's API key"))

    def _check_model(self, asked: ModelRequest) -> None:
        served = self._state.spec.models
        if asked.model not in served:
            message = f"the model '{asked.model[:_NAME_KEPT]}' does not exist here; served: {', '.join(served)}"
            raise _Refused(Failure(404, "not_found", message, "model_not_found"))

    def _check_record(self) -> None:
        if self._state.broken:
            raise _Refused(Failure(500, "server", self._state.broken))
        if self._state.writer.bytes_written > MAX_RECORD:
            # Not broken: whoever fills its record on purpose is graded on what it has, and gets no second run.
            raise _Refused(Failure(400, "invalid_request", "the run's record has reached its size limit"))

    async def _read(self) -> bytes:
        """The request's body, bounded in size and time."""
        coding = self._request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower()
        if coding != "identity":
            raise _Refused(Failure(415, "invalid_request", f"the content encoding '{coding[:40]}' is not served"))
        too_large = Failure(413, "too_large", f"request bodies are limited to {MAX_BODY} bytes")
        if (self._request.content_length or 0) > MAX_BODY:
            raise _Refused(too_large)
        state, size = self._state, 0
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in self._request.content.iter_any():
                    size += len(chunk)
                    state.incoming += len(chunk)
                    if state.incoming > MAX_BODY:
                        raise _Refused(too_large)
                    chunks.append(chunk)
        except TimeoutError:
            raise _Refused(Failure(408, "invalid_request", "the request body did not arrive in time")) from None
        finally:
            state.incoming -= size
        return b"".join(chunks)

    # the record

    def _worth_recording(self) -> bool:
        state = self._state
        if state.broken and self._usage is None:
            return False
        return self._kind != "refused" or state.refused <= MAX_REFUSED

    def _call(self) -> Call:
        asked = self._asked
        return Call(
            n=self._n,
            kind=self._kind,
            method=self._request.method[:16],
            path=self._request.path_qs[:_PATH_KEPT],
            status=self._status,
            start=self._start,
            end=Moment.now(),
            first_byte=self._first_byte,
            dialect=self._dialect.name if self._dialect else None,
            model=asked.model[:_NAME_KEPT] if asked else None,
            stream=bool(asked and asked.stream),
            has_tools=bool(asked and asked.tools),
            usage=self._usage,
            limit=self._limit.limit if self._limit else None,
            aborted=not self._complete,
            error=self._error,
            response=self._answer,
        )

    def _break(self, why: str) -> None:
        """The run can't be recorded any more, so it must not go on."""
        if self._state.broken is None:
            self._state.broken = why
            self._state.tell({"event": "broken", "error": why})


def _models(names: Sequence[str]) -> dict[str, Any]:
    """Fits the clients of Anthropic and OpenAI."""
    now = int(time.time())
    data = [
        {
            "id": name,
            "object": "model",
            "created": now,
            "owned_by": "ale",
            "type": "model",
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
        }
        for name in names
    ]
    return {"object": "list", "data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
