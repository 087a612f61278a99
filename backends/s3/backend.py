"""The S3 backend: names, metadata and bytes over single, conditional and pinned requests."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import anyio
from anyio import to_thread

from backends.options import S3Options
from backends.s3._client import ObjectBytes, S3Client
from backends.s3._errors import Failure, RequestFailed, fs_error
from backends.s3._flat import FlatListing
from backends.s3._keys import Location
from backends.s3._listing import list_directory
from backends.s3._lru import Lru
from backends.s3._many import HELD_BYTES_MAX, SerialSink, side_by_side
from backends.s3._objects import ObjectHead, etag_of
from backends.s3._order import known_orders
from backends.s3._placement import place_new
from backends.s3._probe import AWS_GUARDS, Guards, ProbeReport, known_guards, probe_store
from backends.s3._scan import ObjectScan
from backends.s3._writing import Writer
from fs_core.cancellation import to_the_end
from fs_core.digest import content_digest
from fs_core.errors import (
    FsError,
    NotDirectory,
    NotFound,
    NotRegularFile,
    Operation,
    Reason,
    StaleVersion,
    TooLarge,
    Unavailable,
)
from fs_core.paths import Root, RootedPath
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Scanned, Sink, too_large
from fs_core.splice import Splice
from fs_core.types import (
    Below,
    FileInfo,
    FileKind,
    IfVersion,
    Level,
    Listing,
    Snapshot,
    Target,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["S3Backend"]

_HEADS_REMEMBERED_MAX: Final = 1024
_READ_ATTEMPTS: Final = 4
"""How often a read starts again because an object grew between the answer that it is too short and a look."""

_PARTS_AHEAD_MAX: Final = 8
"""How many parts all scans together fetch before their turn. The pool has a connection for each."""

_CLOSE_TIMEOUT_S: Final = 10.0
_JOINED_INLINE_BYTES_MAX: Final = 1 << 20
_DIRECTORY_BUCKET: Final = "--x-s3"
"""How the names of buckets end that list keys in no order (Amazon S3 API Reference, "ListObjectsV2")."""

_SINGLE_PUT_BYTES_MAX: Final = 5 << 30
"""Largest object of one PUT (Amazon S3 User Guide, "Uploading objects")."""


class S3Backend(Backend):
    """Objects of a bucket below a prefix; runs under asyncio only. Made by `backends.s3.open_s3`.

    Costs: `read` is one GET, an edit of a file just read is one PUT more. Directories are prefixes of keys.
    """

    scheme: ClassVar[str] = "s3"
    bulk: ClassVar[Bulk] = Bulk(directories=16, files=32, calls=4)
    """More than there are slots by default, so that none is free while a call waits for its last answer."""

    def __init__(self, client: S3Client, location: Location, options: S3Options) -> None:
        self._client = client
        self._location = location
        self._options = options
        self._write_size_bytes_max = min(options.write_size_bytes_max, _SINGLE_PUT_BYTES_MAX)
        self._slots = anyio.CapacityLimiter(options.concurrency_max)
        self._ahead = anyio.CapacityLimiter(min(_PARTS_AHEAD_MAX, options.concurrency_max))
        self._probe_lock = anyio.Lock()
        self._close_lock = anyio.Lock()
        self._is_closed = False
        self._is_closing = False
        self._heads: Lru[tuple[str, str], ObjectHead] = Lru(entries_max=_HEADS_REMEMBERED_MAX)

    @property
    def root(self) -> Root:
        """Return the bucket and prefix."""
        return self._location.root

    @property
    def capabilities(self) -> Capabilities:
        """Return what the store can do; on other stores than Amazon S3 it is a hope until the first write."""
        guards = self._known_guards() or AWS_GUARDS
        return Capabilities(
            create=guards.create, replace=guards.replace, write_size_bytes_max=self._write_size_bytes_max
        )

    async def resolve(self, path: RootedPath) -> Target:
        """Return the key of `path`, without asking the store.

        Raises:
            InvalidPath: the key would be longer than 1024 bytes.
        """
        target = self._location.target(path.names)
        with self._mapped(target, "resolve"):
            return target

    async def stat(self, target: Target) -> FileInfo | None:
        """Return fresh metadata: one HEAD, and one LIST when there is no such object."""
        key = self._location.key(target)
        with self._mapped(target, "stat"):
            async with self._slots:
                if self._location.is_root(key):
                    return FileInfo(kind=FileKind.DIRECTORY)
                head = await self._client.head(key)
                if head is not None:
                    self._remember(key, head)
                    return FileInfo(kind=FileKind.FILE, size_bytes=head.size_bytes, version=head.version())
                is_directory = await self._client.has_any(self._location.below(key))
                return FileInfo(kind=FileKind.DIRECTORY) if is_directory else None

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Return bytes with one GET; an empty object, or an `offset` past the end, costs one HEAD more."""
        key = self._location.key(target)
        with self._mapped(target, "read"):
            async with self._slots:
                if self._location.is_root(key):
                    raise _is_directory(target, "read")
                return await self._read(target, key, offset=offset, limit=limit, pinned=pinned)

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Return the whole file with one GET; see the base class."""
        key = self._location.key(target)
        with self._mapped(target, "read"):
            async with self._slots:
                if self._location.is_root(key):
                    raise _is_directory(target, "read")
                got = await self._whole(target, key, size_bytes_max=size_bytes_max)
                return self._snapshot(key, got.head, got.data, offset=0)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the file to `sink` on the event loop, in pieces of at most 256 KiB; see the base class.

        One GET for each 8 MiB, of which a few are under way at once; an empty file costs one HEAD more.
        """
        key = self._location.key(target)
        with self._mapped(target, "read"):
            async with self._slots:
                if self._location.is_root(key):
                    raise _is_directory(target, "read")
                return await self._scan(target, key, sink)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return the names in one directory; see the base class."""
        key = self._location.key(target)
        with self._mapped(target, "list"):
            async with self._slots:
                listing = await list_directory(self._client, self._location, target, limit=limit)
                if listing is None:
                    await self._require_root(target, key)
                return listing or Listing(entries=(), is_complete=True)

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        """Return the names in several directories, which are asked for side by side; see the base class."""
        del with_sizes  # a listing has them anyway
        levels: dict[int, Level | FsError] = {}

        async def list_one(index: int) -> None:
            levels[index] = await self._level(directories[index], entries_max=entries_max)

        await side_by_side(list_one, count=len(directories), calls_max=self._options.concurrency_max)
        return [levels[index] for index in range(len(directories))]

    @property
    def lists_below(self) -> bool:
        """Return whether keys are listed in an order: in directory buckets of Amazon S3 they are not."""
        return not self._location.bucket.endswith(_DIRECTORY_BUCKET)

    @property
    def lists_in_order(self) -> bool:
        """Return whether nothing has shown by now that the store orders keys otherwise than by their bytes."""
        return self.lists_below and known_orders.get((self._client.endpoint, self._location.bucket)) is not False

    async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
        """Return the next files, of up to 1,000 keys, with one LIST; see the base class."""
        if not self.lists_below:
            return await super().list_below(directory, resume=resume, after=after)
        key = self._location.key(directory)
        listing = FlatListing(self._client, self._location, directory, after=after)
        with self._mapped(directory, "list"):
            async with self._slots:
                below = await listing.part(resume)
                if below is None:
                    await self._require_root(directory, key)
                return below or Below(files=(), sizes=(), others=(), resume=None)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """Feed several files to `sink`, each with one GET, at most 32 MiB of them at a time; see the base class."""
        refusals: list[FsError | None] = [None] * len(files)
        serial = SerialSink(sink)

        async def read_one(index: int) -> None:
            try:
                await self._feed_whole(files[index], partial(serial.feed, index), size_bytes_max=size_bytes_max)
            except Unavailable:
                raise
            except FsError as error:
                refusals[index] = error

        calls_max = max(1, min(self._options.concurrency_max, HELD_BYTES_MAX // max(1, size_bytes_max)))
        await side_by_side(read_one, count=len(files), calls_max=calls_max)
        return refusals

    def child(self, directory: Target, name: str) -> Target:
        """Return the object of a name."""
        path = name if directory.display_path == "." else f"{directory.display_path}/{name}"
        return self._location.target(tuple(path.split("/")))

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Publish `data` with one PUT; see the base class.

        A replacement costs that PUT alone when the replaced version has been seen by this backend, else one HEAD
        more. A creation looks at the names above and below first. Once the PUT is sent, cancelling waits for its
        outcome.

        Raises:
            Unsupported: the store ignores conditions, and `allow_unsafe_writes` is not set.
        """
        key = self._location.key(target)
        with self._mapped(target, "write"):
            if len(data) > self._write_size_bytes_max:
                reason = f"{len(data)} bytes are more than the {self._write_size_bytes_max} that may be written"
                raise TooLarge(reason, path=target.display_path, operation="write")
            async with self._slots:
                if self._location.is_root(key):
                    raise _is_directory(target, "write")
                writer = Writer(
                    client=self._client,
                    location=self._location,
                    guards=await self._guards(),
                    allow_unsafe=self._options.allow_unsafe_writes,
                    compare_size_bytes_max=self._write_size_bytes_max,
                    recall=self._recall,
                    remember=self._remember,
                    key=key,
                    display_path=target.display_path,
                    data=data,
                )
                return await writer.write(condition)

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        """Publish the spliced content as `write` does; a large one is joined in a thread, as that takes long."""
        is_small = splice.size_bytes <= _JOINED_INLINE_BYTES_MAX
        data = splice.joined() if is_small else await to_thread.run_sync(splice.joined)
        return await self.write(target, data, condition=condition)

    async def probe(self) -> ProbeReport:
        """Find out which conditions the store honours, with a scratch object under the root that is removed again.

        The result is what this process goes by from now on. Without this call the first write asks, except on
        Amazon S3.

        Raises:
            Unavailable, PermissionDenied: the store could not be asked.
        """
        with self._mapped(self._location.target(()), "write"):
            async with self._slots, self._probe_lock:
                return await self._probe()

    async def aclose(self) -> None:
        """Wait a bounded time for operations under way, then close all connections; idempotent."""
        self._is_closing = True
        await to_the_end(self._close)

    async def _close(self) -> None:
        async with self._close_lock:
            if self._is_closed:
                return
            places = [object() for _ in range(self._options.concurrency_max)]
            with anyio.move_on_after(_CLOSE_TIMEOUT_S):
                for place in places:
                    await self._slots.acquire_on_behalf_of(place)
            await self._client.aclose()
            self._is_closed = True

    @contextmanager
    def _mapped(self, target: Target, operation: Operation) -> Generator[None]:
        """Turn a failed request into the `FsError` it is, and refuse operations after `aclose`."""
        if self._is_closing:
            raise fs_error(RequestFailed(Failure.CLOSED), path=target.display_path, operation=operation)
        try:
            yield
        except RequestFailed as failed:
            raise fs_error(failed, path=target.display_path, operation=operation) from failed

    async def _read(
        self, target: Target, key: str, *, offset: int, limit: int | None, pinned: Version | None
    ) -> Snapshot:
        etag = etag_of(pinned) if pinned is not None else None
        length = None if limit is None else max(limit, 1)
        for _ in range(_READ_ATTEMPTS):
            try:
                got = await self._client.get(key, offset=offset, limit=length, etag=etag)
            except RequestFailed as failed:
                head = await self._refusal(target, key, failed, etag=etag)
                if offset >= head.size_bytes:
                    return self._snapshot(key, head, b"", offset=offset)
            else:
                return self._snapshot(key, got.head, got.data[:limit], offset=offset)
        raise _changed(target)

    async def _whole(self, target: Target, key: str, *, size_bytes_max: int) -> ObjectBytes:
        try:
            got = await self._client.get(key, size_bytes_max=size_bytes_max)
        except RequestFailed as failed:
            await self._refusal(target, key, failed, etag=None)
            raise
        if got.head.size_bytes > size_bytes_max:
            raise too_large(target, got.head.size_bytes, size_bytes_max)
        return got

    async def _feed_whole(
        self, target: Target, feed: Callable[[bytes], Awaitable[None]], *, size_bytes_max: int
    ) -> None:
        key = self._location.key(target)
        with self._mapped(target, "read"):
            async with self._slots:
                if self._location.is_root(key):
                    raise _is_directory(target, "read")
                await feed((await self._whole(target, key, size_bytes_max=size_bytes_max)).data)

    async def _require_root(self, directory: Target, key: str) -> None:
        """Raise what is wrong with a directory that no key is in, unless it is the root, which always exists."""
        if self._location.is_root(key):
            return
        if await self._client.head(key) is not None:
            raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=directory.display_path, operation="list")
        raise NotFound(Reason.NO_SUCH_DIRECTORY, path=directory.display_path, operation="list")

    async def _scan(self, target: Target, key: str, sink: Sink) -> Scanned:
        for _ in range(_READ_ATTEMPTS):
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

    def _recall(self, key: str, etag: str) -> ObjectHead | None:
        return self._heads.get((key, etag))

    def _remember(self, key: str, head: ObjectHead) -> None:
        self._heads.put((key, head.etag), head)

    def _known_guards(self) -> Guards | None:
        known = known_guards.get((self._client.endpoint, self._location.bucket))
        return AWS_GUARDS if known is None and self._client.is_aws else known

    async def _guards(self) -> Guards:
        known = self._known_guards()
        if known is not None:
            return known
        async with self._probe_lock:
            return self._known_guards() or (await self._probe()).guards

    async def _probe(self) -> ProbeReport:
        below_root = self._location.below(self._location.prefix)
        report = await probe_store(self._client, directory_prefix=below_root, bucket=self._location.bucket)
        known_guards.put((self._client.endpoint, self._location.bucket), report.guards)
        return report


def _is_directory(target: Target, operation: Operation) -> FsError:
    return NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation=operation)


def _changed(target: Target) -> FsError:
    return StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)
