"""What a store must promise so that the seam can stand on it.

A backend knows names, metadata and bytes. It knows nothing of text, lines, edits or of who read what: that is
`fs_core.filesystem`, once for all stores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from fs_core.digest import ContentHasher
from fs_core.errors import FsError, Reason, StaleVersion, TooLarge, Unavailable, Unsupported
from fs_core.paths import Root, RootedPath
from fs_core.splice import Splice
from fs_core.types import (
    Below,
    Entry,
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

__all__ = [
    "SCAN_CHUNK_BYTES",
    "Backend",
    "Bulk",
    "Capabilities",
    "FileSink",
    "Guard",
    "Scanned",
    "Sink",
    "level_of",
    "too_large",
]

READ_FIRST_BYTES: Final = 8 << 20
SCAN_CHUNK_BYTES: Final = 1 << 20

Sink = Callable[[bytes | bytearray], None]
"""Takes the next piece of a file, whose bytes hold only until it returns: the next piece may come in the same buffer.

May run in a worker thread; calls never overlap. What it raises ends the scan.
"""

FileSink = Callable[[int, bytes], None]
"""Takes the whole content of one of several files, with its position among those that were asked for.

May run in a worker thread; calls of one operation never overlap, and come in any order. What it raises ends the
operation.
"""


class Guard(StrEnum):
    """Who refuses a write whose condition does not hold.

    `NATIVE`: the store itself, atomically, against every writer. `CHECKED`: we look again under a lock that all
    clients of this library share, just before publishing; a foreign writer has a narrow window, stated per backend.
    `NONE`: such a write is refused as unsupported.
    """

    NATIVE = "native"
    CHECKED = "checked"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one opened store can do. `create` is for `IfAbsent`, `replace` for `IfVersion`."""

    create: Guard
    replace: Guard
    write_size_bytes_max: int


@dataclass(frozen=True, slots=True)
class Bulk:
    """How a store likes to be asked about many files: so much in one call, and so many calls side by side."""

    directories: int = 16
    files: int = 16
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Scanned:
    """The end of a scan: how long the file is and which version was seen, digest included."""

    size_bytes: int
    version: Version


