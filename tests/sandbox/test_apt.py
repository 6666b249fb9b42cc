"""Which of a machine's apt sources lead to its distribution."""

from pathlib import Path

import pytest

from ale.errors import SandboxUnavailable
from ale.sandbox.local import apt
from ale.sandbox.local.apt import host_suite, own_sources

DEB822 = """\
# a comment of the file

Types: deb deb-src
# with a comment inside
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://vendor.example/apt
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg

Enabled: no
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm-backports
Components: main
"""

ONE_LINE = """\
# deb http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/etc/apt/keyrings/vendor.asc] http://vendor.example/deb stable main
deb [trusted=yes] http://local.example/debian bookworm main contrib
deb-src http://mirror.example/debian bookworm main
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/os-release").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    monkeypatch.setattr(apt, "_known_origins", dict)
    monkeypatch.setattr(apt, "_options", str)
    return tmp_path


def test_own_entries_are_kept_word_for_word(root: Path) -> None:
    (root / "etc/apt/sources.list.d/all.sources").write_text(DEB822)
    (root / "etc/apt/sources.list").write_text(ONE_LINE)
    found = own_sources(root)
    assert found.suite == "bookworm"
    assert "bookworm-updates" in found.deb822
    assert "vendor" not in found.deb822 + found.one_line
    assert "backports" not in found.deb822, "a disabled entry was taken"
    assert found.one_line == "deb [trusted=yes] http://local.example/debian bookworm main contrib"


def test_the_index_says_who_publishes_an_archive(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origins = {
        ("http://local.example/debian", "bookworm"): "somebody",
        ("http://vendor.example/deb", "stable"): "debian",
    }
    monkeypatch.setattr(apt, "_known_origins", lambda: origins)
    (root / "etc/apt/sources.list").write_text(ONE_LINE)
    assert own_sources(root).one_line.startswith("deb [arch=amd64")


def test_a_machine_without_own_sources_is_refused(root: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="no archive of its own distribution"):
        own_sources(root)
    (root / "etc/os-release").write_text("ID=arch\n")
    with pytest.raises(SandboxUnavailable, match="neither"):
        host_suite(root)


def test_how_the_archive_is_reached_is_kept_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = (
        'Acquire::http::Proxy "http://proxy.example:3128";\nAcquire::Check-Valid-Until "false";\n'
        'Acquire::http "";\nAcquire::IndexTargets::deb::Packages::MetaKey "x";\n'
    )
    monkeypatch.setattr(apt, "_apt", lambda *command: dump)
    assert apt._options() == 'Acquire::http::Proxy "http://proxy.example:3128";\nAcquire::Check-Valid-Until "false";\n'
