"""Versions of local files: metadata as the token, content as the evidence."""

import os
import time
from collections.abc import Callable
from typing import Final

from fs_core.digest import ContentHasher
from fs_core.types import Digest, Version

__all__ = ["CHUNK_BYTES", "content_identity", "digest_of", "has_size_of", "version_of"]

CHUNK_BYTES: Final = 1 << 20
_TICK_NS: Final = 50_000_000
"""More than the coarsest kernel tick, 10 ms at 100 Hz. Time stamps are finer from Linux 6.13 on, not everywhere."""

_WHOLE_SECOND_TICK_NS: Final = 2_100_000_000
"""For file systems that store whole seconds, or two of them (FAT)."""


def version_of(status: os.stat_result, *, digest: Digest | None = None) -> Version:
    """Return the version that `status` tells of.

    It is settled when the file was last changed long enough ago for any later change to get another time stamp.
    """
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    tick_ns = _WHOLE_SECOND_TICK_NS if status.st_mtime_ns % 1_000_000_000 == 0 else _TICK_NS
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Version(
        token="-".join(f"{part:x}" for part in parts),
        digest=digest,
        settled=time.time_ns() - changed_ns > tick_ns,
    )


def has_size_of(status: os.stat_result, version: Version) -> bool:
    """Tell whether a file is as long as the one that a version made here is of."""
    return version.token.split("-", 3)[2:3] == [f"{status.st_size:x}"]


def digest_of(fd: int, *, on_piece: Callable[[], None]) -> Digest:
    """Return the digest of an open file's content, read from its start; what `on_piece` raises ends that."""
    hasher = ContentHasher()
    position = 0
    while piece := os.pread(fd, CHUNK_BYTES, position):
        on_piece()
        hasher.update(piece)
        position += len(piece)
    return hasher.digest()


def content_identity(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return what stays the same of a file as long as nobody writes to it: a rename moves its change time."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
