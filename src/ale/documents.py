"""YAML files that people write: validated by a model, every error with file, line and the nearest valid key."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ale.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)

MAX_BYTES = 16 * 2**20


class Document(BaseModel):
    """Base of everything that is read from a person's YAML: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_document(path: Path, model: type[Model]) -> Model:
    """Read and validate one YAML file.

    Raises UsageError with one sentence that names file, line, what is wrong and the nearest valid key or value.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 2**20} MiB; this is no document for people")
    try:
        text = raw.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_duplicates(path, node)
        data = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.problem or error}") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None
    if data is None:
        data = {}
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UsageError(_sentence(path, node, model, error)) from None


def nearest(name: str, valid: Sequence[str]) -> str:
    """` (did you mean 'x'?)`, or the list of valid names when nothing is near."""
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    if close:
        return f" (did you mean '{close[0]}'?)"
    return f" (valid: {', '.join(valid)})" if valid else ""


def _sentence(path: Path, node: Any, model: type[BaseModel], error: ValidationError) -> str:
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])  # a typo explains the rest
    location = tuple(first["loc"])
    line = _line(node, location)
    where = ".".join(str(part) for part in location if not _is_branch(part))
    if first["type"] == "extra_forbidden":
        key = str(location[-1])
        return f"{path}:{line}: unknown key '{key}'{nearest(key, _keys_at(model, location[:-1]))}"
    if first["type"] == "missing":
        return f"{path}:{line}: key '{where}' is missing"
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{path}:{line}: {where}: {message[:1].lower()}{message[1:]}" if where else f"{path}:{line}: {message}"


def _is_branch(part: object) -> bool:
    """pydantic puts the name of a union's branch into the location; people don't want to see it."""
    return isinstance(part, str) and (part[:1].isupper() or "[" in part or part in ("str", "int", "float", "bool"))


def _line(node: Any, location: Sequence[object]) -> int:
    line = node.start_mark.line + 1 if node is not None else 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    node, line = value, key.start_mark.line + 1
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _keys_at(model: type[BaseModel], location: Sequence[object]) -> list[str]:
    """Valid keys of the (sub)model that a location points into, found through the annotations."""
    current: list[type[BaseModel]] = [model]
    for part in location:
        following: list[type[BaseModel]] = []
        for candidate in current:
            field = candidate.model_fields.get(str(part))
            following += _models_in(field.annotation) if field is not None else [candidate]
        named = [candidate for candidate in following if candidate.__name__ == part]
        current = named or following or current
    return sorted({field.alias or name for candidate in current for name, field in candidate.model_fields.items()})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _refuse_duplicates(path: Path, node: Any) -> None:
    """YAML readers silently keep the last of two equal keys; the author meant something by both."""
    pending = [node]
    visited: set[int] = set()  # an alias is the same node again; a bomb of them must not be walked
    while pending:
        current = pending.pop()
        if id(current) in visited:
            continue
        visited.add(id(current))
        if isinstance(current, yaml.SequenceNode):
            pending += current.value
        elif isinstance(current, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in current.value:
                if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                    raise UsageError(f"{path}:{key.start_mark.line + 1}: key '{key.value}' is there twice")
                seen.add(str(key.value))
                pending.append(value)
