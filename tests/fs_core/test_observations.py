"""Observations in memory."""

import pytest

from fs_core.policy import MemoryObservations, ObservationStore
from fs_core.testing.observations import BOUNDED_OBSERVATIONS, BOUNDED_OWNERS, ObservationConformance


class TestMemoryObservations(ObservationConformance):
    @pytest.fixture
    def store(self) -> ObservationStore:
        return MemoryObservations()

    @pytest.fixture
    def bounded(self) -> ObservationStore:
        return MemoryObservations(observations_per_owner_max=BOUNDED_OBSERVATIONS, owners_max=BOUNDED_OWNERS)
