"""What is known by a short name: from a room's own table, or from a package outside by its entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from ale.documents import nearest
from ale.errors import UsageError


def plugin_names(table: Mapping[str, str], group: str) -> list[str]:
    return sorted({*table, *(point.name for point in entry_points(group=group))})


def load_plugin(name: str, table: Mapping[str, str], group: str, kind: str) -> Any:
    """What `module:attribute` names, or what that gives when it can be called (a class). The room's own table wins.

    Raises UsageError that names the nearest known one of this kind."""
    outside = {point.name: point.value for point in entry_points(group=group)}
    target = (outside | dict(table)).get(name)
    if target is None:
        raise UsageError(f"there is no {kind} '{name}'{nearest(name, plugin_names(table, group))}")
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    return found() if callable(found) else found
