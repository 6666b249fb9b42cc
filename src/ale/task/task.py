"""`Task`: the value that load() returns, and the base of the class form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ale.errors import TaskError


class Task:
    """One instance of a workflow.

    As a value: `Task(description=..., instance=..., metadata=..., computer=...)`; the public spelling `task_id=` works.
    As a base: define stage_inputs, stage_reference and evaluate (and solve, for the oracle); vm_session is synchronous.

    computer: what this instance needs beyond the card: os, vcpus, memory_mb, disk_mb, gpu, software, image, display.
    """

    description: str = ""
    instance: str = ""
    metadata: Mapping[str, Any] = MappingProxyType({})
    computer: Mapping[str, Any] | None = None
    id: str = ""

    _directories: Mapping[str, Path] = MappingProxyType({})
    _missing: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        description: str | None = None,
        instance: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        computer: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002
        *,
        task_id: str | None = None,
    ) -> None:
        given = {"description": description, "instance": instance, "computer": computer, "id": id or task_id}
        for name, value in given.items():
            if value is not None:
                setattr(self, name, value)
        self.metadata = dict(metadata if metadata is not None else type(self).metadata)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(instance={self.instance!r}, id={self.id!r})"

    @property
    def task_id(self) -> str:
        return self.id

    @property
    def input_dir(self) -> Path:
        """On the host, read-only: the task's input during start() and solve(), what the agent got during evaluate()."""
        return self._directory("input_dir")

    @property
    def output_dir(self) -> Path:
        """On the host, read-only: what the agent delivered. In evaluate() only."""
        return self._directory("output_dir")

    @property
    def reference_dir(self) -> Path:
        """On the host, read-only: the ground truth of this instance. In evaluate() only."""
        return self._directory("reference_dir")

    def enter_phase(self, directories: Mapping[str, Path], missing: Mapping[str, str]) -> None:
        """For the worker process. directories: what exists now, by the name of its property; missing: why another
        one does not."""
        self._directories, self._missing = directories, missing

    def _directory(self, name: str) -> Path:
        if name in self._directories:
            return self._directories[name]
        raise TaskError(self._missing.get(name, f"task.{name} does not exist in this phase"))

    # the class form

    def stage_inputs(self, vm_session: Any) -> Mapping[str, str]:
        """Bring the machine to its starting state; returns {'instruction': ..., 'workspace': ...}."""
        raise NotImplementedError

    def stage_reference(self, vm_session: Any) -> None:
        """Put ground truth into the grading machine; called after the agent has ended."""

    def evaluate(self, vm_session: Any) -> Any:
        """A number in [0, 1] or a Score."""
        raise NotImplementedError

    def solve(self, vm_session: Any) -> None:
        """One known way to full marks."""
        raise NotImplementedError
