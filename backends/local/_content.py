"""A new content on its way into an open file."""

import errno
import os
from collections.abc import Iterator, Sequence
from typing import Final

from backends.local._sharing import Shared
from fs_core.digest import ContentHasher
from fs_core.splice import Splice

__all__ = ["overwrite", "reserve", "written"]

_WRITE_BYTES: Final = 64 << 10
"""How much is written at once; smaller pieces are joined, so that many small replacements do not make as many writes.

Measured with Linux 6.18 on ext4 beside other work: 200 MB with flush take 0.8 of the time of `cp` in steps of 64 KiB,
2.0 in steps of 1 MiB and 5.5 in steps of 4 MiB, for which the page cache looks for as large a piece of memory.
"""


def written(
    fd: int, content: Splice, *, shared: Sequence[Shared] = (), hasher: ContentHasher | None = None
) -> Iterator[int]:
    """Write `content` where a descriptor stands; before each step and at the end give how much is written.

    What is `shared` with the old file is there already. `hasher` takes all of the content, each step just before it is
    written: fetched from memory once for both, hashing costs next to nothing.
    """
    position = 0
    yield position
    for data, is_there in _steps(content, shared):
        if hasher is not None:
            hasher.update(data)
        if is_there:
            position = os.lseek(fd, len(data), os.SEEK_CUR)
            yield position
            continue
        view = memoryview(data)
        while view:
            count = os.write(fd, view)
            view = view[count:]
            position += count
            yield position


def reserve(fd: int, size_bytes: int) -> None:
    """Have the disk refuse a larger content now, while the old one is still whole."""
    old_bytes = os.fstat(fd).st_size
    if size_bytes <= old_bytes or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, old_bytes, size_bytes - old_bytes)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}:
            os.ftruncate(fd, old_bytes)
            raise


def overwrite(fd: int, content: Splice) -> os.stat_result:
    """Overwrite a file that was just opened, flush it and return its status."""
    for _ in written(fd, content):
        pass
    os.ftruncate(fd, content.size_bytes)
    os.fsync(fd)
    return os.fstat(fd)


def _steps(content: Splice, shared: Sequence[Shared]) -> Iterator[tuple[bytes | memoryview, bool]]:
    """Yield the content in order, and whether it is `shared`: large pieces cut, small ones joined."""
    small: list[memoryview] = []
    size = 0
    for piece, is_there in _pieces_around(content, shared):
        is_small = not is_there and len(piece) < _WRITE_BYTES
        if is_small:
            small.append(piece)
            size += len(piece)
            if size < _WRITE_BYTES:
                continue
        if small:
            yield b"".join(small), False
            small, size = [], 0
        if not is_small:
            yield from ((piece[start : start + _WRITE_BYTES], is_there) for start in range(0, len(piece), _WRITE_BYTES))
    if small:
        yield b"".join(small), False


def _pieces_around(content: Splice, shared: Sequence[Shared]) -> Iterator[tuple[memoryview, bool]]:
    """Yield the pieces in order, what is shared as a piece by itself."""
    waiting = list(reversed(shared))
    position = 0
    for piece in content.pieces():
        end = position + len(piece)
        if waiting and waiting[-1].to < end:
            part = waiting.pop()
            first, last = part.to - position, part.to + part.size_bytes - position
            yield piece[:first], False
            yield piece[first:last], True
            yield piece[last:], False
        else:
            yield piece, False
        position = end
