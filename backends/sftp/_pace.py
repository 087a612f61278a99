"""The slowest that a stream of answers may be. A server that answers in time with next to nothing is never done."""

import time
from typing import Final

from backends.sftp._client import SftpClient

__all__ = ["READ_RATE_MIN_BYTES_PER_S", "Pace"]

READ_RATE_MIN_BYTES_PER_S: Final = 64 * 1024


class Pace:
    """Watches one stream of answers from now on."""

    def __init__(self, client: SftpClient, *, rate_min_per_s: int) -> None:
        self._client = client
        self._rate_min_per_s = rate_min_per_s
        self._started_s = time.monotonic()
        self._done = 0

    def advance(self, count: int) -> None:
        """Note that so much more has come.

        Raises:
            ServerSilent: all in all that is far too little for the time that it took.
        """
        self._done += count
        self._client.require_pace(self._started_s, self._done, self._rate_min_per_s)
