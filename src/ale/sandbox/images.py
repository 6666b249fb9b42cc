"""Image recipes: what a sandbox starts from, as YAML in `images/`, named by the digest of what it says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from ale.documents import Document, nearest, read_document
from ale.errors import UsageError

FORMAT = 1
"""Part of every recipe's digest; raised when the same recipe is built differently."""

PackageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
"""As Debian policy 5.6.1 has it."""


class ImageRecipe(Document):
    """packages: names for the distribution's package manager, without versions. size_mb: what it takes unpacked, about;
    a build is refused beforehand when the disk can't hold it. suite: another release of this machine's distribution, by
    its code name, than the one it runs."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
    description: str
    packages: tuple[PackageName, ...] = Field(min_length=1)
    size_mb: int = Field(default=1000, gt=0)
    suite: Annotated[str, StringConstraints(pattern=r"^[a-z]{3,20}$")] | None = None

    def digest(self, host_suite: str) -> str:
        """The order of the packages and the words of the description don't matter; the distribution does."""
        suite = self.suite or host_suite
        text = json.dumps(
            {"format": FORMAT, "name": self.name, "packages": sorted(set(self.packages)), "suite": suite},
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()


def recipe_folders() -> list[Path]:
    """Where recipes are looked for: the current directory's `images/`, then the package's own."""
    package = Path(__file__).resolve().parents[1]
    return [Path.cwd() / "images", package / "images", package.parents[1] / "images"]


def find_recipes(folders: list[Path] | None = None) -> dict[str, Path]:
    """Name → file; the first folder that has a name wins."""
    found: dict[str, Path] = {}
    for folder in folders or recipe_folders():
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def read_recipe(name: str, folders: list[Path] | None = None) -> ImageRecipe:
    """Raises UsageError: no such recipe (with the nearest), or what is wrong in it, with its line."""
    found = find_recipes(folders)
    if name not in found:
        raise UsageError(f"there is no image '{name}'{nearest(name, sorted(found))}")
    recipe = read_document(found[name], ImageRecipe)
    if recipe.name != name:
        raise UsageError(
            f"{found[name]}: name is '{recipe.name}', but the file is called '{name}.yaml'; make them equal"
        )
    return recipe
