"""What the documentation shows is true."""

from __future__ import annotations

import re
from pathlib import Path

from ale.gateway.script import load_script

DOCS = Path(__file__).parents[2] / "docs"


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)


def test_the_example_script_is_sound(tmp_path: Path) -> None:
    [example] = blocks("gateway.md", "yaml")
    path = tmp_path / "script.yaml"
    path.write_text(example, encoding="utf-8")
    assert len(load_script(path).choose("business_finance/vendor_reconciliation", "march").turns) == 4


def test_the_example_of_reading_runs() -> None:
    [example] = blocks("trajectory.md", "python")
    names: dict[str, object] = {}
    exec(compile(example, "trajectory.md", "exec"), names)
    assert callable(names["requests"])
