"""The local provider does what every provider must."""

import anyio
import pytest
from tests.sandbox.leftovers import local_leftovers

from ale.sandbox import open_provider
from ale.sandbox.conformance import BOUND, CHECKS, Check, Subject

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_local(check: Check, base_image: str) -> None:
    subject = Subject(open_provider("local"), base_image, lambda: open_provider("local"), local_leftovers)
    with anyio.fail_after(BOUND):
        await check(subject)
