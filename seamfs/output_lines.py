"""Text to standard output that the event loop writes itself, without a thread for every line."""

import fcntl
import os
import select
import stat
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

__all__ = ["OutputLines", "claimed_output"]

_STDOUT: Final = 1
_STDERR: Final = 2
_PRIVATE_MIN: Final = 3
_NOTHING: Final = bytes(4)
"""Zero, as `FIONREAD` returns how many bytes wait to be read."""


class OutputLines:
    """Writes UTF-8 text to a descriptor whenever that has room.

    A pipe that is reported as writable takes `PIPE_BUF` bytes without blocking, and an empty one what it holds, even
    where the descriptor is one that blocks, which is a property that other processes share. One that is not writable
    is waited for in the event loop, and the wait can be cancelled.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size_bytes = _pipe_size_bytes(descriptor)
        self._unsent = bytearray()
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> int:
        """Take a text for the next flush and return its length in characters."""
        self._unsent += text.encode()
        return len(text)

    async def flush(self) -> None:
        """Write what was taken.

        Raises:
            OSError: The descriptor cannot be written to, `BrokenPipeError` if nobody reads it any more.
        """
        while self._unsent:
            if not self._room.poll(0):
                await anyio.wait_writable(self._descriptor)
            sent_bytes = os.write(self._descriptor, self._unsent[: self._room_bytes()])
            del self._unsent[:sent_bytes]

    def _room_bytes(self) -> int:
        if self._size_bytes is None or fcntl.ioctl(self._descriptor, termios.FIONREAD, _NOTHING) != _NOTHING:
            return select.PIPE_BUF
        # In one piece, so that the reader is woken up once.
        return self._size_bytes


def _pipe_size_bytes(descriptor: int) -> int | None:
    """Return how much a pipe holds; None for what is none, or where the system does not tell."""
    if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return None
    return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)


@contextmanager
def claimed_output() -> Generator[int]:
    """Hand out the standard output; what anything else in this process prints goes to standard error meanwhile."""
    private = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _PRIVATE_MIN)
    try:
        aside = _aside()
        os.dup2(aside, _STDOUT)
        os.close(aside)
        try:
            yield private
        finally:
            os.dup2(private, _STDOUT)
    finally:
        os.close(private)


def _aside() -> int:
    try:
        return os.dup(_STDERR)
    except OSError:
        # It was closed by whoever started us.
        return os.open(os.devnull, os.O_WRONLY)
