"""What the tests of sandboxes share."""

import os

import pytest

from ale.sandbox.local.state import State


@pytest.fixture(scope="session")
def state() -> State:
    return State.of(os.environ)
