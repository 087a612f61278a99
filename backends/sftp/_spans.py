"""Parts of open files as streams of reads."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._pace import READ_RATE_MIN_BYTES_PER_S, Pace

__all__ = ["SpanRead", "Spans", "read_span"]


@dataclass(frozen=True, slots=True)
class SpanRead:
    """How a read went: the open file's attributes around it, those at its path afterwards, and how much came."""

    before: wire.Attributes
    after: wire.Attributes
    by_path: wire.Attributes | None
    fed_bytes: int


class Spans:
    """The reads of bytes `start` to `end` of an open file, each made when its turn comes, none behind the file's end.

    Their number follows a size that the server only claims, so they never stand in a list.
    """

    def __init__(
        self,
        client: SftpClient,
        handle: bytes,
        start: int,
        end: int,
        *,
        sink: Callable[[memoryview], object],
        pace: Pace,
    ) -> None:
        self.is_open = True
        self.fed_bytes = 0
        self._client = client
        self._handle = handle
        self._starts = range(start, end, client.read_bytes_max)
        self._end = end
        self._sink = sink
        self._pace = pace
        self._sent: deque[tuple[int, int]] = deque()

    @property
    def is_awaiting(self) -> bool:
        """Whether the next reply is the answer to a read."""
        return bool(self._sent)

    def requests(self) -> Iterator[wire.Request]:
        """Yield the reads as long as the file is open for them."""
        for at in self._starts:
            if not self.is_open:
                return
            size = min(self._starts.step, self._end - at)
            self._sent.append((at, size))
            yield wire.read(self._handle, at, size)

    def take(self, reply: wire.Reply) -> None:
        """Feed what the answer to the next read brought; a short one is continued until the file ends."""
        at, size = self._sent.popleft()
        if self.is_open:
            # Until it is known that all has come: what fails here leaves nothing to go on with.
            self.is_open = False
            self.is_open = self._feed(at, size, reply) == size

    def _feed(self, at: int, size: int, reply: wire.Reply) -> int:
        got = 0
        data = wire.data_of(reply)
        while data:
            self._sink(data)
            got += len(data)
            self.fed_bytes += len(data)
            self._pace.advance(len(data))
            if got >= size:
                break
            (reply,) = self._client.exchange(wire.read(self._handle, at + got, size - got))
            data = wire.data_of(reply)
        return got


def read_span(
    client: SftpClient,
    handle: bytes,
    start: int,
    end: int,
    *,
    accept: Callable[[wire.Attributes], bool],
    sink: Callable[[memoryview], object],
    path: str,
) -> SpanRead:
    """Feed bytes `start` to `end` of an open file to `sink`, in order, in one flight if they fit the window.

    The attributes of the open file come first; if `accept` declines them, nothing is fed. Fewer bytes than asked
    for are fed only if the file ends before.
    """
    pace = Pace(client, rate_min_per_s=READ_RATE_MIN_BYTES_PER_S)
    spans = Spans(client, handle, start, end, sink=sink, pace=pace)
    replies = client.stream(chain([wire.fstat(handle)], spans.requests(), [wire.fstat(handle), wire.lstat(path)]))
    before = wire.attributes_of(next(replies))
    spans.is_open = accept(before)
    rest: list[wire.Reply] = []
    for reply in replies:
        if spans.is_awaiting:
            spans.take(reply)
        else:
            rest.append(reply)
    after, by_path = rest
    there = None if wire.status_of(by_path) is not None else wire.attributes_of(by_path)
    return SpanRead(before=before, after=wire.attributes_of(after), by_path=there, fed_bytes=spans.fed_bytes)
