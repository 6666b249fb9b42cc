"""The card of a workflow (`task.yaml`): what it is, what machine it needs, and how it is graded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError, ValidationInfo, field_validator, model_validator

from ale.documents import Document, nearest, read_document
from ale.errors import TaskError, UsageError
from ale.task.taxonomy import CLUSTERS

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ArtifactMode = Literal["exact", "table", "geometry", "appearance", "world_state", "text", "executable"]


class Occupation(Document):
    """code: O*NET-SOC, such as `13-2011.00`."""

    code: Annotated[str, StringConstraints(pattern=r"^\d{2}-\d{4}(\.\d{2})?$")]
    title: Text


class Software(Document):
    name: Text
    version: Text
    source: Text
    licence: Literal["free", "bring-your-own", "eula"]


class Compute(Document):
    vcpus: int = Field(default=2, ge=1, le=256)
    memory_mb: int = Field(default=4096, ge=128)
    disk_mb: int = Field(default=4096, ge=128)
    gpu: str | None = None


class Display(Document):
    width: int = Field(default=1280, ge=320, le=7680)
    height: int = Field(default=800, ge=200, le=4320)


class Network(Document):
    """hosts: the only ones that the agent may reach, by name; none when empty."""

    hosts: tuple[Text, ...] = ()


class OutputFile(Document):
    """One deliverable. path: relative to `output/`. required: without it the score is 0 with `no_output`."""

    path: Text
    kind: Literal["file", "directory"] = "file"
    max_mb: float = Field(default=100.0, gt=0)
    required: bool = True

    @field_validator("path")
    @classmethod
    def _inside_output(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or not parts:
            raise ValueError(f"'{path}' must be a path inside output/, such as report.xlsx")
        return path.rstrip("/")


class Criterion(Document):
    text: Text
    weight: float = Field(ge=0)


class Service(Document):
    """A program that must outlive the agent; it runs as `user`, never as the agent."""

    name: Text
    command: tuple[str, ...]
    user: Literal["root", "display"] = "root"


class Review(Document):
    who: Text
    when: date


class Card(Document):
    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    title: Text
    cluster: str
    subdomain: str
    occupation: Occupation
    tier: Literal["near-term", "full-spectrum", "last-exam"]
    os: Literal["linux", "windows"] = "linux"
    image: str = "base"
    software: tuple[Software, ...] = ()
    compute: Compute = Compute()
    display: Display | None = None
    time_budget_s: int = Field(gt=0)
    network: Network = Network()
    grade_on: Literal["fresh", "fork", "same"] = "fresh"
    reference_in_machine: bool = False
    """Whether evaluate() needs the reference inside the grading machine too (readable by its root alone)."""
    artifact_modes: tuple[ArtifactMode, ...] = ()
    outputs: tuple[OutputFile, ...] = ()
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    judge: Text | None = None
    why_judge: Text | None = None
    services: tuple[Service, ...] = ()
    review: tuple[Review, ...] = ()
    authors: tuple[Text, ...] = Field(min_length=1)
    licence: Text
    canary: Text

    @field_validator("display", mode="before")
    @classmethod
    def _display_by_word(cls, display: Any) -> Any:
        return {True: {}, False: None}[display] if isinstance(display, bool) else display

    @field_validator("network", mode="before")
    @classmethod
    def _network_by_word(cls, network: Any) -> Any:
        return {} if network in ("none", None) else network

    @field_validator("subdomain", mode="before")
    @classmethod
    def _subdomain_is_quoted(cls, subdomain: Any) -> Any:
        if isinstance(subdomain, float):
            raise ValueError(f"write it with quotes ('{subdomain}'), or 1.10 would be read as 1.1")  # noqa: TRY004
        return subdomain

    @field_validator("cluster")
    @classmethod
    def _cluster_exists(cls, cluster: str) -> str:
        if cluster not in CLUSTERS:
            raise ValueError(f"there is no cluster '{cluster}'{nearest(cluster, tuple(CLUSTERS))}")
        return cluster

    @field_validator("subdomain")
    @classmethod
    def _subdomain_exists(cls, subdomain: str, info: ValidationInfo) -> str:
        cluster = info.data.get("cluster")
        if cluster is not None and subdomain not in CLUSTERS[cluster]:
            valid = ", ".join(f"{number} {name}" for number, name in CLUSTERS[cluster].items())
            raise ValueError(f"'{subdomain}' is not one of {cluster}: {valid}")
        return subdomain

    @model_validator(mode="after")
    def _hangs_together(self) -> Card:
        if self.judge and not self.why_judge:
            raise ValueError("a task with a judge needs why_judge: what code can't decide here, and why")
        paths = [output.path for output in self.outputs]
        if len(set(paths)) < len(paths):
            raise ValueError("outputs names the same path twice")
        return self

    def for_instance(self, computer: Mapping[str, Any] | None) -> Card:
        """This card with what one instance overrides by `Task.computer`.

        Understands os, vcpus, memory_mb, disk_mb, gpu, software, image, display and the public form
        `{"provider": "computer", "setup_config": {"os_type": ...}}`. Raises TaskError for anything else.
        """
        if not computer:
            return self
        wanted = dict(computer)
        setup = wanted.pop("setup_config", None)
        wanted.pop("provider", None)
        if isinstance(setup, Mapping) and setup.get("os_type"):
            wanted.setdefault("os", setup["os_type"])
        compute = {key: wanted.pop(key) for key in tuple(Compute.model_fields) if key in wanted}
        valid = ("os", "image", "software", "display")
        for key in wanted:
            if key not in valid:
                raise TaskError(f"unknown key '{key}' in Task.computer{nearest(key, (*valid, *Compute.model_fields))}")
        merged = self.model_dump() | wanted
        merged["compute"] = self.compute.model_dump() | compute
        try:
            return Card.model_validate(merged)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise TaskError(f"Task.computer: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def read_card(path: Path) -> Card:
    """Read `task.yaml`. Raises TaskError with file, line, what is wrong, and the nearest valid key."""
    try:
        card = read_document(path, Card)
    except UsageError as error:
        raise TaskError(str(error)) from None
    folder = path.parent
    if card.id != folder.name or card.cluster != folder.parent.name:
        where = f"{folder.parent.name}/{folder.name}"
        raise TaskError(f"{path}:1: the card says {card.cluster}/{card.id}, the folder is {where}; they must agree")
    return card
