"""Files on a server that speaks SFTP version 3."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeVar

import anyio
from anyio import to_thread

from backends._workers import WorkerCall, Workers
from backends.options import SftpOptions
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._config import Location, find_route, parse_url
from backends.sftp._connection import ConnectionLost, ServerSilent
from backends.sftp._content import Content
from backends.sftp._errors import store_errors
from backends.sftp._leftovers import Sweeper
from backends.sftp._list import DIRECTORIES_AT_ONCE_MAX, list_directory, list_levels
from backends.sftp._pool import ConnectionPool
from backends.sftp._probe import ProbeReport, probe_server
from backends.sftp._publish import Publication, write_file
from backends.sftp._read import read_snapshot, scan_file
from backends.sftp._read_many import FILES_AT_ONCE_MAX, ManyReads
from backends.sftp._resolve import Confinement, Names, absolute, observe, refuse_long_names, resolve_names, split
from backends.sftp._versions import version_of
from fs_core.cancellation import to_the_end
from fs_core.errors import FsError, NotDirectory, Operation, TooLarge, Unavailable
from fs_core.paths import Root, RootedPath, display
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Guard, Scanned, Sink
from fs_core.splice import Splice
from fs_core.types import (
    FileInfo,
    FileKind,
    IfVersion,
    Level,
    Listing,
    Snapshot,
    Target,
    TargetKey,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["SftpBackend", "open_sftp"]

T = TypeVar("T")

_CLOSE_PATIENCE_S: Final = 2.0
"""How long operations under way may go on when the backend is closed, before their connections are shut down."""
_CLOSE_TIMEOUT_S: Final = 10.0


async def open_sftp(url: str, options: SftpOptions) -> "SftpBackend":
    """Open the directory that `sftp://[user@]host[:port]/path` names; the path is percent-decoded once.

    User, port, keys, jump hosts and known hosts come from `~/.ssh/config` where URL and options leave them open.

    Raises:
        InvalidPath: no such URL, one with a password, or a configuration that cannot be used.
        NotFound, NotDirectory: there is no directory at that path.
        Unavailable: host unreachable, its key not trusted, or the login refused; one line says which and what to do.
    """
    location = parse_url(url)
    shown = f"sftp://{location.shown_authority}{location.path}"
    workers = Workers(concurrency_max=options.concurrency_max)

    def work(call: WorkerCall) -> tuple[ConnectionPool, Names, tuple[str, ...]]:
        pool = ConnectionPool(find_route(location.address, options), options)
        try:
            with store_errors(shown, "open", call=call), pool.lease(call) as client:
                root = _find_root(client, location.path, shown)
                extensions = tuple(sorted(client.extensions))
        except BaseException:
            pool.close()
            raise
        return pool, root, extensions

    pool, root, extensions = await workers.run(work)
    prefixes = _prefixes(location, absolute(root))
    return SftpBackend(
        pool, workers, options, root=Root(url=shown, prefixes=prefixes), real_names=root, extensions=extensions
    )


def _find_root(client: SftpClient, path: str, shown: str) -> Names:
    real, looked = client.exchange(wire.realpath(path), wire.stat_followed(path))
    if wire.attributes_of(looked).kind is not FileKind.DIRECTORY:
        raise NotDirectory("the root of a workspace must be a directory", path=shown, operation="open")
    return split(wire.name_of(real))


def _prefixes(location: Location, real: str) -> tuple[str, ...]:
    """Return the absolute spellings of the root, the longest first."""
    paths = dict.fromkeys(path.rstrip("/") for path in (location.path, real))
    spelled = dict.fromkeys((*paths, location.raw_path.rstrip("/")))
    urls = [f"sftp://{authority}{path}" for authority in location.bare_authorities for path in spelled]
    return tuple(sorted((*paths, *urls), key=len, reverse=True))


class SftpBackend(Backend):
    """Files below one directory of an SFTP server; made by `open_sftp`. Runs under asyncio and trio.

    A version is size, modification time in whole seconds, and the digest of the content: the protocol offers no more.
    It is settled when the file was last modified more than a minute before (`_versions` says what that does not
    notice); nothing but the choice of a page relies on that. `IfAbsent` is refused by the server itself. `IfVersion`
    is compared by content under a lock that all clients of this library on that server share (see `_lock`); another
    program that writes the file has the moment between comparison and rename, about one round trip.
    """

    scheme: ClassVar[str] = "sftp"
    bulk: ClassVar[Bulk] = Bulk(directories=DIRECTORIES_AT_ONCE_MAX, files=FILES_AT_ONCE_MAX, calls=4)

    def __init__(
        self,
        pool: ConnectionPool,
        workers: Workers,
        options: SftpOptions,
        *,
        root: Root,
        real_names: Names,
        extensions: tuple[str, ...],
    ) -> None:
        self._pool = pool
        self._workers = workers
        self._options = options
        self._root = root
        self._confinement = Confinement(real_names, root.url)
        self._extensions = extensions
        self._sweeper = Sweeper(lease_s=options.lock_lease_s)
        self._close_lock = anyio.Lock()
        self._is_closing = False

    @property
    def root(self) -> Root:
        """Return the directory that was opened."""
        return self._root

    @property
    def extensions(self) -> tuple[str, ...]:
        """Return what the server offers beyond version 3, sorted."""
        return self._extensions

    @property
    def capabilities(self) -> Capabilities:
        """Return what the server can do; without `posix-rename@openssh.com` existing files are not replaced."""
        can_replace = "posix-rename@openssh.com" in self._extensions
        return Capabilities(
            create=Guard.NATIVE,
            replace=Guard.CHECKED if can_replace else Guard.NONE,
            write_size_bytes_max=self._options.write_size_bytes_max,
        )

    async def resolve(self, path: RootedPath) -> Target:
        """See `Backend`. One round trip, two more for every link on the way."""
        shown = display(path.names)
        refuse_long_names(self._confinement.names + path.names, shown=shown)

        def work(client: SftpClient, _: WorkerCall) -> Names:
            return resolve_names(client, self._confinement, path.names, shown=shown)

        names = await self._look(shown, "resolve", work)
        return Target(key=TargetKey(absolute(names)), display_path=self._confinement.shown(names))

    async def stat(self, target: Target) -> FileInfo | None:
        """See `Backend`. One round trip."""
        shown = target.display_path

        def work(client: SftpClient, _: WorkerCall) -> tuple[float, wire.Attributes | None]:
            now_s = client.clock.now_s()
            return now_s, observe(client, target.key, root=self._confinement, shown=shown, operation="stat")[0]

        now_s, found = await self._look(shown, "stat", work)
        if found is None:
            return None
        if found.kind is not FileKind.FILE:
            return FileInfo(found.kind)
        return FileInfo(found.kind, found.size_bytes, version_of(found, now_s=now_s))

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """See `Backend`. Three round trips up to 16 MiB, all reads in the last of them.

        `pinned` is compared by digest when the whole file is read, else by token.
        """
        shown = target.display_path

        def work(client: SftpClient, _: WorkerCall) -> Snapshot:
            return read_snapshot(
                client, target.key, root=self._confinement, shown=shown, offset=offset, limit=limit, pinned=pinned
            )

        return await self._look(shown, "read", work)

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """See `Backend`. As `read`; a file that is too large is not opened."""
        shown = target.display_path

        def work(client: SftpClient, _: WorkerCall) -> Snapshot:
            return read_snapshot(client, target.key, root=self._confinement, shown=shown, size_bytes_max=size_bytes_max)

        return await self._look(shown, "read", work)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """See `Backend`. Three round trips for every 32 files, if those have no more than 8 MiB together."""
        reads = ManyReads(files, sink, root=self._confinement, size_bytes_max=size_bytes_max)
        await self._look(".", "read", reads.run, winds_down=True)
        return reads.refusals

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """See `Backend`. One handle pins the content; the path is looked at again in the end."""
        shown = target.display_path

        def body(call: WorkerCall) -> Scanned:
            # Not repeated on a new connection: the sink has had a part already.
            with self._pool.lease(call) as client:
                return scan_file(client, target.key, root=self._confinement, shown=shown, sink=sink, call=call)

        return await self._run(shown, "read", body)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """See `Backend`. A link is shown as what it leads to; a name that is no UTF-8 is not addressable."""

        def work(client: SftpClient, call: WorkerCall) -> Listing:
            return list_directory(client, target, call, root=self._confinement, limit=limit)

        return await self._look(target.display_path, "list", work)

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        """See `Backend`. Two round trips for every 20 directories of up to 100 names."""
        del with_sizes  # the server tells them with the names

        def work(client: SftpClient, call: WorkerCall) -> list[Level | FsError]:
            return list_levels(client, directories, call, root=self._confinement, entries_max=entries_max)

        return await self._look(".", "list", work, winds_down=True)

    def child(self, directory: Target, name: str) -> Target:
        """See `Backend`."""
        names = (*split(directory.key), name)
        return Target(key=TargetKey(absolute(names)), display_path=self._confinement.shown(names))

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """See `Backend`. A new file takes five round trips, a replaced one seven, up to 16 MiB."""
        return await self._publish(target, Content.of_bytes(data), condition)

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        """See `Backend`. As `write`, and the new content is sent from where its parts are."""
        return await self._publish(target, Content.of_splice(splice), condition)

    async def _publish(self, target: Target, content: Content, condition: WriteCondition) -> WriteReceipt:
        shown = target.display_path
        if content.size_bytes > self._options.write_size_bytes_max:
            limit = self._options.write_size_bytes_max
            reason = f"{content.size_bytes} bytes are more than the {limit} that are written"
            raise TooLarge(reason, path=shown, operation="write")
        publication = Publication(
            target=split(target.key),
            root=self._confinement,
            shown=shown,
            content=content,
            condition=condition,
            lease_s=self._options.lock_lease_s,
        )

        def body(call: WorkerCall) -> WriteReceipt:
            return write_file(self._pool, self._sweeper, publication, call)

        return await self._run(shown, "write", body)

    async def probe(self) -> ProbeReport:
        """Try on a scratch file what the server can do, and how far its clock is off.

        Raises:
            PermissionDenied, NoSpace, Unavailable: the root cannot be written.
        """

        def work(client: SftpClient, call: WorkerCall) -> ProbeReport:
            return probe_server(client, self._confinement, check=call.check)

        return await self._look(".", "write", work, winds_down=True)

    async def aclose(self) -> None:
        """Wait a moment for operations under way, then close all connections; idempotent.

        What takes longer ends as unavailable, and is waited for a bounded time.
        """
        self._is_closing = True
        await to_the_end(self._close)

    async def _close(self) -> None:
        async with self._close_lock:
            await self._workers.drained(timeout_s=_CLOSE_PATIENCE_S)
            await to_thread.run_sync(self._pool.close, limiter=anyio.CapacityLimiter(1))
            await self._workers.drained(timeout_s=_CLOSE_TIMEOUT_S)

    async def _run(self, shown: str, operation: Operation, body: Callable[[WorkerCall], T]) -> T:
        """Run `body` in a worker thread, with what goes wrong as an `FsError`."""

        def work(call: WorkerCall) -> T:
            self._refuse_if_closing(shown, operation)  # also what has waited for a thread until now
            with store_errors(shown, operation, call=call):
                return body(call)

        self._refuse_if_closing(shown, operation)
        return await self._workers.run(work)

    def _refuse_if_closing(self, shown: str, operation: Operation) -> None:
        if self._is_closing:
            raise Unavailable("the workspace is closed", path=shown, operation=operation)

    async def _look(
        self,
        shown: str,
        operation: Operation,
        work: Callable[[SftpClient, WorkerCall], T],
        *,
        winds_down: bool = False,
    ) -> T:
        """Run what changes nothing, or cleans up and `winds_down`; repeated once where a connection turns out dead.

        What ends by itself soon after a cancellation winds down too: a search that has enough keeps its connections.
        """

        def body(call: WorkerCall) -> T:
            try:
                with self._pool.lease(call, winds_down=winds_down) as client:
                    return work(client, call)
            except ServerSilent:
                raise
            except ConnectionLost:
                call.check()
                with self._pool.lease(call, winds_down=winds_down) as client:
                    return work(client, call)

        return await self._run(shown, operation, body)
