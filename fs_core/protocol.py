"""What a store must promise so that the seam can stand on it.

A backend knows names, metadata and bytes. It knows nothing of text, lines, edits or of who read what: that is
`fs_core.filesystem`, once for all stores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from fs_core.digest import ContentHasher
from fs_core.errors import Reason, StaleVersion, TooLarge
from fs_core.paths import Root, RootedPath
from fs_core.splice import Splice
from fs_core.types import FileInfo, IfVersion, Listing, Snapshot, Target, Version, WriteCondition, WriteReceipt

__all__ = ["SCAN_CHUNK_BYTES", "Backend", "Capabilities", "Guard", "Scanned", "Sink", "too_large"]

READ_FIRST_BYTES: Final = 8 << 20
SCAN_CHUNK_BYTES: Final = 1 << 20

Sink = Callable[[bytes | bytearray], None]
"""Takes the next piece of a file, whose bytes hold only until it returns: the next piece may come in the same buffer.

May run in a worker thread; calls never overlap. What it raises ends the scan.
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


def too_large(target: Target, size_bytes: int, size_bytes_max: int) -> TooLarge:
    """Return the refusal to hold a file as a whole."""
    reason = f"has {size_bytes} bytes; at most {size_bytes_max} are edited"
    return TooLarge(reason, path=target.display_path, operation="edit")
