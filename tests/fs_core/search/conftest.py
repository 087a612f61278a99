"""What the tests of searches share."""

from collections.abc import Generator

import pytest

from fs_core.search import grepping
from tests.support.waiting import WAIT_S


@pytest.fixture(scope="module", autouse=True)
def _time_to_count() -> Generator[None]:
    """Names are counted to the end however slow this machine is, unless a test says otherwise."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grepping, "COUNTING_S_MAX", WAIT_S)
        yield
