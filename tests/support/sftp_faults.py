"""SFTP servers with a fault of their own, a count of what goes over the wire, and time limits that suit a test."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Final

import pytest
from asyncssh import SFTPServer

from backends.sftp import SftpBackend
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from tests.support.sftp_servers import SftpServer
from tests.support.waiting import WAIT_S

__all__ = ["SOON_S", "FaultyServer", "RoundTrips", "be_patient", "impatient"]

SOON_S: Final = 25.0
"""Shorter than any time limit of the servers' options: what ends within it has not waited for one of those."""

FaultyServer = Callable[[type[SFTPServer]], AbstractContextManager[SftpServer]]
"""Starts an embedded server whose requests are handled by the given class."""


class RoundTrips:
    """Flights of requests of all clients since the last `take`, and what was sent in each."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.flights: list[list[wire.Request]] = []
        stream = SftpClient.stream

        def counting(client: SftpClient, requests: Iterable[wire.Request]) -> Iterator[wire.Reply]:
            flight: list[wire.Request] = []
            self.flights.append(flight)
            return stream(client, _noted(requests, flight))

        patch.setattr(SftpClient, "stream", counting)

    def take(self) -> int:
        return len(self.take_flights())

    def take_flights(self) -> list[list[wire.Request]]:
        flights, self.flights = self.flights, []
        return flights


def _noted(requests: Iterable[wire.Request], flight: list[wire.Request]) -> Iterator[wire.Request]:
    for request in requests:
        flight.append(request)
        yield request


@contextmanager
def impatient(backend: SftpBackend, *, timeout_s: float) -> Generator[None]:
    """Have a backend wait no longer than this for an answer or a connection, as if its options had said so.

    Those that it is opened with hold for everything that a test does before, which may take longer on a busy machine.
    """
    pool = backend._pool  # pyright: ignore[reportPrivateUsage] - the limits of one that is open are nowhere else
    options, route = pool._options, pool._route  # pyright: ignore[reportPrivateUsage] - as above
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_options", options.model_copy(update={"request_timeout_s": timeout_s}))
        patch.setattr(pool, "_route", (*route[:-1], replace(route[-1], connect_timeout_s=timeout_s)))
        yield


def be_patient(patch: pytest.MonkeyPatch) -> None:
    """Have what was cancelled or cut tidy up however long that takes on a busy machine."""
    patch.setattr("backends.sftp._pool._WIND_DOWN_S", WAIT_S)
    patch.setattr("backends.sftp._publish._TIDY_TIMEOUT_S", WAIT_S)
