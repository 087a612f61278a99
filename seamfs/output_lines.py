"""Text to standard output that the event loop writes itself, without a thread for every line."""

import fcntl
import os
import select
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

__all__ = ["OutputLines", "claimed_output"]

_STDOUT: Final = 1
_STDERR: Final = 2
_PRIVATE_MIN: Final = 3


class OutputLines:
    """Writes UTF-8 text to a descriptor whenever that has room.

    A pipe that is reported as writable takes `PIPE_BUF` bytes without blocking, even where the descriptor is one that
    blocks, which is a property that other processes share. One that is not is waited for in the event loop, and the
    wait can be cancelled.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
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
            sent_bytes = os.write(self._descriptor, self._unsent[: select.PIPE_BUF])
            del self._unsent[:sent_bytes]


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
