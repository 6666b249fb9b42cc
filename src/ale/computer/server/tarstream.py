"""Tar as both ends of the wire write and read it: POSIX pax, one pass, memory independent of what is in it.

Names are bytes. The parser takes GNU long names too; what it doesn't know becomes an entry of kind `other`. Nothing
here touches a file system: what is taken is the caller's decision.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
_MAX_OCTAL = 8**11 - 1
_MAX_EXTENDED = 64 * 1024
"""Bytes of a pax or long-name record. A path has 4096 at most."""

FILE, HARD_LINK, LINK, CHARACTER, BLOCK_DEVICE, DIRECTORY, FIFO = b"0", b"1", b"2", b"3", b"4", b"5", b"6"
REFUSED = b"E"
"""Our own type flag (upper-case letters are free for that): `name` could not be sent whole, `link` says why. It
follows the file's own entry if that was begun."""

_KINDS = {
    FILE: "file",
    b"\0": "file",
    b"7": "file",
    HARD_LINK: "hard link",
    LINK: "link",
    CHARACTER: "device",
    BLOCK_DEVICE: "device",
    DIRECTORY: "directory",
    FIFO: "fifo",
    REFUSED: "refused",
}


class BadTar(ValueError):
    """The stream is not a tar, or breaks off."""


@dataclass(frozen=True)
class Entry:
    name: bytes
    kind: str
    size: int = 0
    mode: int = 0o644
    mtime: int = 0
    link: bytes = b""


def header(entry_type: bytes, name: bytes, *, size: int = 0, mode: int = 0, mtime: int = 0, link: bytes = b"") -> bytes:
    """The blocks that come before an entry's data."""
    mtime = min(max(mtime, 0), _MAX_OCTAL)
    records = b""
    if len(name) > 100 or _needs_record(name):
        records += _record(b"path", name)
    if len(link) > 100 or _needs_record(link):
        records += _record(b"linkpath", link)
    if size > _MAX_OCTAL:
        records += _record(b"size", b"%d" % size)
    extended = b""
    if records:
        extended = _block(b"x", b"pax", len(records), 0o644, 0, b"") + pad(records)
    return extended + _block(entry_type, name[:100], min(size, _MAX_OCTAL), mode, mtime, link[:100])


def _needs_record(text: bytes) -> bool:
    return not text.isascii()


def _record(key: bytes, value: bytes) -> bytes:
    rest = b" " + key + b"=" + value + b"\n"
    size = len(rest) + 1
    while len(b"%d" % size) + len(rest) != size:
        size = len(b"%d" % size) + len(rest)
    return b"%d" % size + rest


def _block(entry_type: bytes, name: bytes, size: int, mode: int, mtime: int, link: bytes) -> bytes:
    fields = b"".join(
        (
            name.ljust(100, b"\0"),
            b"%07o\0" % (mode & 0o7777),
            b"0000000\0" * 2,
            b"%011o\0" % size,
            b"%011o\0" % mtime,
            b" " * 8,
            entry_type,
            link.ljust(100, b"\0"),
            b"ustar\00000",
        )
    ).ljust(BLOCK, b"\0")
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def pad(data: bytes) -> bytes:
    return data + padding(len(data))


def padding(size: int) -> bytes:
    return b"\0" * (-size % BLOCK)


END = b"\0" * BLOCK * 2


class Parser:
    """Feed it the stream in pieces of any size; out come an Entry and then its data, piece by piece."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._data = 0
        self._skip = 0
        self._extended = b""
        self._wanted = 0
        self._pax: dict[bytes, bytes] = {}
        self.ended = False

    def feed(self, data: bytes) -> Iterator[Entry | bytes]:
        self._buffer += data
        while self._buffer:
            if self.ended:
                self._buffer.clear()
            elif self._data:
                part = self._take(min(self._data, len(self._buffer)))
                self._data -= len(part)
                yield part
            elif self._skip:
                self._skip -= len(self._take(min(self._skip, len(self._buffer))))
            elif self._wanted:
                if len(self._buffer) < self._wanted:
                    return
                self._take_extended()
            elif len(self._buffer) < BLOCK:
                return
            elif (entry := self._header(self._take(BLOCK))) is not None:
                yield entry

    def close(self) -> None:
        """To be called when the stream has ended."""
        if not self.ended:
            raise BadTar("the tar breaks off")

    def _take(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _header(self, block: bytes) -> Entry | None:
        if not block.strip(b"\0"):
            self.ended = True
            return None
        if _number(block[148:156]) != sum(block[:148]) + 8 * 32 + sum(block[156:]):
            raise BadTar("a header's checksum is wrong")
        flag, size = block[156:157], _number(block[124:136])
        if flag in (b"x", b"g", b"L", b"K"):
            if size > _MAX_EXTENDED:
                raise BadTar("a name is absurdly long")
            self._extended, self._wanted = flag, size
            self._skip = 0
            if not size:
                self._extended = b""
            return None
        return self._entry(block, flag, size)

    def _entry(self, block: bytes, flag: bytes, size: int) -> Entry:
        name, prefix, link = (_text(block[a:b]) for a, b in ((0, 100), (345, 500), (157, 257)))
        if block[257:263] == b"ustar\0" and prefix:
            name = prefix + b"/" + name
        pax, self._pax = self._pax, {}
        name, link = pax.get(b"path", name), pax.get(b"linkpath", link)
        if b"size" in pax:
            if not pax[b"size"].isdigit() or len(pax[b"size"]) > 18:
                raise BadTar("a size is not a number")
            size = int(pax[b"size"])
        kind = _KINDS.get(flag, "other")
        if any(key.startswith(b"GNU.sparse") for key in pax):
            kind = "other"
        if kind in ("directory", "hard link", "link", "device", "fifo"):
            size = 0
        self._data, self._skip = size, -size % BLOCK
        return Entry(name, kind, size, _number(block[100:108]) & 0o7777, _number(block[136:148]), link)

    def _take_extended(self) -> None:
        flag, data = self._extended, self._take(self._wanted)
        self._skip, self._wanted = -len(data) % BLOCK, 0
        if flag == b"x":
            self._pax.update(_records(data))
        elif flag == b"L":
            self._pax[b"path"] = data.rstrip(b"\0")
        elif flag == b"K":
            self._pax[b"linkpath"] = data.rstrip(b"\0")


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    text = field.strip(b" \0")
    if text.strip(b"01234567"):
        raise BadTar("a header field is not a number")
    return int(text or b"0", 8)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _records(data: bytes) -> dict[bytes, bytes]:
    found = {}
    while data:
        digits, space, _ = data.partition(b" ")
        if not space or not digits.isdigit() or len(digits) > 6:
            raise BadTar("an extended header is malformed")
        size = int(digits)
        record = data[:size]
        key, equals, value = record[len(digits) + 1 :].partition(b"=")
        if len(record) != size or not equals or not value.endswith(b"\n"):
            raise BadTar("an extended header is malformed")
        found[key] = value[:-1]
        data = data[size:]
    return found
