"""A read-only backend over any fsspec URL."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import ClassVar, Final, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from backends._urls import RootUrl, parse_root_url
from backends._workers import CallCancelled, WorkerCall, Workers
from backends.generic._detached import Attempt, CallStuck, DetachedThreads
from backends.generic._reader import FileReader
from backends.generic._store import FsspecStore
from backends.options import FsspecOptions
from fs_core.cancellation import to_the_end
from fs_core.errors import FsError, NotDirectory, NotFound, Operation, Unavailable, Unsupported
from fs_core.paths import Root, RootedPath, display
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Guard, Scanned, Sink
from fs_core.types import (
    FileInfo,
    FileKind,
    Listing,
    Snapshot,
    Target,
    TargetKey,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["GenericBackend", "open_generic"]

T = TypeVar("T")

_CLOSE_TIMEOUT_S: Final = 10.0
Work = Callable[[FsspecStore, Attempt], T]


async def open_generic(url: str, options: FsspecOptions) -> "GenericBackend":
    """Open `url`, read only; chains such as `zip://::https://host/a.zip` are taken too.

    Raises:
        Unsupported: a password in the URL, or nothing that fsspec can open.
        NotFound, NotDirectory, PermissionDenied, Unavailable, IoFault: as the store answers.
    """
    root = parse_root_url(url)
    if root.has_query:
        raise Unsupported("a URL with a query or fragment is no directory", path=root.public, operation="open")
    if root.has_ipv6_gap:
        reason = "fsspec takes the :: of an IPv6 address for a chain of URLs; use a host name"
        raise Unsupported(reason, path=root.public, operation="open")
    backend = GenericBackend(root, options)
    await backend.connect()
    return backend


class GenericBackend(Backend):
    """What every store behind fsspec has in common: metadata, bytes and listings. Nothing is written.

    Bounds, all in `FsspecOptions`:

    * `concurrency_max` operations at a time over an asynchronous fsspec file system, one over any other, because
      those share one connection or one open archive between threads.
    * `write_size_bytes_max` bytes of one file are read, held or scanned, however well it was compressed.
    * `request_timeout_s` without progress ends an operation; 64 KiB of a file count as progress. fsspec has no way to
      end a request, so its thread stays behind until the library gives up by itself. Up to `concurrency_max` may
      stay; beyond that operations are refused at once.

    A version is what the store's metadata proves: `settled` with an ETag or checksum, unsettled with times. Where
    there is neither, every read is a whole one and its digest is the version.
    """

    scheme: ClassVar[str] = "fsspec"
    bulk: ClassVar[Bulk] = Bulk(directories=4, files=8, calls=8)

    def __init__(self, root: RootUrl, options: FsspecOptions) -> None:
        """Prepare; `connect` comes next. Use `open_generic`."""
        self._url = root
        self._root = Root(url=root.public, prefixes=(root.public.rstrip("/"),))
        self._options = options
        self._threads = DetachedThreads(threads_max=2 * options.concurrency_max)
        self._workers = Workers(concurrency_max=1)
        self._store: FsspecStore | None = None
        self._store_lock = Lock()
        self._close_lock = anyio.Lock()
        self._is_closed = False

    @property
    def root(self) -> Root:
        """Return the URL as it was given, without a query."""
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        """Nothing can be written."""
        limit = self._options.write_size_bytes_max
        return Capabilities(create=Guard.NONE, replace=Guard.NONE, write_size_bytes_max=limit)

    async def connect(self) -> None:
        """Open the file system and check the root."""
        if await self._run(lambda store, _: store.is_shared, path=self._root.url, operation="open"):
            self._workers = Workers(concurrency_max=self._options.concurrency_max)

    async def resolve(self, path: RootedPath) -> Target:
        """Return the path itself; links are the store's own business and never lead to this machine.

        A path through a regular file is told by `stat` and `read`, as for any name that is not there.

        Raises:
            InvalidPath: fsspec would take the path for another one.
        """
        await checkpoint()
        name = display(path.names)
        self._refuse_if_closed(name, "resolve")
        store = self._store
        if store is not None:
            store.refuse_inexpressible(path.names, "resolve")
        return Target(key=TargetKey(name), display_path=name)

    async def stat(self, target: Target) -> FileInfo | None:
        """Return fresh metadata; an archive is opened again if its file was replaced."""
        names = _names(target)
        try:
            seen = await self._run(
                lambda store, _: store.look(names, "stat"), path=target.display_path, operation="stat"
            )
        except NotFound:
            return None
        version = seen.stamp.version() if seen.kind is FileKind.FILE else None
        return FileInfo(kind=seen.kind, size_bytes=seen.size_bytes, version=version)

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Return bytes and the version that stood before and after they were read.

        Raises:
            TooLarge: more than `write_size_bytes_max` bytes would be held.
        """
        read = partial(FileReader.snapshot, offset=offset, limit=limit, pinned=pinned)
        return await self._with_reader(read, target)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return the entries of a directory; of a web server, what its index page links to."""
        names = _names(target)

        def work(store: FsspecStore, attempt: Attempt) -> Listing:
            if store.look(names, "list").kind is not FileKind.DIRECTORY:
                raise NotDirectory("is not a directory", path=target.display_path, operation="list")
            attempt.progress()
            entries = store.list(names, attempt)
            return Listing(entries=tuple(entries[:limit]), is_complete=len(entries) <= limit)

        return await self._run(work, path=target.display_path, operation="list")

    def child(self, directory: Target, name: str) -> Target:
        """Return the path of a name."""
        path = display((*_names(directory), name))
        return Target(key=TargetKey(path), display_path=path)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Refuse.

        Raises:
            Unsupported: always.
        """
        del data, condition
        await checkpoint()
        self._refuse_if_closed(target.display_path, "write")
        reason = f"cannot be written: {self._root.url} is open for reading only"
        raise Unsupported(reason, path=target.display_path, operation="write")

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the file to `sink` in one pass from a worker thread.

        Raises:
            TooLarge: more than `write_size_bytes_max` bytes arrive; `sink` has seen those before.
        """
        return await self._with_reader(partial(FileReader.scan, sink=sink), target)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """Feed files to `sink` from one worker thread, one after another: fsspec offers no more for all stores."""
        size_bytes_max = min(size_bytes_max, self._options.write_size_bytes_max)

        def work(store: FsspecStore, attempt: Attempt) -> list[FsError | None]:
            refusals: list[FsError | None] = []
            for index, file in enumerate(files):
                reader = FileReader(store, attempt, _names(file), file.display_path, size_bytes_max)
                content = _whole_or_refusal(reader)
                if isinstance(content, bytes):
                    attempt.deliver(partial(sink, index, content))
                refusals.append(None if isinstance(content, bytes) else content)
            return refusals

        return await self._run(work, path=self._root.url, operation="read")

    async def aclose(self) -> None:
        """Wait a bounded time for operations under way, then close the file system; idempotent.

        fsspec's own event loop thread, one per process, goes on for its other users.
        """
        self._is_closed = True
        await to_the_end(self._close)

    async def _close(self) -> None:
        async with self._close_lock:
            is_free = await self._workers.drained(timeout_s=_CLOSE_TIMEOUT_S)
            with self._store_lock:
                store, self._store = self._store, None
            # What a stuck operation is still using is left to it, and collected when that ends.
            if store is not None and is_free:
                await self._in_worker(lambda _: store.close(), path=self._root.url, operation="open")

    def _refuse_if_closed(self, path: str, operation: Operation) -> None:
        if self._is_closed:
            raise Unavailable("the workspace is closed", path=path, operation=operation)

    async def _with_reader(self, read: Callable[[FileReader], T], target: Target) -> T:
        def work(store: FsspecStore, attempt: Attempt) -> T:
            limit = self._options.write_size_bytes_max
            return read(FileReader(store, attempt, _names(target), target.display_path, limit))

        return await self._run(work, path=target.display_path, operation="read")

    async def _run(self, work: Work[T], *, path: str, operation: Operation) -> T:
        """Run `work` on the open file system."""

        def on_current(attempt: Attempt) -> T:
            self._refuse_if_closed(path, operation)  # also after the wait for a worker, when none is opened any more
            return work(self._current(attempt), attempt)

        self._refuse_if_closed(path, operation)
        return await self._in_worker(on_current, path=path, operation=operation)

    async def _in_worker(self, work: Callable[[Attempt], T], *, path: str, operation: Operation) -> T:
        def wait(call: WorkerCall) -> T:
            try:
                return self._threads.run(call, work, timeout_s=self._options.request_timeout_s)
            except (CallStuck, CallCancelled):
                self._drop_unshared()
                raise

        try:
            return await self._workers.run(wait)
        except CallStuck as error:
            raise Unavailable(f"the store is stuck: {error}", path=path, operation=operation, retryable=True) from error

    def _current(self, attempt: Attempt) -> FsspecStore:
        """Return the open file system, or a new one where there is none or its archive was replaced."""
        with self._store_lock:
            store = self._store
        if store is None or store.is_outdated():
            attempt.progress()
            store = FsspecStore(self._url, self._options)
            attempt.deliver(partial(self._keep, store))
        attempt.progress()
        return store

    def _keep(self, store: FsspecStore) -> None:
        with self._store_lock:
            self._store = store

    def _drop_unshared(self) -> None:
        """Forget a file system that a thread left behind may still be using."""
        with self._store_lock:
            if self._store is not None and not self._store.is_shared:
                self._store = None


def _whole_or_refusal(reader: FileReader) -> bytes | FsError:
    try:
        return reader.snapshot(offset=0, limit=None, pinned=None).data
    except Unavailable:
        raise
    except FsError as error:
        return error


def _names(target: Target) -> tuple[str, ...]:
    return () if target.key == "." else tuple(target.key.split("/"))
