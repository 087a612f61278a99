"""Observations in an SQLite file."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from fs_core.testing.observations import BOUNDED_OBSERVATIONS, BOUNDED_OWNERS, ObservationConformance
from seamfs.state import SqliteObservations, open_observations

pytestmark = pytest.mark.anyio

ROOT = "file-root"


class TestSqliteObservations(ObservationConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncGenerator[SqliteObservations]:
        async with open_observations(tmp_path / "state.db", root_url=ROOT) as observations:
            yield observations

    @pytest.fixture
    async def bounded(self, tmp_path: Path) -> AsyncGenerator[SqliteObservations]:
        async with open_observations(
            tmp_path / "state.db",
            root_url=ROOT,
            observations_per_owner_max=BOUNDED_OBSERVATIONS,
            owners_max=BOUNDED_OWNERS,
        ) as observations:
            yield observations
