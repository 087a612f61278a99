"""What the tests of local disk share."""

from pathlib import Path

import pytest

from tests.support.local_store import have_nothing_in_memory


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty directory, with nothing of ours beside the workspace in it."""
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories that are opened later do everything in worker threads."""
    have_nothing_in_memory(monkeypatch)
