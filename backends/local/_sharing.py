"""Blocks that an edited file shares with the old one, on file systems that can: btrfs, xfs and some others.

What is shared is neither read nor written, so that an edit near the end of a large file costs next to nothing.
Elsewhere everything is written from memory, which is faster than `copy_file_range` (measured on ext4 and tmpfs).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from backends._workers import WorkerCall
from backends.local._kernel import share_blocks
from fs_core.splice import Splice

__all__ = ["Shared", "share"]

_BLOCK_BYTES: Final = 64 << 10
"""The largest block of common file systems; most have 4 KiB."""

_SHARED_BYTES_MIN: Final = 1 << 20
_COMPARED_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Shared:
    """`size_bytes` from `start` of the old content, which stand from `to` in the new one."""

    start: int
    to: int
    size_bytes: int


def share(old: int, new: int, content: Splice, *, call: WorkerCall) -> tuple[Shared, ...]:
    """Have the empty file `new` share what `content` keeps of the file `old`; return what is shared, maybe nothing.

    That the old file holds what `content.before` says is not believed but compared, after it is shared: nobody's later
    write changes what is shared, and an earlier one is found.
    """
    done: list[Shared] = []
    for part in _shareable(content):
        if not share_blocks(old, new, start=part.start, to=part.to, size_bytes=part.size_bytes):
            break
        done.append(part)
    view = memoryview(content.before)
    if all(_holds(old, part.start, view[part.start : part.start + part.size_bytes], call) for part in done):
        return tuple(done)
    os.ftruncate(new, 0)
    return ()


def _shareable(content: Splice) -> Iterator[Shared]:
    to = 0
    for (start, end), replacement in zip_longest(content.kept(), content.replacements):
        head = -start % _BLOCK_BYTES
        size = (end - start - head) // _BLOCK_BYTES * _BLOCK_BYTES
        if size >= _SHARED_BYTES_MIN and (to - start) % _BLOCK_BYTES == 0:
            yield Shared(start + head, to + head, size)
        to += end - start + (len(replacement.data) if replacement else 0)


def _holds(fd: int, start: int, expected: memoryview, call: WorkerCall) -> bool:
    buffer = bytearray(_COMPARED_BYTES)
    position = 0
    while position < len(expected):
        call.check()
        count = os.preadv(fd, [buffer], start + position)
        rest = expected[position : position + count]
        if not count or not buffer.startswith(rest):
            return False
        position += len(rest)
    return True
