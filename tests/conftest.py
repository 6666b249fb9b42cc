"""What all tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def base_image() -> str:
    """Built once for all test processes, which wait for each other; later sessions find it."""
    return _built("base")


@pytest.fixture(scope="session")
def studio_image() -> str:
    """For tasks that need pictures or windows; built like the other."""
    return _built("studio")


def _built(image: str) -> str:
    import anyio

    from ale.sandbox import open_provider

    anyio.run(open_provider("local").build_image, image, print)
    return image
