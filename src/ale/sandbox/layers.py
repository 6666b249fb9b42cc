"""Read-only layers above an image: what a harness needs inside the machine, built once, named by digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

FORMAT = 1
"""Part of every digest; raised when layers are built differently, so that older ones are not taken for the same."""

HARNESS_ROOT = "/opt/harness"
"""Where layers lie in the machine: `/opt/harness/<name>`; every `/opt/harness/*/bin` is on the PATH of a login."""


@dataclass(frozen=True)
class LayerRecipe:
    """What a harness needs inside the machine, built once into a read-only layer.

    npm: exact `name@version`. node: version of the Node runtime to bring, or None (npm packages are then installed with
    the newest runtime known to `DEFAULT_NODE`, which stays out of the layer).
    check: argument list whose stdout names the version, run as the agent; the first line is recorded.
    """

    name: str
    npm: tuple[str, ...] = ()
    node: str | None = None
    check: tuple[str, ...] = ()

    def digest(self, image: str) -> str:
        """Name of what this recipe gives on the image whose content digest is given."""
        text = json.dumps({"format": FORMAT, "image": image, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class LayerIdentity:
    """A built layer. version: the first line that the recipe's check printed."""

    name: str
    digest: str
    version: str
