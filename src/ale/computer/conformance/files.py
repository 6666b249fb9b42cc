"""Single files, names and directories."""

from __future__ import annotations

import os

from ale.computer.conformance.check import ODD_NAMES, Checks, host_place, raises, workplace
from ale.computer.session import Session

checks = Checks()


@checks("text and bytes come back as they were written", needs_machine=False)
async def _round_trip(session: Session) -> None:
    async with workplace(session) as place:
        text = 'naïve 汉字 € 🙂\r\n\t"q" \x1b[31m\x00end'
        await session.write_file(f"{place}/text", text)
        assert await session.read_file(f"{place}/text") == text
        data = os.urandom(3_000_000)
        await session.write_bytes(f"{place}/data", data)
        assert await session.read_bytes(f"{place}/data") == data
        assert await session.read_bytes(f"{place}/data", 1000, 77) == data[1000:1077]
        assert await session.read_bytes(f"{place}/data", 3_000_000) == b""
        await session.write_bytes(f"{place}/data", b"tail", append=True)
        assert await session.read_bytes(f"{place}/data", 2_999_999) == data[-1:] + b"tail"
        await session.write_bytes(f"{place}/data", b"short")
        assert await session.read_bytes(f"{place}/data") == b"short"
        await session.write_bytes(f"{place}/empty", b"")
        assert await session.read_bytes(f"{place}/empty") == b""


@checks("names may hold anything that a file system allows", needs_machine=False)
async def _odd_names(session: Session) -> None:
    async with workplace(session) as place:
        for name in ODD_NAMES:
            await session.write_file(f"{place}/{name}", name)
        assert await session.list_dir(place) == sorted(ODD_NAMES, key=lambda name: name.encode())
        for name in ODD_NAMES:
            assert await session.read_file(f"{place}/{name}") == name
            assert await session.file_exists(f"{place}/{name}")


@checks("what goes wrong with files is told by the built-in exceptions", needs_machine=False)
async def _file_errors(session: Session) -> None:
    async with workplace(session) as place:
        await session.write_file(f"{place}/file", "x")
        await session.write_bytes(f"{place}/latin", b"\xff")
        await raises(FileNotFoundError, session.read_file(f"{place}/none"))
        await raises(FileNotFoundError, session.write_file(f"{place}/none/file", ""))
        await raises(FileNotFoundError, session.list_dir(f"{place}/none"))
        await raises(FileNotFoundError, session.copy(f"{place}/none", f"{place}/copy"))
        await raises(FileNotFoundError, session.move(f"{place}/none", f"{place}/moved"))
        await raises(IsADirectoryError, session.read_bytes(place))
        await raises(NotADirectoryError, session.list_dir(f"{place}/file"))
        await raises(UnicodeDecodeError, session.read_file(f"{place}/latin"))
        await raises(ValueError, session.read_bytes(f"{place}/a\0b"))
        await raises(ValueError, session.read_bytes("relative/path"))
        async with host_place() as host:
            await raises(FileNotFoundError, session.download(f"{place}/none", host / "down"))


@checks("exists, file_exists and directory_exists tell files, directories and nothing apart", needs_machine=False)
async def _existence(session: Session) -> None:
    async with workplace(session) as place:
        await session.write_file(f"{place}/file", "x")
        for path, any_, file, directory in (
            (place, True, False, True),
            (f"{place}/file", True, True, False),
            (f"{place}/none", False, False, False),
            (f"{place}/file/below", False, False, False),
        ):
            found = [await call(path) for call in (session.exists, session.file_exists, session.directory_exists)]
            assert found == [any_, file, directory], path


@checks("directories are made, listed, copied, moved and deleted whole", needs_machine=False)
async def _directories(session: Session) -> None:
    async with workplace(session) as place:
        await session.create_dir(f"{place}/a/b/c")
        await session.create_dir(f"{place}/a/b/c")
        await session.write_file(f"{place}/a/b/file", "x")
        await session.copy(f"{place}/a", f"{place}/copy")
        assert await session.read_file(f"{place}/copy/b/file") == "x"
        await session.move(f"{place}/a", f"{place}/moved")
        assert not await session.exists(f"{place}/a")
        assert await session.list_dir(f"{place}/moved/b") == ["c", "file"]
        entries = {entry.name: entry for entry in await session.scan_dir(f"{place}/moved/b")}
        assert (entries["file"].kind, entries["file"].size, entries["c"].kind) == ("file", 1, "directory")
        await session.delete(f"{place}/moved")
        await session.delete(f"{place}/moved")
        assert await session.list_dir(place) == ["copy"]
