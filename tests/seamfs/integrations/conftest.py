"""What every adapter has to tell a model."""

import anyio
import pytest

from tests.seamfs.integrations.story import local_place, told


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the tools themselves say in the session of the story; it is the same on every store."""
    return anyio.run(told, local_place(tmp_path_factory.mktemp("told")))


@pytest.fixture
def anyio_backend() -> str:
    """The frameworks know asyncio alone."""
    return "asyncio"
