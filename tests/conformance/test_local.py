"""Local disk keeps every promise of the seam, with what the kernel has in memory and without."""

from pathlib import Path

import pytest

from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import StoreHarness
from tests.support.local_store import LocalHarness, have_nothing_in_memory


class TestLocal(BackendConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        root = tmp_path / "root"
        root.mkdir()
        return LocalHarness(root)


class TestLocalInWorkers(TestLocal):
    @pytest.fixture(autouse=True)
    def nothing_in_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        have_nothing_in_memory(monkeypatch)
