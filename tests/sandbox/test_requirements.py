"""What a local sandbox needs is tried, and what is missing is said with its mend."""

from pathlib import Path

import pytest

from ale.errors import SandboxUnavailable, UsageError
from ale.sandbox import open_provider
from ale.sandbox.local import requirements
from ale.sandbox.local.mapped import tool
from ale.sandbox.local.requirements import findings
from ale.sandbox.local.state import State


@pytest.mark.sandbox
def test_this_machine_has_everything_that_a_run_needs(tmp_path: Path) -> None:
    found = {finding.name: finding for finding in findings(State(tmp_path / "ale"))}
    for finding in found.values():
        assert finding.ok or finding.needed_for == "limits", finding
        assert finding.ok == (finding.mend == ""), finding
    assert {"bubblewrap", "user id range", "overlay file system", "sandbox"} <= found.keys()
    assert [path for path in (tmp_path / "ale").iterdir() if path.name.startswith(".probe")] == []


def test_a_missing_program_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(SandboxUnavailable, match="bwrap is missing; as root: apt-get install bubblewrap"):
        tool("bwrap")
    finding = requirements._bubblewrap()
    assert (finding.ok, finding.mend) == (False, "as root: apt-get install bubblewrap")


def test_a_home_that_can_not_be_made_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxUnavailable, match="set ALE_HOME to a directory of your own"):
        State(tmp_path / "file" / "ale").prepare()


@pytest.mark.sandbox
async def test_an_image_that_is_not_built_says_how_to_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_HOME", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="image 'base' is not built; build it: ale sandbox build base"):
        await open_provider("local").image("base")


def test_an_unknown_provider_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no sandbox provider 'lcoal' \(did you mean 'local'\?\)"):
        open_provider("lcoal")
