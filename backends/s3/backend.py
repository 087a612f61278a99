"""The S3 backend: names, metadata and bytes over single, conditional and pinned requests."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final

import anyio
from anyio import to_thread

from backends.options import S3Options
from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed, fs_error
from backends.s3._flat import FlatListing
from backends.s3._keys import Location
from backends.s3._listing import list_directory
from backends.s3._lru import Lru
from backends.s3._many import HELD_BYTES_MAX, SerialSink, side_by_side
from backends.s3._objects import ObjectHead
from backends.s3._order import known_orders
from backends.s3._probe import AWS_GUARDS, Guards, ProbeReport, known_guards, probe_store
from backends.s3._reading import ObjectReader
from backends.s3._writing import Writer
from fs_core.cancellation import to_the_end
from fs_core.errors import (
    FsError,
    NotDirectory,
    NotFound,
    NotRegularFile,
    Operation,
    Reason,
    TooLarge,
    Unavailable,
)
from fs_core.paths import Root, RootedPath
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Scanned, Sink
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
        self._probe_lock = anyio.Lock()
        self._close_lock = anyio.Lock()
        self._is_closed = False
        self._is_closing = False
        self._heads: Lru[tuple[str, str], ObjectHead] = Lru(entries_max=_HEADS_REMEMBERED_MAX)
        self._reader = ObjectReader(client, location, remember=self._remember, concurrency_max=options.concurrency_max)

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
        with self._mapped(target, "read"):
            async with self._slots:
                return await self._reader.read(target, offset=offset, limit=limit, pinned=pinned)

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Return the whole file with one GET; see the base class."""
        with self._mapped(target, "read"):
            async with self._slots:
                return await self._reader.whole(target, size_bytes_max=size_bytes_max)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the file to `sink` on the event loop, in pieces of at most 256 KiB; see the base class.

        One GET for the first 8 MiB. From a store that is fast and near one for each 128 MiB of the rest, else one for
        each 8 MiB, of which a few are under way at once. An empty file costs one HEAD more.
        """
        with self._mapped(target, "read"):
            async with self._slots:
                return await self._reader.scan(target, sink)

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
            target = files[index]
            try:
                with self._mapped(target, "read"):
                    async with self._slots:
                        data = await self._reader.content(target, size_bytes_max=size_bytes_max)
                        await serial.feed(index, data)
            except FsError as error:
                if isinstance(error, Unavailable) or serial.is_broken:
                    raise
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
                    raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation="write")
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

    async def _require_root(self, directory: Target, key: str) -> None:
        """Raise what is wrong with a directory that no key is in, unless it is the root, which always exists."""
        if self._location.is_root(key):
            return
        if await self._client.head(key) is not None:
            raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=directory.display_path, operation="list")
        raise NotFound(Reason.NO_SUCH_DIRECTORY, path=directory.display_path, operation="list")

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
