"""Import a workflow's main.py and find its instances and phases. Runs in the worker process only."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from ale.errors import TaskError
from ale.task import cua_bench
from ale.task.task import Task

Phase = Literal["start", "evaluate", "solve"]


@dataclass(frozen=True)
class Module:
    """A loaded main.py. phases: the functions of the module form; empty for the class form, whose tasks hold them."""

    tasks: tuple[Task, ...]
    phases: dict[Phase, Callable[..., Any]]

    def task(self, instance: str) -> Task:
        for task in self.tasks:
            if task.instance == instance:
                return task
        names = ", ".join(task.instance for task in self.tasks)
        raise TaskError(f"there is no instance '{instance}' (there are: {names})")


def load_module(folder: Path, root: Path) -> Module:
    """Import main.py and call load(). What the module raises passes through; what it lacks is a TaskError."""
    module = _import(folder, root)
    marked = cua_bench.marked_functions(module)
    load = marked.get("load") or getattr(module, "load", None)
    if load is None:
        return Module(_from_class(module, folder), {})
    phases: dict[Phase, Callable[..., Any]] = {}
    for phase in ("start", "evaluate", "solve"):
        function = marked.get(phase) or getattr(module, phase, None)
        if function is not None:
            phases[phase] = function
    for phase in ("start", "evaluate"):
        if phase not in phases:
            raise TaskError(f"{folder / 'main.py'}: there is no {phase}()")
    tasks = load()
    if not isinstance(tasks, Sequence) or not tasks:
        raise TaskError(f"{folder / 'main.py'}: load() must return a list of at least one Task, not {_shown(tasks)}")
    return Module(_named(tuple(_as_task(task, folder) for task in tasks), _variants(module), folder), phases)


def _as_task(task: Any, folder: Path) -> Task:
    """The real `cua_bench` package, where it is installed, has a Task of its own with the same fields."""
    if isinstance(task, Task):
        return task
    if hasattr(task, "description") and hasattr(task, "metadata"):
        task_id = getattr(task, "task_id", None)
        return Task(task.description, None, task.metadata or {}, getattr(task, "computer", None), task_id=task_id)
    raise TaskError(f"{folder / 'main.py'}: load() must return a list of Task, and one of it is {_shown(task)}")


def _import(folder: Path, root: Path) -> ModuleType:
    """main.py sees its own folder, and the directory above `tasks/` for packages that several tasks share."""
    sys.path[:0] = [str(folder), str(root.parent)]
    cua_bench.offer()
    try:
        spec = importlib.util.spec_from_file_location("main", folder / "main.py")
        if spec is None or spec.loader is None:
            raise TaskError(f"{folder / 'main.py'} can't be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules["main"] = module
        spec.loader.exec_module(module)
    finally:
        cua_bench.withdraw()
    return module


def _from_class(module: ModuleType, folder: Path) -> tuple[Task, ...]:
    main = folder / "main.py"
    classes = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Task) and value.__module__ == module.__name__
    ]
    if not classes:
        raise TaskError(f"{main}: there is neither load() nor a subclass of Task")
    if len(classes) > 1:
        names = ", ".join(cls.__name__ for cls in classes)
        raise TaskError(f"{main}: several subclasses of Task ({names}) and no load() that says which")
    cls = classes[0]
    for name in ("stage_inputs", "evaluate"):
        if getattr(cls, name) is getattr(Task, name):
            raise TaskError(f"{main}:{_line(cls)}: {cls.__name__} has no {name}()")
    variants = _variants(module)
    if not variants:
        return _named((cls(),), (), folder)
    tasks = []
    for name, settings in variants:
        task = cls()
        task.instance = name
        task.metadata = {**task.metadata, **settings}
        tasks.append(task)
    return _named(tuple(tasks), variants, folder)


def _variants(module: ModuleType) -> tuple[tuple[str, dict[str, Any]], ...]:
    """VARIANTS as (name, settings); entries that are bare names, as some public tasks have, count with no settings."""
    found: list[tuple[str, dict[str, Any]]] = []
    variants = getattr(module, "VARIANTS", None) or ()
    if isinstance(variants, dict):
        variants = tuple(variants.items())
    for entry in variants:
        if isinstance(entry, str):
            found.append((entry, {}))
        elif isinstance(entry, Sequence) and entry and isinstance(entry[0], str):
            settings = entry[1] if len(entry) > 1 and isinstance(entry[1], dict) else {}
            found.append((entry[0], dict(settings)))
    return tuple(found)


def _named(tasks: tuple[Task, ...], variants: Sequence[tuple[str, Any]], folder: Path) -> tuple[Task, ...]:
    """Every task gets an instance name: its own, that of its variant, or `base` when it is the only one."""
    for number, task in enumerate(tasks):
        task.metadata = dict(task.metadata)  # the class's own in a subclass whose __init__ doesn't call ours
        named = task.instance or str(task.metadata.get("variant_name") or "")
        if not named and len(variants) == len(tasks):
            named = variants[number][0]
        task.instance = named or ("base" if len(tasks) == 1 else f"instance{number + 1}")
        if not task.instance.isprintable() or set(task.instance) & set('/\\:*?[]"<>|') or task.instance in (".", ".."):
            raise TaskError(
                f"{folder / 'main.py'}: {task.instance!r} can't be an instance's name, which becomes a folder's"
            )
        task.id = task.id or f"{folder.parent.name}/{folder.name}:{task.instance}"
    names = [task.instance for task in tasks]
    for name in names:
        if names.count(name) > 1:
            raise TaskError(f"{folder / 'main.py'}: two instances are called '{name}'")
    return tasks


def _line(cls: type) -> int:
    try:
        return inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return 1


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value!r}"[:80]
