"""Lines of standard input that a reader can stop waiting for."""

import codecs
import os

import anyio

__all__ = ["InputLines"]

_CHUNK_BYTES = 1 << 16


class InputLines:
    """Iterates over the lines of a file descriptor as UTF-8 text.

    A thread that reads standard input cannot be called back, and the process would wait for it at its end; waiting
    for the descriptor in the event loop can be cancelled.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []
        self._lines: list[str] = []
        self._at_end = False

    def __aiter__(self) -> "InputLines":
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> str:
        """Return the next line with its ending."""
        while not self._lines:
            if self._at_end:
                raise StopAsyncIteration
            await self._read()
        return self._lines.pop()

    async def _read(self) -> None:
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:
            # Regular files and /dev/null cannot be waited for, and never have to be.
            await anyio.lowlevel.checkpoint()
        data = os.read(self._descriptor, _CHUNK_BYTES)
        self._at_end = not data
        *complete, rest = self._decoder.decode(data, final=self._at_end).split("\n")
        if complete:
            complete[0] = "".join((*self._pieces, complete[0]))
            self._pieces.clear()
        self._pieces.append(rest)
        if self._at_end and (last := "".join(self._pieces)):
            complete.append(last)
        self._lines = [f"{line}\n" for line in reversed(complete)]