class Backend(ABC):
    """A store of bytes under names, confined to one root.

    Obligations of every implementation:

    * Only `FsError` leaves a method; foreign exceptions are mapped in one place and chained. Cancellation passes.
    * Only regular files are read or written, decided without ever blocking on a FIFO or device (`NotRegularFile`).
    * Every operation is bounded in time (`Unavailable`), in concurrency and in bytes held.
    * Cancelling before the publish point leaves the old file and no residue; after it the outcome is awaited.
    * Methods may be called concurrently. They run under asyncio, and under trio unless the class says otherwise.

    Callers hold the target's lock (`fs_core.locks`) around a read that decides about a write, and that write.
    """

    scheme: ClassVar[str]
    bulk: ClassVar[Bulk] = Bulk()

    @property
    def lists_below(self) -> bool:
        """Return whether `list_below` is offered, for which a subtree costs what its names cost, however deep it is."""
        return False

    @property
    def lists_in_order(self) -> bool:
        """Return whether `list_below` tells paths in the order of their bytes, as far as is known by now.

        Stores differ in this, and what they tell shows it: each part of a listing is evidence, for this store and for
        the life of this process. What is false stays so.
        """
        return False

    @property
    @abstractmethod
    def root(self) -> Root:
        """Return where this workspace begins."""

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Return what this store can do, as far as it is known by now."""

    @abstractmethod
    async def resolve(self, path: RootedPath) -> Target:
        """Return the identity of the file at `path`, existing or not, with links followed.

        Raises:
            SandboxDenied: a link leads out of the root.
            InvalidPath: over-long name or link loop.
            NotFound: the path goes through a regular file.
        """

    @abstractmethod
    async def stat(self, target: Target) -> FileInfo | None:
        """Return fresh metadata, never from a cache; `None` only when absence is confirmed."""

    @abstractmethod
    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Return up to `limit` bytes from `offset`, with the version and size of the same read.

        All bytes up to `limit` or the end of the file are returned, never fewer. An `offset` past the end gives no
        bytes. The version carries a digest if the snapshot is whole. With `pinned` the bytes are of that version, as
        far as its token tells: of a version that is not `settled` a part may be of a later content.

        Raises:
            NotFound: nothing is there.
            NotRegularFile: no regular file is there.
            StaleVersion: the file no longer has the version `pinned`, or changed while it was read.
        """

    @abstractmethod
    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return up to `limit` entries of a directory, sorted by name, without staged files.

        Raises:
            NotFound: nothing is there.
            NotDirectory: something else than a directory is there.
        """

    @abstractmethod
    def child(self, directory: Target, name: str) -> Target:
        """Return the target of what a listing of `directory` called `name`, without asking the store.

        `name` is addressable and no link, so this is what `resolve` would give.
        """

    @abstractmethod
    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Publish `data` as the file's whole content, atomically, if `condition` holds; make missing parents.

        A reader sees the old bytes or the new bytes at every instant. Metadata of a replaced file is kept; what
        cannot be kept is a note of the receipt. After a failure the workspace is as before, parents included.

        Raises:
            StaleVersion: `condition` does not hold: something exists (`IfAbsent`), or the content is another one or
                gone (`IfVersion`).
            NotRegularFile: no regular file is there.
            NotFound: a parent is a regular file.
            TooLarge: more than `Capabilities.write_size_bytes_max`.
            Unsupported: the store cannot guard such a write.
            OutcomeUnknown: the write may have happened and the store could not be asked.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Release everything; idempotent. Nothing is left running afterwards."""

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Return the whole file; one that is too large is found out before its content is held.

        This implementation takes a second read for what is larger than `READ_FIRST_BYTES`; a store that tells the
        size before it sends the content overrides it.

        Raises:
            TooLarge: the file has more than `size_bytes_max`.
            NotFound, NotRegularFile, StaleVersion: as `read`.
        """
        snapshot = await self.read(target, limit=min(size_bytes_max, READ_FIRST_BYTES))
        if not snapshot.is_whole and snapshot.size_bytes <= size_bytes_max:
            snapshot = await self.read(target, limit=size_bytes_max, pinned=snapshot.version)
        if snapshot.size_bytes > size_bytes_max:
            raise too_large(target, snapshot.size_bytes, size_bytes_max)
        if not snapshot.is_whole:
            raise StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)
        return snapshot

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        """Publish the content that `splice` makes of `splice.before`, the content of the version in `condition`.

        As `write` in every other respect; a store that can copy what stays by itself, or send it from where it is,
        overrides this. The old bytes are those of `splice.before`, whatever the file holds meanwhile.

        Raises:
            StaleVersion, TooLarge and others: as `write`.
        """
        return await self.write(target, splice.joined(), condition=condition)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Feed the whole file to `sink` in order, all pieces of one version, in bounded memory.

        This implementation pins ranged reads to the version of the first; a store with open handles overrides it.

        Raises:
            NotFound, NotRegularFile: as `read`.
            StaleVersion: the file changed meanwhile; start again with a fresh sink.
        """
        hasher = ContentHasher()
        piece = await self.read(target, limit=SCAN_CHUNK_BYTES)
        version, position = piece.version, 0
        while True:
            hasher.update(piece.data)
            sink(piece.data)
            position += len(piece.data)
            if position >= piece.size_bytes:
                return Scanned(size_bytes=position, version=replace(version, digest=hasher.digest()))
            piece = await self.read(target, offset=position, limit=SCAN_CHUNK_BYTES, pinned=version)

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        """Return the names in each of several directories, or why they cannot be told, in the same order.

        Of a directory with more than `entries_max` names the first ones are told. Staged files are left out. Only
        what concerns the store as a whole is raised. This implementation lists one after another.

        Raises:
            Unavailable: the store cannot be asked.
        """
        del with_sizes  # a listing has them anyway
        return [await self._level(directory, entries_max=entries_max) for directory in directories]

    async def _level(self, directory: Target, *, entries_max: int) -> Level | FsError:
        try:
            listing = await self.list(directory, limit=entries_max)
        except FsError as error:
            if isinstance(error, Unavailable):
                raise
            return error
        return level_of(listing.entries, is_complete=listing.is_complete)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """Feed every file of at most `size_bytes_max` whole to `sink`; return what kept each from it, if anything.

        At most a few contents are held at once. Only what concerns the store as a whole is raised. This
        implementation reads one after another.

        Raises:
            Unavailable: the store cannot be asked.
        """
        refusals: list[FsError | None] = []
        for index, file in enumerate(files):
            try:
                snapshot = await self.read_whole(file, size_bytes_max=size_bytes_max)
            except Unavailable:
                raise
            except FsError as error:
                refusals.append(error)
            else:
                sink(index, snapshot.data)
                refusals.append(None)
        return refusals

    async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
        """Return the next files below `directory` at any depth, if `lists_below`.

        `resume` is that of the answer before. `after` begins behind the path of a directory instead, and behind all
        paths below it, so that a subtree can be passed over.

        Raises:
            NotFound, NotDirectory: as `list`, when the first part is asked for.
            Unsupported: the store does not offer it, or cannot begin behind a path.
        """
        del resume, after
        raise Unsupported("lists one directory at a time", path=directory.display_path, operation="list")


def level_of(entries: Sequence[Entry], *, is_complete: bool) -> Level:
    """Return sorted entries as a walk wants them, no link looked through."""
    plain = [entry for entry in entries if entry.addressable and not entry.is_link]
    files = [entry for entry in plain if entry.kind is FileKind.FILE]
    return Level(
        files=[entry.name for entry in files],
        sizes=[entry.size_bytes for entry in files],
        directories=[entry.name for entry in plain if entry.kind is FileKind.DIRECTORY],
        others=[e for e in entries if e.is_link or not e.addressable or e.kind is FileKind.OTHER],
        is_complete=is_complete,
    )


def too_large(target: Target, size_bytes: int, size_bytes_max: int) -> TooLarge:
    """Return the refusal to hold a file as a whole."""
    reason = f"has {size_bytes} bytes; at most {size_bytes_max} are held at once"
    return TooLarge(reason, path=target.display_path, operation="read")
