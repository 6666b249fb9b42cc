"""What every run of an experiment shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ale.exam.events import Observer
from ale.exam.experiment import Experiment
from ale.gateway.client import Gateway
from ale.sandbox.layers import LayerIdentity
from ale.sandbox.protocol import Provider


@dataclass(frozen=True)
class Tools:
    """layers: by the names of harness and image, since a layer belongs to the image that it was built on.
    gateway: None when no harness of the experiment uses a model. keep: leave
    each agent's machine when its run has ended."""

    experiment: Experiment
    provider: Provider
    gateway: Gateway | None
    layers: Mapping[tuple[str, str], LayerIdentity]
    observer: Observer
    keep: bool = False
