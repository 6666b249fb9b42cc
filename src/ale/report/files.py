"""What the agent left behind as the page shows it: delivered files with previews, refused ones with their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ale.report.pictures import NoPicture, Picture, looks_like_picture, picture
from ale.report.recorded import Unreadable, open_inside, read_inside, read_json
from ale.report.shown import Shown, Space, brief
from ale.report.tables import SUFFIXES, Table, read_tables

MANIFEST = "workspace/manifest.json"
MOST_FILES = 300
MOST_PREVIEWS = 60
MOST_TABLES = 12
MOST_REFUSED = 200
TEXT_BYTES = 1024 * 2**10
FILE_BYTES = 24 * 2**10
PICTURE_BYTES = 8 * 2**20
ONE_PICTURE_BYTES = 4 * 2**20
_HEAD = 256 * 2**10


@dataclass(frozen=True)
class FileView:
    """preview: exactly one of text, tables, picture, or in `why` the reason that there is none."""

    number: int
    path: str
    word: str
    size: int
    sha256: str
    delivered: bool
    executable: bool
    text: Shown | None = None
    tables: tuple[Table, ...] = ()
    picture: Picture | None = None
    why: str = ""


@dataclass(frozen=True)
class Refused:
    path: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Files:
    root: str = ""
    shown: tuple[FileView, ...] = ()
    more: int = 0
    refused: tuple[Refused, ...] = ()
    more_refused: int = 0
    damage: str = ""

    @property
    def delivered(self) -> int:
        return sum(file.delivered for file in self.shown)


def read_files(folder: Path) -> Files:
    try:
        manifest = read_json(folder, MANIFEST)
        entries = sorted(manifest["files"], key=lambda file: (not file["delivered"], file["path"]))
        refused = tuple(
            Refused(brief(item["path"]), brief(item["reason"], 40), brief(item.get("detail", "")))
            for item in manifest["refused"][:MOST_REFUSED]
        )
        return Files(
            root=brief(manifest["root"]),
            shown=tuple(_previewed(folder / "workspace" / "output", entries[:MOST_FILES])),
            more=max(0, len(entries) - MOST_FILES),
            refused=refused,
            more_refused=max(0, len(manifest["refused"]) - MOST_REFUSED),
        )
    except Unreadable as error:
        there = (folder / MANIFEST).exists()
        return Files(damage=str(error) if there else "Nothing was collected from the machine.")
    except (KeyError, TypeError, AttributeError) as error:
        return Files(damage=f"{MANIFEST} is damaged: {error!r}")


def _previewed(root: Path, entries: list[Mapping[str, Any]]) -> Iterator[FileView]:
    tables = _tables(root, [str(entry["path"]) for entry in entries[:MOST_PREVIEWS]])
    space = Space(TEXT_BYTES, min(len(entries), MOST_PREVIEWS), FILE_BYTES)
    pictures = PICTURE_BYTES
    for number, entry in enumerate(entries, start=1):
        path = str(entry["path"])
        view = FileView(
            number=number,
            path=brief(path, 400),
            word=brief(PurePosixPath(path).name, 200),
            size=int(entry["size"]),
            sha256=brief(entry["sha256"], 64),
            delivered=bool(entry["delivered"]),
            executable=bool(entry.get("executable", False)),
        )
        found = tables.get(path, "")
        if number > MOST_PREVIEWS:
            yield replace(view, why=f"Only the first {MOST_PREVIEWS} files have a preview.")
            continue
        if isinstance(found, tuple):
            yield replace(view, tables=found)
            continue
        preview = _preview(root, path, space, pictures)
        if isinstance(preview, Picture):
            pictures -= view.size
            yield replace(view, picture=preview)
        elif isinstance(preview, Shown):
            yield replace(view, text=preview, why=f"No table: {brief(found)}." if found else "")
        else:
            yield replace(view, why=f"No preview: {brief(found) or preview}.")


def _tables(root: Path, paths: list[str]) -> dict[str, tuple[Table, ...] | str]:
    sound = [path for path in paths if path.lower().endswith(SUFFIXES) and _is_there(root, path)]
    found = read_tables(root, sound[:MOST_TABLES])
    late = f"only the first {MOST_TABLES} tables are read"
    return {**dict.fromkeys(sound[MOST_TABLES:], late), **found}


def _is_there(root: Path, path: str) -> bool:
    try:
        open_inside(root, path).close()
    except Unreadable:
        return False
    return True


def _preview(root: Path, path: str, space: Space, pictures: int) -> Picture | Shown | str:
    try:
        head = read_inside(root, path, _HEAD)
        if not head:
            return "the file is empty"
        if looks_like_picture(head):
            data = read_inside(root, path, ONE_PICTURE_BYTES + 1)
            if len(data) > min(ONE_PICTURE_BYTES, pictures):
                return "the picture is too large for the page"
            return picture(data)
    except Unreadable as error:
        return str(error)
    except NoPicture as error:
        return f"{error}"
    text = _text(head)
    if text is None:
        return "it is binary data"
    where = f"workspace/output/{brief(path)}"
    [shown] = space.show([(text, where)])
    if len(head) == _HEAD:
        return Shown(shown.head, f"Only the beginning is shown; all of it: {where}.")
    return shown


def _text(head: bytes) -> str | None:
    """None for what is no text. The last character may have been cut in two."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", errors="replace")
    if b"\0" in head:
        return None
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(head) == _HEAD and error.start >= len(head) - 3:
            return head[: error.start].decode("utf-8-sig")
    text = head.decode("cp1252", errors="replace")
    odd = sum(not character.isprintable() and character not in "\t\r\n" for character in text)
    return text if odd * 50 < len(text) else None
