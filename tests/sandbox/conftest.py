import os

import anyio
import pytest

from ale.sandbox import open_provider
from ale.sandbox.local.state import State


@pytest.fixture(scope="session")
def base_image() -> str:
    """Built once for all test processes, which wait for each other; later sessions find it."""
    anyio.run(open_provider("local").build_image, "base", print)
    return "base"


@pytest.fixture(scope="session")
def state() -> State:
    return State.of(os.environ)
