"""What the tests of local disk share."""

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty directory, with nothing of ours beside the workspace in it."""
    directory = tmp_path / "root"
    directory.mkdir()
    return directory
