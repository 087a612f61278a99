"""What has come through a channel and waits to be read."""

import threading
from collections import deque
from typing import Final

from paramiko.buffered_pipe import PipeTimeout

__all__ = ["Inbox"]

_PIECES_MAX: Final = 4096
"""A full window of the channel in packets of the usual size is a quarter of that; of tiny ones it would be millions."""


class Inbox:
    """Bytes from one thread for another: in the pieces in which they came, and given out when enough of them are there.

    It takes the place of a channel's `paramiko.buffered_pipe.BufferedPipe`, which keeps one array, moves all that is
    left of it after every read (megabytes, for every 4 bytes), and wakes the reader for every piece.
    """

    def __init__(self) -> None:
        self._pieces: deque[memoryview] = deque()
        self._size_bytes = 0
        self._wanted_bytes = 0
        self._is_closed = False
        self._change = threading.Condition(threading.Lock())

    def __len__(self) -> int:
        """Return how many bytes wait."""
        return self._size_bytes

    def feed(self, data: bytes) -> None:
        """Add what came."""
        with self._change:
            self._pieces.append(memoryview(data))
            self._size_bytes += len(data)
            if len(self._pieces) > _PIECES_MAX:
                self._pieces = deque([memoryview(b"".join(self._pieces))])
            if self._size_bytes >= self._wanted_bytes:
                self._change.notify()

    def read(self, nbytes: int, timeout: float | None = None) -> bytes:
        """Return `nbytes` bytes, or what there is once nothing more comes. For one reader.

        Raises:
            PipeTimeout: they did not come within `timeout` seconds.
        """
        with self._change:
            self._wanted_bytes = nbytes
            if not self._change.wait_for(lambda: self._size_bytes >= nbytes or self._is_closed, timeout):
                raise PipeTimeout
            return b"".join(self._taken(min(nbytes, self._size_bytes)))

    def _taken(self, count: int) -> list[memoryview]:
        self._size_bytes -= count
        taken: list[memoryview] = []
        while count:
            piece = self._pieces.popleft()
            if len(piece) > count:
                self._pieces.appendleft(piece[count:])
                piece = piece[:count]
            taken.append(piece)
            count -= len(piece)
        return taken

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._change:
            self._is_closed = True
            self._change.notify()
