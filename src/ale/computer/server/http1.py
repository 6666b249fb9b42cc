"""HTTP/1.1 over a blocking socket, just as much as the protocol needs: keep-alive, Content-Length and chunked bodies
in both directions, and a body that can be read while the answer is being sent."""

from __future__ import annotations

import json
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .x11 import Screen

HEAD_LIMIT = 64 * 1024
JSON_LIMIT = 16 * 2**20
"""Bytes of a JSON body. Files and trees are not JSON; an argument list longer than this is a mistake."""

_READ = 256 * 1024
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


class Disconnected(Exception):
    """The client is gone; whatever was done for it alone ends."""


class BadRequest(ValueError):
    """The bytes are not what this protocol allows; answered with 400 and the connection closes."""


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.buffer = bytearray()
        self.screen: Screen | None = None

    def fill(self) -> bool:
        """Wait for bytes and keep them. False at the end of the stream."""
        try:
            data = self.sock.recv(_READ)
        except ConnectionError as error:
            raise Disconnected from error
        self.buffer += data
        return bool(data)

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except ConnectionError as error:
            raise Disconnected from error

    def linger(self, seconds: float) -> None:
        """Swallow what the client still sends, so that closing doesn't take back the answer that it has not read."""
        deadline = time.monotonic() + seconds
        try:
            while (left := deadline - time.monotonic()) > 0:
                self.sock.settimeout(left)
                if not self.sock.recv(_READ):
                    return
        except (TimeoutError, ConnectionError):
            return

    def take(self, count: int) -> bytes:
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data


class Body:
    """A request's body. `available` decodes what has already arrived; `read` waits for more."""

    def __init__(self, connection: Connection, length: int | None) -> None:
        self._connection = connection
        self._left = length or 0
        self._chunked = length is None
        self._between = False
        self.done = length == 0

    def available(self, limit: int = _READ) -> bytes:
        """Up to `limit` bytes that are here already; b"" when there are none yet, or none any more (`done`)."""
        while not self.done:
            if self._left:
                data = self._connection.take(min(self._left, limit))
                self._left -= len(data)
                if not self._left:
                    self._between, self.done = True, not self._chunked
                return data
            if not self._next_chunk():
                return b""
        return b""

    def read(self, limit: int = _READ) -> bytes:
        """Up to `limit` bytes, b"" at the end of the body."""
        while True:
            data = self.available(limit)
            if data or self.done:
                return data
            if not self._connection.fill():
                raise Disconnected

    def read_all(self, limit: int = JSON_LIMIT) -> bytes:
        parts, size = [], 0
        while data := self.read():
            size += len(data)
            if size > limit:
                raise BadRequest(f"the body is longer than {limit} bytes")
            parts.append(data)
        return b"".join(parts)

    def json(self) -> dict[str, object]:
        value = json.loads(self.read_all() or b"{}")
        if not isinstance(value, dict):
            raise BadRequest("the body must be a JSON object")
        return value

    def _next_chunk(self) -> bool:
        buffer = self._connection.buffer
        start = 0
        if self._between:
            if len(buffer) < 2:
                return False
            if buffer[:2] != b"\r\n":
                raise BadRequest("a chunk does not end where it said")
            start = 2
        end = buffer.find(b"\r\n", start, start + 32)
        if end < 0:
            if len(buffer) > start + 32:
                raise BadRequest("a chunk has no length")
            return False
        digits = bytes(buffer[start:end])
        if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
            raise BadRequest("a chunk has no length")
        size = int(digits, 16)
        if size == 0:
            if len(buffer) < end + 4:
                return False
            if buffer[end + 2 : end + 4] != b"\r\n":
                raise BadRequest("trailers are not supported")
            self._connection.take(end + 4)
            self.done = True
            return False
        self._connection.take(end + 2)
        self._between, self._left = False, size
        return True


class Request:
    def __init__(self, connection: Connection, method: str, target: str, headers: dict[str, str]) -> None:
        self.connection = connection
        self.method = method
        self.path, _, query = target.partition("?")
        self.query = _parse_query(query)
        self.headers = headers
        self.body = Body(connection, _body_length(headers))
        self.streaming = False

    def flag(self, name: str) -> bool:
        return self.query.get(name) == b"1"

    def number(self, name: str, default: int) -> int:
        text = self.query.get(name)
        if text is None:
            return default
        if not text.isdigit() or len(text) > 18:
            raise BadRequest(f"{name} must be a whole number")
        return int(text)

    def answer(self, value: object, status: int = 200, *, close: bool = False) -> None:
        self.answer_bytes(json.dumps(value).encode(), "application/json", status, close=close)

    def answer_bytes(
        self, data: bytes, kind: str = "application/octet-stream", status: int = 200, *, close: bool = False
    ) -> None:
        self.streaming = True
        head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\nContent-Type: {kind}\r\n"
        if close:
            head += "Connection: close\r\n"
        self.connection.send(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)

    def start_stream(self, kind: str) -> None:
        """Begin a chunked answer; from here on an error can only be told by cutting it."""
        self.streaming = True
        self.connection.send(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    def send_chunk(self, *parts: bytes) -> None:
        size = sum(map(len, parts))
        if size:
            self.connection.send(b"".join((b"%x\r\n" % size, *parts, b"\r\n")))

    def end_stream(self) -> None:
        self.connection.send(b"0\r\n\r\n")


def read_request(connection: Connection) -> Request | None:
    """The next request, or None when the client closed between two requests."""
    while (end := connection.buffer.find(b"\r\n\r\n")) < 0:
        if len(connection.buffer) > HEAD_LIMIT:
            raise BadRequest("the request head is too long")
        if not connection.fill():
            return None
    lines = connection.take(end + 4)[:-4].decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1.") or not parts[1].startswith("/"):
        raise BadRequest("this is not an HTTP/1.1 request")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest("a header line has no colon")
        headers[name.strip().lower()] = value.strip()
    return Request(connection, parts[0], parts[1], headers)


def _body_length(headers: dict[str, str]) -> int | None:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return None
    text = headers.get("content-length", "0")
    if not text.isdigit() or len(text) > 18:
        raise BadRequest("Content-Length must be a whole number")
    return int(text)


def _parse_query(query: str) -> dict[str, bytes]:
    found = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name:
            found[name] = unquote(value)
    return found


def unquote(text: str) -> bytes:
    """Percent-decoding to bytes: names in a machine need not be UTF-8."""
    head, *rest = text.encode("latin-1").split(b"%")
    out = bytearray(head)
    for part in rest:
        try:
            out.append(int(part[:2], 16))
        except ValueError as error:
            raise BadRequest("a percent sign is not followed by two hex digits") from error
        out += part[2:]
    return bytes(out)
