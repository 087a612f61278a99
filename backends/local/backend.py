"""Local disk behind the seam."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from backends._workers import WorkerCall, Workers
from backends.local._errors import mapped_errors
from backends.local._lock import ProcessLocks, default_lock_directory
from backends.local._probe import LocalProbe, probe_directory
from backends.local._publish import Publisher
from backends.local._tree import Names, Tree, open_regular
from backends.local._version import CHUNK_BYTES, content_identity, version_of
from backends.options import LocalOptions
from fs_core.cancellation import to_the_end
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import NotDirectory, NotRegularFile, Reason, StaleVersion, TooLarge, Unavailable
from fs_core.paths import Root, RootedPath, display, is_staged_name
from fs_core.protocol import Backend, Capabilities, Guard, Scanned, Sink
from fs_core.types import (
    Entry,
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

__all__ = ["LocalBackend", "open_local"]

UNSIZED_BYTES_MAX: Final = 64 << 20
CLOSE_TIMEOUT_S: Final = 10.0
_KINDS: Final = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.DIRECTORY}


async def open_local(path: Path, options: LocalOptions) -> "LocalBackend":
    """Open the directory `path` as a workspace.

    Raises:
        NotFound: it does not exist.
        NotDirectory: it is no directory.
        PermissionDenied: it may not be entered.
    """
    workers = Workers(concurrency_max=options.concurrency_max)

    def work(call: WorkerCall) -> Tree:
        call.check()
        with mapped_errors(str(path), "open"):
            if path.exists() and not path.is_dir():
                raise NotDirectory("the root of a workspace must be a directory", path=str(path), operation="open")
            return Tree(path)

    return LocalBackend(await workers.run(work), path=path, workers=workers, options=options)


class LocalBackend(Backend):
    """A directory of this machine.

    Creation is checked by the kernel. Replacement is checked under a lock that all processes of this user and library
    share; a foreign writer between check and publication is detected by exchanging the two files, and its content put
    back, where the kernel offers that (Linux: ext4, xfs, btrfs, tmpfs).
    """

    scheme: ClassVar[str] = "file"

    def __init__(self, tree: Tree, *, path: Path, workers: Workers, options: LocalOptions) -> None:
        self._tree = tree
        self._workers = workers
        self._options = options
        self._locks = ProcessLocks(options.lock_directory or default_lock_directory(), timeout_s=options.lock_timeout_s)
        self._publisher = Publisher(tree, locks=self._locks, lock_timeout_s=options.lock_timeout_s, fsync=options.fsync)
        given = str(path.absolute()).rstrip("/")
        real = str(tree.real).rstrip("/")
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

        def work(call: WorkerCall) -> Names:
            call.check()
            with mapped_errors(shown, "resolve"):
                return self._opened(shown).locate(path.names, path=shown)

        names = await self._workers.run(work)
        return Target(key=TargetKey(str(self._tree.real.joinpath(*names))), display_path=display(names))

    async def stat(self, target: Target) -> FileInfo | None:
        """Return what is there now, without following a link."""
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
        names = self._names(target)

        def work(call: WorkerCall) -> Snapshot:
            fd = self._open(target, names)
            try:
                with mapped_errors(target.display_path, "read"):
                    return _read(fd, target, offset=offset, limit=limit, pinned=pinned, call=call)
            finally:
                os.close(fd)

        return await self._workers.run(work)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the file through one descriptor, in one thread hop."""
        names = self._names(target)

        def work(call: WorkerCall) -> Scanned:
            fd = self._open(target, names)
            try:
                with mapped_errors(target.display_path, "read"):
                    return _scan(fd, target, sink, call)
            finally:
                os.close(fd)

        return await self._workers.run(work)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return the entries of a directory."""
        names = self._names(target)

        def work(call: WorkerCall) -> Listing:
            call.check()
            with mapped_errors(target.display_path, "list"):
                return self._list(target, names, limit)

        return await self._workers.run(work)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Stage beside the target, verify under the shared lock, publish with one rename."""
        names = self._names(target)
        if not names:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation="write")
        if len(data) > self._options.write_size_bytes_max:
            reason = f"{len(data)} bytes; at most {self._options.write_size_bytes_max} are written"
            raise TooLarge(reason, path=target.display_path, operation="write")

        def work(call: WorkerCall) -> WriteReceipt:
            self._opened(target.display_path)
            with mapped_errors(target.display_path, "write"):
                return self._publisher.write(names, data, condition, call=call, path=target.display_path)

        return await self._workers.run(work)

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

    def _opened(self, shown: str) -> Tree:
        if self._is_closed:
            raise Unavailable("the workspace is closed", path=shown, operation="open")
        return self._tree

    def _names(self, target: Target) -> Names:
        return Path(target.key).relative_to(self._tree.real).parts

    def _open(self, target: Target, names: Names) -> int:
        path = target.display_path
        if not names:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=path, operation="read")
        with (
            mapped_errors(path, "read"),
            self._opened(path).parent(names, path=path, operation="read") as parent,
        ):
            return open_regular(parent, names[-1], path=path, operation="read")

    def _stat(self, target: Target, names: Names) -> FileInfo | None:
        tree = self._opened(target.display_path)
        try:
            with tree.parent(names, path=target.display_path, operation="stat") as parent:
                status = os.stat(names[-1] if names else ".", dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), FileKind.OTHER)
        if kind is not FileKind.FILE:
            return FileInfo(kind)
        return FileInfo(kind, size_bytes=status.st_size, version=version_of(status))

    def _list(self, target: Target, names: Names, limit: int) -> Listing:
        with self._opened(target.display_path).parent(names, path=target.display_path, operation="list") as parent:
            name = names[-1] if names else "."
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=target.display_path, operation="list")
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            with os.scandir(fd) as found:
                entries = sorted(
                    (_entry(entry) for entry in found if not is_staged_name(entry.name)), key=lambda entry: entry.name
                )
        finally:
            os.close(fd)
        return Listing(entries=tuple(entries[:limit]), is_complete=len(entries) <= limit)


