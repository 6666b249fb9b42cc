"""A file that is being written is never seen half."""

from __future__ import annotations

from pathlib import Path

import pytest

from ale.replacing import replacing


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_is_its_owners_alone_from_the_beginning(tmp_path: Path) -> None:
    with replacing(tmp_path / "f", mode=0o600) as file:
        [partial] = tmp_path.iterdir()
        assert partial.stat().st_mode & 0o777 == 0o600
        file.write(b"secret")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600
