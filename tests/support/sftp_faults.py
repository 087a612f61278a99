"""SFTP servers with a fault of their own, and a count of what goes over the wire."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager

import pytest
from asyncssh import SFTPServer

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from tests.support.sftp_servers import SftpServer

__all__ = ["FaultyServer", "RoundTrips"]

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
