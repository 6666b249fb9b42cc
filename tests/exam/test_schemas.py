"""The published schemas are those of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ale.exam.__main__ import SCHEMAS, json_schema

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_file_is_current(name: str) -> None:
    kept = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert kept == json_schema(SCHEMAS[name]), "run: python -m ale.exam docs/schemas"
