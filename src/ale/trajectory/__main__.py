"""`python -m ale.trajectory FILE`: write the JSON Schema of trajectory.json to FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ale.trajectory.schema import json_schema

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
