"""Local disk keeps every promise of the seam."""

from pathlib import Path

import pytest

from backends.local import open_local
from backends.options import LocalOptions
from fs_core.protocol import Backend
from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import DirectoryHarness, StoreHarness


class LocalHarness(DirectoryHarness):
    """A directory of this machine, opened as such."""

    async def open(self) -> Backend:
        return await open_local(self.directory, LocalOptions())


class TestLocal(BackendConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        root = tmp_path / "root"
        root.mkdir()
        return LocalHarness(root)
