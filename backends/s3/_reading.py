"""Reads of objects, and why they are refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import anyio

from backends.s3._client import ObjectBytes, S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._keys import Location
from backends.s3._objects import ObjectHead, etag_of
from backends.s3._placement import place_new
from backends.s3._scan import ObjectScan
from fs_core.digest import content_digest
from fs_core.errors import FsError, NotFound, NotRegularFile, Reason, StaleVersion
from fs_core.protocol import Scanned, Sink, too_large
from fs_core.types import Snapshot, Target, Version

__all__ = ["ObjectReader"]

_ATTEMPTS: Final = 4
"""How often a read starts again because an object grew between the answer that it is too short and a look."""

_PARTS_AHEAD_MAX: Final = 8
"""How many parts all scans together fetch before their turn. The pool has a connection for each."""


class ObjectReader:
    """The ways to read, for one backend. `remember` is told of every version that a caller is told of.

    Methods raise `RequestFailed` where it is not the object that is at fault.
    """

    def __init__(
        self,
        client: S3Client,
        location: Location,
        *,
        remember: Callable[[str, ObjectHead], None],
        concurrency_max: int,
    ) -> None:
        self._client = client
        self._location = location
        self._remember = remember
        self._ahead = anyio.CapacityLimiter(min(_PARTS_AHEAD_MAX, concurrency_max))

    async def read(self, target: Target, *, offset: int, limit: int | None, pinned: Version | None) -> Snapshot:
        """Return a part as `Backend.read` does: one GET; one HEAD more for a part behind the end."""
        key = self._key(target)
        etag = etag_of(pinned) if pinned is not None else None
        length = None if limit is None else max(limit, 1)
        for _ in range(_ATTEMPTS):
            try:
                got = await self._client.get(key, offset=offset, limit=length, etag=etag)
            except RequestFailed as failed:
                head = await self._refusal(target, key, failed, etag=etag)
                if offset >= head.size_bytes:
                    return self._snapshot(key, head, b"", offset=offset)
            else:
                return self._snapshot(key, got.head, got.data[:limit], offset=offset)
        raise _changed(target)

    async def whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Return a file as `Backend.read_whole` does."""
        got = await self._whole(target, size_bytes_max=size_bytes_max)
        return self._snapshot(self._key(target), got.head, got.data, offset=0)

    async def content(self, target: Target, *, size_bytes_max: int) -> bytes:
        """Return what `whole` does, without a version."""
        return (await self._whole(target, size_bytes_max=size_bytes_max)).data

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed a file to `sink` as `Backend.scan` does."""
        key = self._key(target)
        for _ in range(_ATTEMPTS):
            scan = ObjectScan(self._client, key, sink, ahead=self._ahead)
            try:
                head, digest = await scan.run()
            except RequestFailed as failed:
                head = await self._refusal(target, key, failed, etag=scan.head.etag if scan.head else None)
                if scan.head is not None:
                    raise _changed(target) from failed
                if head.size_bytes:
                    continue
                digest = content_digest(b"")
            self._remember(key, head)
            return Scanned(size_bytes=head.size_bytes, version=head.version(digest))
        raise _changed(target)

    def _key(self, target: Target) -> str:
        key = self._location.key(target)
        if self._location.is_root(key):
            raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation="read")
        return key

    async def _whole(self, target: Target, *, size_bytes_max: int) -> ObjectBytes:
        key = self._key(target)
        try:
            got = await self._client.get(key, size_bytes_max=size_bytes_max)
        except RequestFailed as failed:
            await self._refusal(target, key, failed, etag=None)
            raise
        if got.head.size_bytes > size_bytes_max:
            raise too_large(target, got.head.size_bytes, size_bytes_max)
        return got

    async def _refusal(self, target: Target, key: str, failed: RequestFailed, *, etag: str | None) -> ObjectHead:
        """Return the object that has none of the bytes of a refused read; raise if that is not why it was refused."""
        if failed.failure is Failure.PRECONDITION:
            raise _changed(target) from failed
        if failed.failure not in {Failure.MISSING, Failure.BAD_RANGE}:
            raise failed
        head = await self._client.head(key) if failed.failure is Failure.BAD_RANGE else None
        if head is None:
            raise await self._absence(target, key) from failed
        if etag not in {None, head.etag}:
            raise _changed(target) from failed
        return head

    async def _absence(self, target: Target, key: str) -> FsError:
        """Return why there is no object to read: raise if that is for what stands below or above its name."""
        await place_new(self._client, self._location, key, operation="read")
        return NotFound(Reason.NO_SUCH_FILE, path=target.display_path, operation="read")

    def _snapshot(self, key: str, head: ObjectHead, data: bytes, *, offset: int) -> Snapshot:
        self._remember(key, head)
        snapshot = Snapshot(data=data, offset=offset, size_bytes=head.size_bytes, version=head.version())
        if not snapshot.is_whole:
            return snapshot
        return replace(snapshot, version=head.version(content_digest(data)))


def _changed(target: Target) -> FsError:
    return StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)
