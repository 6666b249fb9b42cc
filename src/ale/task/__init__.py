"""What is asked: tasks, their instances, cards and folders. Task code imports `Task` from here, so this stays light."""

from __future__ import annotations

from ale.task.task import Task

__all__ = ["Task"]
