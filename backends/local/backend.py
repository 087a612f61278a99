"""Local disk behind the seam."""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from backends._workers import WorkerCall, Workers
from backends.local._cached import CachedTree
from backends.local._errors import mapped_errors
from backends.local._listing import KINDS, levels, listing_of, open_names
from backends.local._lock import ProcessLocks, default_lock_directory
from backends.local._probe import LocalProbe, probe_directory
from backends.local._publish import Publisher
from backends.local._reading import PIECE_BYTES, read_part, read_whole, scan
from backends.local._reading_many import read_files
from backends.local._tree import Names, Opened, Tree, opened_regular
from backends.local._version import version_of
from backends.local_options import LocalOptions
from fs_core.cancellation import to_the_end
from fs_core.errors import FsError, NotDirectory, NotRegularFile, Operation, Reason, TooLarge, Unavailable
from fs_core.paths import Root, RootedPath, display
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Guard, Scanned, Sink
from fs_core.splice import Replacement, Splice
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

__all__ = ["LocalBackend", "open_local"]

T = TypeVar("T")

CLOSE_TIMEOUT_S: Final = 10.0


async def open_local(path: Path, options: LocalOptions) -> "LocalBackend":
    """Open the directory `path` as a workspace.

    Raises:
        NotFound: it does not exist.
        NotDirectory: it is no directory.
        PermissionDenied: it may not be entered.
    """
    workers = Workers(concurrency_max=options.concurrency_max)

    def work(call: WorkerCall) -> tuple[Tree, CachedTree]:
        call.check()
        with mapped_errors(str(path), "open"):
            if path.exists() and not path.is_dir():
                raise NotDirectory("the root of a workspace must be a directory", path=str(path), operation="open")
            tree = Tree(path)
            try:
                return tree, CachedTree(tree)  # which may wait for a server, too
            except OSError:
                tree.close()
                raise

    tree, cached = await workers.run(work)
    return LocalBackend(tree, cached, path=path, workers=workers, options=options)


