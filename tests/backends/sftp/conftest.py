"""Fixtures of this backend's tests."""

import math
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asyncssh import SFTPServer

from tests.support.sftp_faults import FaultyServer, RoundTrips
from tests.support.sftp_servers import SftpServer, embedded_server


@pytest.fixture(autouse=True)
def no_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a connection used as it is: a machine that pauses for seconds would have it asked for a sign of life."""
    monkeypatch.setattr("backends.sftp._pool._CHECK_AFTER_IDLE_S", math.inf)


@pytest.fixture
def faulty_server(tmp_path: Path) -> FaultyServer:
    """Start an embedded server whose requests are handled by the given class."""

    @contextmanager
    def start(handler: type[SFTPServer]) -> Generator[SftpServer]:
        directory = tmp_path / "served"
        directory.mkdir()
        with embedded_server(directory, sftp_factory=handler) as server:
            yield server

    return start


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> RoundTrips:
    """Count flights of requests."""
    return RoundTrips(monkeypatch)
