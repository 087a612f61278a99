"""A whole object in order: on one stream from a store that is fast and near, else from a few ranges at a time."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import ObjectHead
from fs_core.digest import ContentHasher
from fs_core.protocol import Sink
from fs_core.types import Digest

__all__ = ["PART_BYTES", "ObjectScan"]

PART_BYTES: Final = 8 << 20
"""What one request asks for, at a multiple of this: stores keep large objects in parts of this size or a multiple."""

_PARTS_MAX: Final = 3
"""How many parts of one object are under way or wait to be fed. Where a connection gives 30 MB/s after 80 ms, that
halves the time of one GET of the whole; at most 24 MiB are held."""

_FAST_WITHIN_S: Final = 0.07
"""How soon after its first piece the whole first part has to be there for the rest to be streamed.

A connection that gives 120 MB/s needs no others beside it, and each request costs client and store some milliseconds of
processor time. How long the store took to answer says little: on a busy machine that is as long as a distant one takes.
A part is more than a socket holds (6 MiB by default on Linux), so it shows the line and not what had piled up.
"""

_STREAM_BYTES: Final = 128 << 20
"""What one request asks for where the rest is streamed; for each, a connection that breaks is made again twice."""


class _Pace(Enum):
    """How an object comes, as far as its first part shows it."""

    UNKNOWN = auto()
    FAST = auto()
    SLOW = auto()


class _SinkFailed(RequestFailed):
    """Raised by what takes the pieces of a stream, so that its request is not sent again."""

    def __init__(self, error: Exception) -> None:
        super().__init__(Failure.OTHER)
        self.error = error


class _Part:
    """A range of an object; its pieces wait here, as many as there are, so that its request never waits for ours."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()


class ObjectScan:
    """One object on its way to `sink`.

    The rest of a fast one is fed as it comes, and its connection waits for the sink. Of a slow one several parts are
    fetched at the same time and fed in order. One at a time goes on the caller's account; for each one ahead of that a
    place of `ahead` is taken if there is one. So scans never wait for each other, and `ahead` bounds what all of them
    hold.
    """

    def __init__(self, client: S3Client, key: str, sink: Sink, *, ahead: anyio.CapacityLimiter) -> None:
        self._client = client
        self._key = key
        self._sink = sink
        self._ahead = ahead
        self._hasher = ContentHasher()
        self._parts: deque[_Part] = deque()
        self._next_offset = 0
        self._pace = _Pace.UNKNOWN
        self._judged_bytes = 0
        self._first_piece_at_s = 0.0
        self.head: ObjectHead | None = None
        """The version that is fed, once the store has answered."""

    async def run(self) -> tuple[ObjectHead, Digest]:
        """Feed the object and return which version that was.

        Raises:
            RequestFailed: as `S3Client.feed`. The requests of all other parts have ended.
        """
        try:
            async with anyio.create_task_group() as group:
                self._begin(group)
                while self._parts:
                    await self._feed_first(group)
        except ExceptionGroup as errors:
            first = errors.exceptions[0]
            raise first from first.__cause__
        finally:
            for part in list(self._parts)[1:]:
                self._ahead.release_on_behalf_of(part)
        while self._has_more():
            await self._feed_stream()
        if self.head is None:  # pragma: no cover - a part ends only after its answer
            raise AssertionError("the store has answered")
        return self.head, self._hasher.digest()

    async def _feed_first(self, group: TaskGroup) -> None:
        while (piece := await self._parts[0].pieces.get()) is not None:
            self._judge(len(piece))
            self._begin_ahead(group)
            self._hasher.update(piece)
            self._sink(piece)
            await checkpoint()  # others get their turn, also when the network is faster than the sink
        self._parts.popleft()
        if self._parts:
            self._ahead.release_on_behalf_of(self._parts[0])
        elif self._pace is not _Pace.FAST and self._has_more():
            self._begin(group)

    def _judge(self, size_bytes: int) -> None:
        if self._pace is not _Pace.UNKNOWN:
            return
        now_s = time.monotonic()
        if not self._judged_bytes:
            self._first_piece_at_s = now_s
        self._judged_bytes += size_bytes
        if now_s - self._first_piece_at_s > _FAST_WITHIN_S:
            self._pace = _Pace.SLOW
        elif self._judged_bytes >= PART_BYTES:
            self._pace = _Pace.FAST

    def _begin_ahead(self, group: TaskGroup) -> None:
        if self._pace is not _Pace.SLOW:
            return
        while self._has_more() and len(self._parts) < _PARTS_MAX and self._ahead.available_tokens >= 1:
            self._begin(group)
            self._ahead.acquire_on_behalf_of_nowait(self._parts[-1])

    def _has_more(self) -> bool:
        return self.head is not None and self._next_offset < self.head.size_bytes

    def _begin(self, group: TaskGroup) -> None:
        part = _Part(self._next_offset)
        self._next_offset += PART_BYTES
        self._parts.append(part)
        group.start_soon(self._fetch, part)

    async def _fetch(self, part: _Part) -> None:
        await self._request(part.pieces.put_nowait, offset=part.offset, limit=PART_BYTES)
        part.pieces.put_nowait(None)

    async def _feed_stream(self) -> None:
        offset, self._next_offset = self._next_offset, self._next_offset + _STREAM_BYTES
        try:
            await self._request(self._feed_piece, offset=offset, limit=_STREAM_BYTES)
        except _SinkFailed as failed:
            raise failed.error from failed.error.__cause__

    def _feed_piece(self, piece: bytes) -> None:
        self._hasher.update(piece)
        try:
            self._sink(piece)
        except Exception as error:
            raise _SinkFailed(error) from error

    async def _request(self, sink: Callable[[bytes], None], *, offset: int, limit: int) -> None:
        etag = self.head.etag if self.head is not None else None
        await self._client.feed(self._key, sink, offset=offset, limit=limit, etag=etag, on_head=self._keep)

    def _keep(self, head: ObjectHead) -> None:
        if self.head is None:
            self.head = head
        elif head.size_bytes != self.head.size_bytes:
            raise RequestFailed(Failure.PRECONDITION)
