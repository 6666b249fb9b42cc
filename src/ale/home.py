"""Where this user's images, sandboxes and caches live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home(environ: Mapping[str, str]) -> Path:
    """`$ALE_HOME`, else `ale` in the user's data directory."""
    if environ.get("ALE_HOME"):
        return Path(environ["ALE_HOME"]).absolute()
    data = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".local" / "share")
    return Path(data).absolute() / "ale"


def instance_cache(environ: Mapping[str, str]) -> Path:
    """Instance lists by the digest of their workflow; safe to lose."""
    return home(environ) / "cache" / "instances"
