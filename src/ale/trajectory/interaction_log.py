"""interaction_log.json: the trajectory in short, one entry a step, for people and for failure analysis."""

from __future__ import annotations

import json
from typing import Any

from ale.text import plain, shortened
from ale.trajectory.schema import Step

SCHEMA = "ale.interaction_log/1"

SHORT = 400
"""Characters of each text of an entry."""


def entry(step: Step) -> dict[str, Any]:
    """`did` and `saw` are one short line each. `step` points into trajectory.json, `call_id` into transcript.jsonl."""
    observation, usage = step.observation, step.usage
    return {
        "step": step.step,
        "time": step.timestamp.isoformat().replace("+00:00", "Z"),
        "actor": step.actor,
        "type": step.action.type,
        "tool": step.action.tool,
        "did": _did(step),
        "saw": _saw(step),
        "error": _line(observation.error) if observation and observation.error else None,
        "exit_code": observation.exit_code if observation else None,
        "image_path": observation.image_path if observation else None,
        "call_id": step.call_id,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost_usd": usage.cost_usd if usage else None,
    }


def _did(step: Step) -> str:
    args = step.action.args
    for name in ("text", "command", "cmd"):
        if isinstance(args.get(name), str) and (name != "text" or step.action.type == "message"):
            return _line(args[name])
    return _line(json.dumps(args, ensure_ascii=False, default=str))


def _saw(step: Step) -> str | None:
    if step.observation is None:
        return None
    seen = step.observation
    return _line("\n".join(part for part in (seen.stdout, seen.stderr, seen.text) if part)) or None


def _line(text: str) -> str:
    return shortened(" ".join(plain(text[: 8 * SHORT]).split()), SHORT)
