"""A part of a file as a stream of reads. Pure."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from backends.sftp import _wire as wire

__all__ = ["SpanRead", "Spans"]


@dataclass(frozen=True, slots=True)
class SpanRead:
    """How a read went: the open file's attributes around it, those at its path afterwards, and how much came."""

    before: wire.Attributes
    after: wire.Attributes
    by_path: wire.Attributes | None
    fed_bytes: int


class Spans:
    """The reads of a part of a file, each made when its turn comes and none behind the file's end.

    Their number follows a size that the server only claims, so they never stand in a list.
    """

    def __init__(self, handle: bytes, starts: range, end: int) -> None:
        self.is_open = True
        self._handle = handle
        self._starts = starts
        self._end = end
        self._sent: deque[tuple[int, int]] = deque()

    def requests(self) -> Iterator[wire.Request]:
        """Yield the reads as long as the file is open for them."""
        for at in self._starts:
            if not self.is_open:
                return
            size = min(self._starts.step, self._end - at)
            self._sent.append((at, size))
            yield wire.read(self._handle, at, size)

    def answered(self) -> tuple[int, int] | None:
        """Return what the next reply is the answer to, `None` when that is no read."""
        return self._sent.popleft() if self._sent else None