def _entry(entry: "os.DirEntry[str]") -> Entry:
    name = os.fsencode(entry.name).decode("utf-8", "replace")
    addressable = name == entry.name
    try:
        status = entry.stat()
    except OSError:  # a link to nothing or in a loop, or removed while the directory was listed
        return Entry(name, FileKind.OTHER, addressable=addressable)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), FileKind.OTHER)
    # The size of what a link leads to is told by a stat of that, if it is inside the root.
    size = status.st_size if kind is FileKind.FILE and not entry.is_symlink() else None
    return Entry(name, kind, size_bytes=size, addressable=addressable)


def _read(
    fd: int, target: Target, *, offset: int, limit: int | None, pinned: Version | None, call: WorkerCall
) -> Snapshot:
    status = os.fstat(fd)
    version = version_of(status)
    if pinned is not None and pinned != version:
        raise _changed(target)
    size = status.st_size or sum(len(piece) for piece in _unsized_pieces(fd, target, call))
    end = size if limit is None else min(size, offset + limit)
    data = b"".join(_pieces(fd, offset, end, call))
    if len(data) != max(0, end - offset) or content_identity(os.fstat(fd)) != content_identity(status):
        raise _changed(target)
    if offset == 0 and end == size:
        version = version_of(status, digest=content_digest(data))
    return Snapshot(data=data, offset=offset, size_bytes=size, version=version)


def _unsized_pieces(fd: int, target: Target, call: WorkerCall) -> Iterator[bytes]:
    """Yield a file that claims to be empty; those of /proc are not, and some of them never end."""
    size = 0
    for piece in _pieces(fd, 0, None, call):
        size += len(piece)
        if size > UNSIZED_BYTES_MAX:
            reason = f"tells no size and has more than {UNSIZED_BYTES_MAX} bytes"
            raise TooLarge(reason, path=target.display_path, operation="read")
        yield piece


def _pieces(fd: int, start: int, end: int | None, call: WorkerCall) -> Iterator[bytes]:
    position = start
    while end is None or position < end:
        call.check()
        piece = os.pread(fd, CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - position), position)
        if not piece:
            return
        yield piece
        position += len(piece)


def _scan(fd: int, target: Target, sink: Sink, call: WorkerCall) -> Scanned:
    status = os.fstat(fd)
    hasher = ContentHasher()
    size = 0
    is_sized = status.st_size > 0
    for piece in _pieces(fd, 0, status.st_size, call) if is_sized else _unsized_pieces(fd, target, call):
        hasher.update(piece)
        sink(piece)
        size += len(piece)
    if content_identity(os.fstat(fd)) != content_identity(status):
        raise _changed(target)
    return Scanned(size_bytes=size, version=version_of(status, digest=hasher.digest()))


def _changed(target: Target) -> StaleVersion:
    return StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)
