"""Which range of ids a user has."""

from pathlib import Path

import pytest

from ale.sandbox.local import idmap, userns


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("ann:100000:65536\n", 100000),
        ("bob:100000:65536\nann:165536:65536\n", 165536),
        ("1001:300000:65536\n", 300000),
        ("ann:100000:1000\nann:500000:131072\n", 500000),
        ("ann:100000:1000\n", None),
        ("anna:100000:65536\nbroken\nann:x:y\n", None),
        ("", None),
    ],
)
def test_subordinate_ids(tmp_path: Path, text: str, start: int | None) -> None:
    (tmp_path / "subuid").write_text(text)
    assert idmap._subordinate(tmp_path / "subuid", "ann", 1001) == start


def test_no_file_no_ids(tmp_path: Path) -> None:
    assert idmap._subordinate(tmp_path / "subuid", "ann", 1001) is None


def test_root_of_a_container_has_only_what_it_was_given() -> None:
    assert idmap._covers("         0          0 4294967295\n", 900_000, 65536)
    assert not idmap._covers("0 100000 65536\n", 900_000, 65536)
    assert idmap._covers("0 1000 1\n1 100000 2000000\n", 900_000, 65536)


@pytest.mark.parametrize(
    ("switches", "user", "words"),
    [
        ({}, 1000, ""),
        ({"user/max_user_namespaces": "0"}, 0, "sysctl -w user.max_user_namespaces"),
        ({"kernel/unprivileged_userns_clone": "0"}, 1000, "kernel.unprivileged_userns_clone=1"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, 1000, "AppArmor"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, 0, ""),
        ({"kernel/apparmor_restrict_unprivileged_userns": "0"}, 1000, ""),
    ],
)
def test_switches_that_forbid_user_namespaces(tmp_path: Path, switches: dict[str, str], user: int, words: str) -> None:
    for name, value in switches.items():
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n")
    found = userns.forbidden(tmp_path, user)
    assert (words in found) if words else (found == "")
