"""Reading an open file: a part, the whole, or piece by piece; what is returned is of one version."""

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from backends._workers import WorkerCall
from backends.local._kernel import prefer_huge_pages
from backends.local._tree import Opened
from backends.local._version import CHUNK_BYTES, content_identity, version_of
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import Reason, StaleVersion, TooLarge
from fs_core.protocol import Scanned, Sink, too_large
from fs_core.types import Digest, Snapshot, Target, Version

__all__ = ["PIECE_BYTES", "UNSIZED_BYTES_MAX", "read_part", "read_whole", "scan"]

UNSIZED_BYTES_MAX: Final = 64 << 20
PIECE_BYTES: Final = 64 << 10
"""What a scan feeds at once, which is what a text scanner counts at once; it stays in the cache of the core."""

_READ_ONCE_BYTES: Final = 256 << 10
_PIECES_AT_ONCE: Final = 2
"""Measured: one read for two pieces is faster than for one, and four are no faster."""


def read_part(
    opened: Opened, target: Target, *, offset: int, limit: int | None, pinned: Version | None, call: WorkerCall
) -> Snapshot:
    """Return up to `limit` bytes from `offset`; up to a chunk they take one read.

    Raises:
        StaleVersion: the file has not the version `pinned`, or changed while it was read.
        TooLarge: it tells no size and does not end.
    """
    fd, status = opened
    version = version_of(status)
    if pinned is not None and pinned != version:
        raise _changed(target)
    size = status.st_size or sum(len(piece) for piece in _unsized_pieces(fd, target, call))
    end = size if limit is None else min(size, offset + limit)
    data = b"".join(_pieces(fd, offset, end, call))
    if len(data) != max(0, end - offset):
        raise _changed(target)
    _ensure_unchanged(opened, target)
    if offset == 0 and end == size:
        version = replace(version, digest=content_digest(data))
    return Snapshot(data=data, offset=offset, size_bytes=size, version=version)


def read_whole(opened: Opened, target: Target, *, size_bytes_max: int, call: WorkerCall) -> Snapshot:
    """Return the whole file, held once.

    Raises:
        TooLarge: it has more than `size_bytes_max`.
        StaleVersion: it changed while it was read.
    """
    fd, status = opened
    version = version_of(status)  # before it is read: what changes meanwhile may have the same time
    if status.st_size > size_bytes_max:
        raise too_large(target, status.st_size, size_bytes_max)
    if status.st_size == 0:
        data = b"".join(_unsized_pieces(fd, target, call))
        if len(data) > size_bytes_max:
            raise too_large(target, len(data), size_bytes_max)
        digest = content_digest(data)
    else:
        data, digest = _read_once(fd, target, status.st_size, call)
    _ensure_unchanged(opened, target)
    return Snapshot(data=data, offset=0, size_bytes=len(data), version=replace(version, digest=digest))


def scan(opened: Opened, target: Target, sink: Sink, call: WorkerCall) -> Scanned:
    """Feed the file to `sink`, in the same buffers again and again; all pieces but the last are `PIECE_BYTES` long.

    Raises:
        StaleVersion: it changed meanwhile.
        TooLarge: it tells no size and does not end.
    """
    fd, status = opened
    version = version_of(status)
    hasher = ContentHasher()
    size = 0
    is_sized = status.st_size > 0
    for piece in _reused_pieces(fd, status.st_size, call) if is_sized else _unsized_pieces(fd, target, call):
        hasher.update(piece)
        sink(piece)
        size += len(piece)
    if is_sized and size != status.st_size:
        raise _changed(target)
    _ensure_unchanged(opened, target)
    return Scanned(size_bytes=size, version=replace(version, digest=hasher.digest()))


def _read_once(fd: int, target: Target, size: int, call: WorkerCall) -> tuple[bytes, Digest]:
    """Read straight into what is returned, as joining pieces would hold the content twice for a while."""
    hasher = ContentHasher()
    buffer = io.BytesIO(bytes(size))
    with buffer.getbuffer() as view:
        prefer_huge_pages(view)
        position = 0
        while position < size:
            call.check()
            with view[position : position + _READ_ONCE_BYTES] as part:
                count = os.preadv(fd, [part], position)
                hasher.update(part[:count])
            if not count:
                raise _changed(target)
            position += count
    return buffer.getvalue(), hasher.digest()


def _reused_pieces(fd: int, size: int, call: WorkerCall) -> Iterator[bytes | bytearray]:
    if size <= PIECE_BYTES:
        yield from _pieces(fd, 0, size, call)
        return
    buffers = [bytearray(PIECE_BYTES) for _ in range(_PIECES_AT_ONCE)]
    position = 0
    while position < size:
        call.check()
        count = _fill(fd, buffers, position, min(PIECE_BYTES * _PIECES_AT_ONCE, size - position))
        if not count:
            return
        whole, rest = divmod(count, PIECE_BYTES)
        yield from buffers[:whole]
        if rest:
            yield buffers[whole][:rest]
        position += count


def _fill(fd: int, buffers: list[bytearray], position: int, wanted: int) -> int:
    """Fill the buffers from `position`; return how many bytes there are, fewer than `wanted` only at a new end."""
    count = os.preadv(fd, buffers, position)
    while 0 < count < wanted:
        index, start = divmod(count, PIECE_BYTES)
        more = os.preadv(fd, [memoryview(buffers[index])[start:], *buffers[index + 1 :]], position + count)
        if not more:
            break
        count += more
    return min(count, wanted)


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


def _ensure_unchanged(opened: Opened, target: Target) -> None:
    if content_identity(os.fstat(opened.fd)) != content_identity(opened.status):
        raise _changed(target)


def _changed(target: Target) -> StaleVersion:
    return StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)
