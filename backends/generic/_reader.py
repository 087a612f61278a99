"""Reading one file of an fsspec store consistently: one version from the first byte to the last. Blocking."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from backends.generic._detached import Attempt
from backends.generic._store import FsspecStore, Look
from backends.generic._versions import Evidence
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import IoFault, NotRegularFile, StaleVersion, TooLarge
from fs_core.protocol import Scanned, Sink
from fs_core.types import FileKind, Snapshot, Version

__all__ = ["FileReader"]

ATTEMPTS_MAX: Final = 3
"""How often a read starts again because the file changed under it."""


@dataclass(frozen=True, slots=True)
class FileReader:
    """One file of one store, for the time of one call. At most `size_bytes_max` bytes are read."""

    store: FsspecStore
    attempt: Attempt
    names: tuple[str, ...]
    display_path: str
    size_bytes_max: int

    def snapshot(self, *, offset: int, limit: int | None, pinned: Version | None) -> Snapshot:
        """Return bytes and the version that stood before and after they were read.

        Raises:
            NotFound, NotRegularFile, TooLarge, StaleVersion: see `Backend.read`.
            IoFault: fewer bytes came than the store announced.
        """
        for _ in range(ATTEMPTS_MAX):
            before = self._regular()
            snapshot = self._read(before, offset=offset, limit=limit)
            if pinned is not None and not _is_same(pinned, snapshot.version):
                reason = "changed since its first part was read"
                raise StaleVersion(reason, path=self.display_path, operation="read")
            if self._regular().stamp == before.stamp:
                return snapshot
        raise self._changing()

    def scan(self, sink: Sink) -> Scanned:
        """Feed the whole file to `sink` in one pass."""
        before = self._regular()
        hasher = ContentHasher()

        def take(piece: bytes) -> None:
            hasher.update(piece)
            self.attempt.deliver(partial(sink, piece))

        size_bytes = self._stream(before, take)
        if self._regular().stamp != before.stamp:
            raise self._changing()
        return Scanned(size_bytes=size_bytes, version=before.stamp.version(hasher.digest()))

    def _read(self, seen: Look, *, offset: int, limit: int | None) -> Snapshot:
        size_bytes = seen.size_bytes
        if size_bytes is None or seen.stamp.evidence is Evidence.NONE:
            return self._cut_from_whole(seen, offset=offset, limit=limit)
        available = max(0, size_bytes - offset)
        wanted = available if limit is None else min(limit, available)
        if wanted == size_bytes:
            return self._cut_from_whole(seen, offset=offset, limit=None)
        if wanted > self.size_bytes_max:
            raise self._too_large(wanted)
        data = b""
        if wanted:
            data = self.store.read_range(self.names, self.attempt, offset=offset, limit=wanted, size_bytes=size_bytes)
        if len(data) != wanted:
            raise self._torn(got=len(data), announced=wanted)
        return Snapshot(data=data, offset=offset, size_bytes=size_bytes, version=seen.stamp.version())

    def _cut_from_whole(self, seen: Look, *, offset: int, limit: int | None) -> Snapshot:
        """Read to where the bytes end, whatever was announced, and cut what is wanted out of them."""
        pieces: list[bytes] = []
        self._stream(seen, pieces.append)
        data = b"".join(pieces)
        return Snapshot(
            data=data[offset : None if limit is None else offset + limit],
            offset=offset,
            size_bytes=len(data),
            version=seen.stamp.version(content_digest(data)),
        )

    def _stream(self, seen: Look, sink: Callable[[bytes], None]) -> int:
        """Feed the whole file to `sink` and return its length."""
        if seen.size_bytes is not None and seen.size_bytes > self.size_bytes_max:
            raise self._too_large(seen.size_bytes)
        total = 0
        with closing(self.store.stream(self.names, self.attempt, size_bytes_max=self.size_bytes_max)) as pieces:
            for piece in pieces:
                total += len(piece)
                sink(piece)
        if seen.size_bytes is not None and total < seen.size_bytes:
            raise self._torn(got=total, announced=seen.size_bytes)
        return total

    def _regular(self) -> Look:
        look = self.store.look(self.names, "read")
        self.attempt.progress()
        if look.kind is FileKind.FILE:
            return look
        what = "is a directory" if look.kind is FileKind.DIRECTORY else "is no regular file"
        raise NotRegularFile(what, path=self.display_path, operation="read")

    def _changing(self) -> StaleVersion:
        return StaleVersion("changed while it was read", path=self.display_path, operation="read", retryable=True)

    def _too_large(self, size_bytes: int) -> TooLarge:
        reason = f"{size_bytes} bytes would be read; at most {self.size_bytes_max} are from this store"
        return TooLarge(reason, path=self.display_path, operation="read")

    def _torn(self, *, got: int, announced: int) -> IoFault:
        reason = f"the store announced {announced} bytes and sent {got}"
        return IoFault(reason, path=self.display_path, operation="read", retryable=True)


def _is_same(pinned: Version, now: Version) -> bool:
    same = pinned.same_content(now)
    return pinned == now if same is None else same
