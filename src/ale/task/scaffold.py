"""Write a complete small task that passes, for its author to change part by part."""

from __future__ import annotations

import re
import uuid
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ale.documents import nearest
from ale.errors import UsageError
from ale.task.taxonomy import CLUSTERS


def scaffold(root: Path, name: str) -> tuple[Path, ...]:
    """Make `<root>/<cluster>/<workflow>/` and return the files that were written.

    Raises UsageError for a name that is none, an unknown cluster, and a folder that exists.
    """
    cluster, _, workflow = name.partition("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{0,62}", workflow):
        raise UsageError(f"'{name}' is no task name; write CLUSTER/NAME, such as business_finance/petty_cash")
    if cluster not in CLUSTERS:
        raise UsageError(f"there is no cluster '{cluster}'{nearest(cluster, tuple(CLUSTERS))}")
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
    written: list[Path] = []
    for relative, template in _templates():
        text = template.read_text(encoding="utf-8")
        target = folder / relative.removesuffix(".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.format(**values) if target.name == "task.yaml" else text, encoding="utf-8")
        written.append(target)
    return tuple(written)


def _templates() -> list[tuple[str, Traversable]]:
    """The template's files; code and card carry `.txt` so that no tool takes them for the package's own."""
    root = resources.files("ale.task") / "template"
    found = [(entry.name, entry) for entry in root.iterdir() if entry.is_file()]
    for folder in ("input", "reference"):
        found += [(f"{folder}/{entry.name}", entry) for entry in (root / folder).iterdir()]
    return sorted(found, key=lambda each: each[0])
