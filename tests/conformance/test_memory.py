"""The reference backend keeps every promise of the seam."""

import pytest

from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import StoreHarness
from fs_core.testing.memory import MemoryHarness


class TestMemory(BackendConformance):
    @pytest.fixture
    def harness(self) -> StoreHarness:
        return MemoryHarness()
