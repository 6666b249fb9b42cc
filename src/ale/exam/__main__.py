"""`python -m ale.exam FOLDER` writes the JSON Schemas of what a run folder holds; docs/schemas keeps them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ale.exam.events import Event
from ale.exam.result import AgentResultRecord, RunResult

SCHEMAS: dict[str, type[BaseModel]] = {
    "run_result.schema.json": RunResult,
    "agent_result.schema.json": AgentResultRecord,
    "events.schema.json": Event,
}


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    document = model.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def write_schemas(folder: Path) -> None:
    for name, model in SCHEMAS.items():
        (folder / name).write_text(json.dumps(json_schema(model), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
