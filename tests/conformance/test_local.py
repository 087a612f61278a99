"""Local disk keeps every promise of the seam."""

from pathlib import Path

import pytest

from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import StoreHarness
from tests.support.local_store import LocalHarness


class TestLocal(BackendConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        root = tmp_path / "root"
        root.mkdir()
        return LocalHarness(root)