class LocalBackend(Backend):
    """A directory of this machine.

    Creation is checked by the kernel. Replacement is checked under a lock that all processes of this user and library
    share; a foreign writer between check and publication is detected by exchanging the two files, and its content put
    back, where the kernel offers that (Linux: ext4, xfs, btrfs, tmpfs).
    """

    scheme: ClassVar[str] = "file"
    bulk: ClassVar[Bulk] = Bulk(directories=128, files=256)
    """A thread hop costs as much as several directories or files of a cached tree."""

    def __init__(self, tree: Tree, cached: CachedTree, *, path: Path, workers: Workers, options: LocalOptions) -> None:
        self._tree = tree
        self._cached = cached
        self._workers = workers
        self._options = options
        self._locks = ProcessLocks(options.lock_directory or default_lock_directory(), timeout_s=options.lock_timeout_s)
        self._publisher = Publisher(tree, locks=self._locks, lock_timeout_s=options.lock_timeout_s, fsync=options.fsync)
        given = str(path.absolute()).rstrip("/")
        real = str(tree.real).rstrip("/")
        self._below = f"{real}/"
        self._root = Root(url=str(tree.real), prefixes=tuple(dict.fromkeys((given, real))))
        self._is_closed = False

    @property
    def root(self) -> Root:
        """Return the directory, as it was given and as it really is."""
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        """Return what local disk can do."""
        limit = self._options.write_size_bytes_max
        return Capabilities(create=Guard.NATIVE, replace=Guard.CHECKED, write_size_bytes_max=limit)

    async def resolve(self, path: RootedPath) -> Target:
        """Return where the path really is, links followed."""
        shown = display(path.names)
        if self._status_cached("/".join(path.names), shown) is not None:  # without a link on the way
            await checkpoint_if_cancelled()  # what is done with the target lets the other tasks come up
            return self._target(path.names)

        def work(call: WorkerCall) -> Names:
            call.check()
            with mapped_errors(shown, "resolve"):
                return self._opened(shown).locate(path.names, path=shown)

        return self._target(await self._workers.run(work))

    async def stat(self, target: Target) -> FileInfo | None:
        """Return what is there now, without following a link."""
        status = self._status_cached(self._path(target), target.display_path)
        if status is not None:
            await checkpoint()
            return _info(status)
        names = self._names(target)

        def work(call: WorkerCall) -> FileInfo | None:
            call.check()
            with mapped_errors(target.display_path, "stat"):
                return self._stat(target, names)

        return await self._workers.run(work)

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Return a range through one descriptor, with the version that held before and after."""
        cached = await self._read_cached(target, offset=offset, limit=limit, pinned=pinned)
        if cached is not None:
            return cached

        def work(opened: Opened, call: WorkerCall) -> Snapshot:
            return read_part(opened, target, offset=offset, limit=limit, pinned=pinned, call=call)

        return await self._run_opened(target, work)

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Return the whole file, held once; its size is looked at before it is read."""
        cached = await self._read_cached(target, limit=size_bytes_max + 1)
        if cached is not None and cached.is_whole and cached.size_bytes <= size_bytes_max:
            return cached

        def work(opened: Opened, call: WorkerCall) -> Snapshot:
            return read_whole(opened, target, size_bytes_max=size_bytes_max, call=call)

        return await self._run_opened(target, work)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the file through one descriptor and two buffers, in one thread hop at most."""
        cached = await self._read_cached(target)
        if cached is not None:
            for start in range(0, cached.size_bytes, PIECE_BYTES):
                sink(cached.data[start : start + PIECE_BYTES])
            return Scanned(size_bytes=cached.size_bytes, version=cached.version)
        return await self._run_opened(target, lambda opened, call: scan(opened, target, sink, call))

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return the entries of a directory."""
        names = self._names(target)

        def work(call: WorkerCall) -> Listing:
            call.check()
            with mapped_errors(target.display_path, "list"):
                return self._list(target, names, limit)

        return await self._workers.run(work)

    def child(self, directory: Target, name: str) -> Target:
        """Return what a name in a directory is, which is no link."""
        if directory.key == self._root.url:
            return Target(key=TargetKey(f"{self._below}{name}"), display_path=name)
        return Target(TargetKey(f"{directory.key}/{name}"), f"{directory.display_path}/{name}")

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        """Return the names in several directories in one thread hop, with no look at a file unless sizes are wanted."""

        def work(root: int, call: WorkerCall) -> Sequence[Level | FsError]:
            found = [(target, self._path(target)) for target in directories]
            return levels(root, found, entries_max=entries_max, with_sizes=with_sizes, call=call)

        return await self._run_below(directories, "list", work)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """Feed several files in one thread hop, those of a directory together."""

        def work(root: int, call: WorkerCall) -> Sequence[FsError | None]:
            found = [(target, self._path(target)) for target in files]
            return read_files(root, found, sink, size_bytes_max=size_bytes_max, call=call)

        return await self._run_below(files, "read", work)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Stage beside the target, verify under the shared lock, publish with one rename."""
        whole = Splice(before=b"", replacements=(Replacement(0, 0, data),))
        return await self._publish(target, whole, condition)

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        """As `write`; the new content is never held as a whole."""
        return await self._publish(target, splice, condition)

    async def probe(self) -> LocalProbe:
        """Try on two scratch files what this directory can do; they are removed again."""

        def work(call: WorkerCall) -> LocalProbe:
            call.check()
            return probe_directory(self._opened(".").real, self._locks, call=call)

        return await self._workers.run(work)

    async def aclose(self) -> None:
        """Wait a bounded time for operations under way, then release the root directory; idempotent."""
        self._is_closed = True
        await to_the_end(self._close)

    async def _close(self) -> None:
        await self._workers.drained(timeout_s=CLOSE_TIMEOUT_S)
        self._tree.close()

    async def _publish(self, target: Target, content: Splice, condition: WriteCondition) -> WriteReceipt:
        names = self._names(target)
        if not names:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation="write")
        if content.size_bytes > self._options.write_size_bytes_max:
            reason = f"{content.size_bytes} bytes; at most {self._options.write_size_bytes_max} are written"
            raise TooLarge(reason, path=target.display_path, operation="write")

        def work(call: WorkerCall) -> WriteReceipt:
            self._opened(target.display_path)
            with mapped_errors(target.display_path, "write"):
                return self._publisher.write(names, content, condition, call=call, path=target.display_path)

        return await self._workers.run(work)

    def _status_cached(self, path: str, shown: str) -> os.stat_result | None:
        """Return the status of what the kernel has in memory and is not the root, without a thread hop."""
        self._opened(shown)
        return self._cached.status(path) if path else None

    async def _read_cached(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot | None:
        """Return a short range that the kernel has in memory, without a thread hop."""
        path = self._path(target)
        self._opened(target.display_path)
        cached = self._cached.read(path, offset=offset, limit=limit, pinned=pinned) if path else None
        if cached is not None:
            await checkpoint()  # who reads one page after another lets the other tasks come up
        return cached

    async def _run_opened(self, target: Target, work: Callable[[Opened, WorkerCall], T]) -> T:
        """Run `work` on the opened file, in one thread hop."""
        names, path = self._names(target), target.display_path
        if not names:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=path, operation="read")

        def run(call: WorkerCall) -> T:
            call.check()
            with (
                mapped_errors(path, "read"),
                self._opened(path).parent(names, path=path, operation="read") as parent,
                opened_regular(parent, names[-1], path=path, operation="read") as opened,
            ):
                return work(opened, call)

        return await self._workers.run(run)

    async def _run_below(
        self, targets: Sequence[Target], operation: Operation, work: Callable[[int, WorkerCall], Sequence[T]]
    ) -> Sequence[T]:
        """Run `work` on many files or directories, given a descriptor of the root, in one thread hop."""
        if not targets:
            return []
        path = targets[0].display_path

        def run(call: WorkerCall) -> Sequence[T]:
            call.check()
            with mapped_errors(path, operation):
                root = self._opened(path).enter(path=path, operation=operation)
            try:
                return work(root, call)
            finally:
                os.close(root)

        return await self._workers.run(run)

    def _opened(self, shown: str) -> Tree:
        if self._is_closed:
            raise Unavailable("the workspace is closed", path=shown, operation="open")
        return self._tree

    def _target(self, names: Names) -> Target:
        key = self._below + "/".join(names) if names else self._root.url
        return Target(key=TargetKey(key), display_path=display(names))

    def _names(self, target: Target) -> Names:
        path = self._path(target)
        return tuple(path.split("/")) if path else ()

    def _path(self, target: Target) -> str:
        """Return where `target` is below the root; nothing for that itself."""
        if target.key == self._root.url:
            return ""
        below = target.key.removeprefix(self._below)
        if below == target.key:
            raise ValueError(f"no target of this workspace: {target.key}")
        return below

    def _stat(self, target: Target, names: Names) -> FileInfo | None:
        tree = self._opened(target.display_path)
        try:
            with tree.parent(names, path=target.display_path, operation="stat") as parent:
                status = os.stat(names[-1] if names else ".", dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _info(status)

    def _list(self, target: Target, names: Names, limit: int) -> Listing:
        with self._opened(target.display_path).parent(names, path=target.display_path, operation="list") as parent:
            fd = open_names(parent, names[-1] if names else "", path=target.display_path)
        try:
            return listing_of(fd, limit=limit)
        finally:
            os.close(fd)


def _info(status: os.stat_result) -> FileInfo:
    kind = KINDS.get(stat.S_IFMT(status.st_mode), FileKind.OTHER)
    if kind is not FileKind.FILE:
        return FileInfo(kind)
    return FileInfo(kind, size_bytes=status.st_size, version=version_of(status))
