"""An image of another release than this machine's boots, serves and is examined on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.exam.conftest import Bench

from ale.outcome import Outcome
from ale.sandbox.local.apt import AptSources, host_suite

ROOT = Path(__file__).parents[2]


def test_entries_for_another_release_come_from_the_same_archives() -> None:
    own = AptSources(
        "bookworm",
        "URIs: http://archive.example/debian\nSuites: bookworm bookworm-updates",
        "deb http://archive.example/security bookworm-security main",
        "",
    )
    other = own.of("trixie")
    assert other.deb822 == "URIs: http://archive.example/debian\nSuites: trixie trixie-updates"
    assert other.one_line == "deb http://archive.example/security trixie-security main"
    assert own.of(None) is own


@pytest.mark.sandbox
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(host_suite() != "bookworm", reason="derives trixie from a bookworm machine's archives")
async def test_a_run_on_trixie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = (ROOT / "images" / "base.yaml").read_text(encoding="utf-8")
    recipe = recipe.replace("name: base", "name: trixie").replace("packages:", "suite: trixie\npackages:", 1)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "trixie.yaml").write_text(recipe, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    bench = Bench(tmp_path)
    bench.grade_by(
        'release = await session.run_command("cat /etc/debian_version")\n    return Score(1.0, sentence=release.stdout)'
    )
    result, folder = await bench.one("oracle", sandbox={"image": "trixie"})
    assert result.outcome is Outcome.SCORED
    assert '"sentence": "13.' in (folder / "debug/eval/result.json").read_text(encoding="utf-8")
