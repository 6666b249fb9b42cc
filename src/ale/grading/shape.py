"""Whether the deliverable is there and has the right form: what can be said before evaluate() is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ale.computer.session import Collected, Refusal
from ale.score import Score
from ale.task.card import OutputFile


def check_shape(outputs: Sequence[OutputFile], collected: Collected, delivered: Mapping[str, int]) -> Score | None:
    """None if evaluate() has something to grade, else a 0 with `no_output` or `wrong_shape`.

    delivered: relative path → bytes of what the agent itself left; unchanged inputs in the workspace are not in it.
    Without declared outputs any delivered file will do.
    """
    if not outputs:
        return None if delivered else _no_output("nothing was delivered")
    wrong = [problem for output in outputs if (problem := _wrong(output, collected, delivered))]
    if wrong:
        return Score(0.0, "wrong_shape", sentence="; ".join(wrong))
    missing = [output.path for output in outputs if not _is_there(output, delivered)]
    if len(missing) == len(outputs):
        return _no_output(f"{_listed(missing)} {'was' if len(missing) == 1 else 'were'} not delivered{_but(delivered)}")
    required = [output.path for output in outputs if output.required and output.path in missing]
    if required:
        return _no_output(
            f"{_listed(required)} {'was' if len(required) == 1 else 'were'} not delivered{_but(delivered)}"
        )
    return None


def _no_output(sentence: str) -> Score:
    return Score(0.0, "no_output", sentence=sentence)


def _is_there(output: OutputFile, delivered: Mapping[str, int]) -> bool:
    if output.kind == "file":
        return output.path in delivered
    return any(path.startswith(f"{output.path}/") for path in delivered)


def _wrong(output: OutputFile, collected: Collected, delivered: Mapping[str, int]) -> str | None:
    """What is wrong with something that stands at the output's place; None also when nothing stands there."""
    for refusal in collected.refused:
        if refusal.path.rstrip("/") == output.path:
            return f"{output.path} was not accepted: {_refused(refusal)}"
    inside = {path: size for path, size in delivered.items() if path.startswith(f"{output.path}/")}
    if output.kind == "file" and (inside or output.path in collected.directories):
        return f"{output.path} is a directory where a file was asked for"
    if output.kind == "directory" and output.path in delivered:
        return f"{output.path} is a file where a directory was asked for"
    size = sum(inside.values()) if output.kind == "directory" else delivered.get(output.path, 0)
    if size > output.max_mb * 2**20:
        return f"{output.path} has {size / 2**20:.1f} MB, and at most {output.max_mb:g} MB were asked for"
    return None


def _refused(refusal: Refusal) -> str:
    return f"{refusal.reason} ({refusal.detail})" if refusal.detail else refusal.reason


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths)


def _but(delivered: Mapping[str, int]) -> str:
    if not delivered:
        return ""
    others = sorted(delivered)
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return f"; delivered was {', '.join(others[:3])}{more}"
