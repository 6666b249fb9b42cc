"""Our tar is everybody's tar, and the parser survives what is none."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale.computer.server import tarstream
from ale.computer.server.tarstream import BadTar, Entry, Parser

NAME = b"deep/" + "ü汉".encode() * 60 + b"/" + b"x" * 120


def parse(data: bytes, step: int = 1 << 20) -> list[tuple[Entry, bytes]]:
    parser, found = Parser(), []
    for start in range(0, len(data), step):
        for item in parser.feed(data[start : start + step]):
            if isinstance(item, Entry):
                found.append((item, b""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + item)
    parser.close()
    return found


def test_what_we_write_is_read_by_the_standard_library() -> None:
    data = tarstream.header(tarstream.DIRECTORY, b"deep", mode=0o755)
    data += tarstream.header(tarstream.FILE, NAME, size=5, mode=0o640, mtime=1_700_000_000) + tarstream.pad(b"hello")
    data += tarstream.header(tarstream.LINK, b"link", link=NAME) + tarstream.END
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        directory, file, link = tar.getmembers()
        assert (directory.name, directory.isdir()) == ("deep", True)
        assert (file.name, file.size, file.mode, file.mtime) == (NAME.decode(), 5, 0o640, 1_700_000_000)
        content = tar.extractfile(file)
        assert content is not None
        assert content.read() == b"hello"
        assert (link.issym(), link.linkname) == (True, NAME.decode())


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("step", [1, 7, 512, 100_000])
def test_what_others_write_is_read_in_pieces_of_any_size(form: int, step: int) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for name, content in ((NAME.decode(), b"one"), ("two", b""), ("three", b"3" * 1024)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    found = parse(packed.getvalue(), step)
    assert [(entry.name, entry.kind, data) for entry, data in found] == [
        (NAME, "file", b"one"),
        (b"two", "file", b""),
        (b"three", "file", b"3" * 1024),
    ]


def test_a_file_of_many_terabytes_keeps_its_size() -> None:
    size = 50 * 2**40
    [entry] = Parser().feed(tarstream.header(tarstream.FILE, b"big", size=size))
    assert isinstance(entry, Entry)
    assert entry.size == size


def test_a_stream_that_breaks_off_is_no_tar() -> None:
    whole = tarstream.header(tarstream.FILE, b"a", size=1000) + b"x" * 1024 + tarstream.END
    for length in (1, 512, 900, 1536):
        with pytest.raises(BadTar):
            parse(whole[:length])


@given(st.binary(max_size=3000), st.integers(1, 700))
def test_any_bytes_are_a_tar_or_refused(data: bytes, step: int) -> None:
    try:
        parse(data, step)
    except BadTar:
        return


@given(st.data())
def test_damaged_tars_are_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(
        tarstream.header(tarstream.FILE, NAME, size=700)
        + b"y" * 1024
        + tarstream.header(tarstream.LINK, b"l", link=b"t")
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    # A changed checksum alone would be refused at once: let the parser see the damaged fields.
    for start in (0, 1024):
        block = bytes(whole[start : start + 512])
        whole[start + 148 : start + 156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:]))
    try:
        parse(bytes(whole) + tarstream.END)
    except BadTar:
        return
