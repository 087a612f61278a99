"""What the commands of all pages share."""

from collections.abc import Generator

import pytest

from tests.docs.forks import forking


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where commands of seamfs are run."""
    with forking(tmp_path_factory.mktemp("forks")) as address:
        yield address
