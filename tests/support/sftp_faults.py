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
    """Flights of requests of all clients since the last `take`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        stream = SftpClient.stream

        def counting(client: SftpClient, requests: Iterable[wire.Request]) -> Iterator[wire.Reply]:
            self.count += 1
            return stream(client, requests)

        patch.setattr(SftpClient, "stream", counting)

    def take(self) -> int:
        count, self.count = self.count, 0
        return count
