"""Write a complete small task that passes, for its author to change part by part."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ale.documents import nearest
from ale.errors import UsageError
from ale.task.taxonomy import CLUSTERS


def scaffold(root: Path, name: str) -> tuple[Path, ...]:
    """Make `<root>/<cluster>/<workflow>/` and return the files that were written.

    Raises UsageError for a name that is none, an unknown cluster, a folder that exists, and one that can't be made.
    """
    cluster, _, workflow = name.partition("/")
    if "/" in name and cluster not in CLUSTERS:
        raise UsageError(f"there is no cluster '{cluster}'{nearest(cluster, tuple(CLUSTERS))}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{0,62}", workflow):
        how = "CLUSTER/NAME with small letters, digits and _, such as business_finance/petty_cash"
        raise UsageError(f"'{name}' is no task name; write {how}")
    folder = root / cluster / workflow
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another name")
    subdomain, title = next(iter(CLUSTERS[cluster].items()))
    values = {
        "name": workflow,
        "cluster": cluster,
        "subdomain": subdomain,
        "subdomain_name": title,
        "canary": str(uuid.uuid4()),
    }
    try:
        return tuple(_write(folder, values))
    except OSError as error:
        raise UsageError(f"{error.filename} can't be written: {error.strerror}; choose another --tasks-dir") from None


def _write(folder: Path, values: Mapping[str, str]) -> Iterator[Path]:
    for relative, template in _templates():
        text = template.read_text(encoding="utf-8")
        target = folder / relative.removesuffix(".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.format(**values) if target.name == "task.yaml" else text, encoding="utf-8")
        yield target


def _templates() -> list[tuple[str, Traversable]]:
    """The template's files; code and card carry `.txt` so that no tool takes them for the package's own."""
    root = resources.files("ale.task") / "template"
    found = [(entry.name, entry) for entry in root.iterdir() if entry.is_file()]
    for folder in ("input", "reference", "scripts"):
        found += [(f"{folder}/{entry.name}", entry) for entry in (root / folder).iterdir()]
    return sorted(found, key=lambda each: each[0])
