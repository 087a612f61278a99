"""What the kernel has in memory, on the caller's own thread: it is there sooner than a worker thread begins.

Nothing here waits for a disk or a server; what would have to wait, or fails, is `None`, and is asked for again in a
worker thread, which waits, and tells why it fails. A program that intercepts opening, such as a virus scanner, is
waited for all the same.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from backends.local._kernel import READ_CACHED, lacks_cached, open_cached, opens_cached
from backends.local._tree import Tree
from backends.local._version import content_identity, version_of
from fs_core.digest import content_digest
from fs_core.types import Snapshot, Version

__all__ = ["SPAN_BYTES_MAX", "CachedTree"]

T = TypeVar("T")

SPAN_BYTES_MAX: Final = 256 << 10
"""What is read without a thread: copying and hashing more would keep the other tasks waiting."""

_LOOK: Final = getattr(os, "O_PATH", 0) | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class CachedTree:
    """The part of a tree that is in memory. Paths are below its root, without `.`, `..` and empty names."""

    def __init__(self, tree: Tree) -> None:
        """Look what `tree` is on, which may wait for that."""
        self._tree = tree
        root = tree.enter(path=".", operation="open")
        try:
            self._is_able = READ_CACHED != 0 and opens_cached(root)
        finally:
            os.close(root)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of what `path` leads to; no part of it is a link."""
        with suppress(OSError):
            return self._on_opened(path, _LOOK, os.fstat)
        return None

    def read(self, path: str, *, offset: int, limit: int | None, pinned: Version | None) -> Snapshot | None:
        """Return up to `SPAN_BYTES_MAX` of a regular file that has the version `pinned`, if one is given."""
        # Looked at before it is opened, since opening a device can have effects; and again on the descriptor.
        looked = self.status(path)
        if looked is None or _span_bytes(looked, offset, limit) is None:
            return None
        with suppress(OSError):
            return self._on_opened(path, _READ, lambda fd: _read(fd, offset=offset, limit=limit, pinned=pinned))
        return None

    def _on_opened(self, path: str, flags: int, work: Callable[[int], T | None]) -> T | None:
        if not self._is_able:
            return None
        root = self._tree.enter(path=path, operation="open")
        try:
            fd = open_cached(root, path, flags)
        finally:
            os.close(root)
        if fd is None:
            return None
        try:
            return work(fd)
        finally:
            os.close(fd)


def _read(fd: int, *, offset: int, limit: int | None, pinned: Version | None) -> Snapshot | None:
    """Return a span of an open file, if all of it is in memory and stayed as it was."""
    status = os.fstat(fd)
    version = version_of(status)
    span_bytes = _span_bytes(status, offset, limit)
    if span_bytes is None or (pinned is not None and pinned != version) or lacks_cached(fd, offset, span_bytes):
        return None
    buffer = bytearray(span_bytes)
    count = os.preadv(fd, [buffer], offset, READ_CACHED)
    if count != span_bytes or content_identity(os.fstat(fd)) != content_identity(status):
        return None
    data = bytes(buffer)
    if span_bytes == status.st_size:
        version = replace(version, digest=content_digest(data))
    return Snapshot(data=data, offset=offset, size_bytes=status.st_size, version=version)


def _span_bytes(status: os.stat_result, offset: int, limit: int | None) -> int | None:
    """Return how much of a regular file is to be read, if that is not too much.

    A file that tells no size is none of these: it may have content all the same.
    """
    rest = status.st_size - offset
    span_bytes = rest if limit is None else min(rest, limit)
    return span_bytes if stat.S_ISREG(status.st_mode) and 0 < span_bytes <= SPAN_BYTES_MAX else None
