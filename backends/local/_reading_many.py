"""The contents of several small files, one after another; each is of one version or refused."""

import os
import stat
from collections.abc import Sequence
from typing import Final, NamedTuple

from backends._workers import WorkerCall
from backends.local._errors import refusal_of_one
from backends.local._reading import read_whole
from backends.local._tree import directory_below, open_regular, opened_regular, regular_or_refuse
from backends.local._version import content_identity
from fs_core.errors import FsError, Reason, StaleVersion
from fs_core.protocol import FileSink, too_large
from fs_core.types import Target

__all__ = ["Located", "read_files"]

_AT_ONCE_BYTES: Final = 1 << 20
"""Up to this size a file is read in one step, which a cancellation waits for."""

_ATTEMPTS: Final = 3
"""A file that somebody writes to all the time, such as a log, is hardly ever seen to change three times in a row."""


class Located(NamedTuple):
    """A file to be read, and where it is below the root. The root itself has no name."""

    target: Target
    directory: str
    name: str


def read_files(
    root: int, files: Sequence[Located], sink: FileSink, *, size_bytes_max: int, call: WorkerCall
) -> list[FsError | None]:
    """Feed files below an open root to `sink`, those of a directory together; return what kept each from it.

    Raises:
        Unavailable: none can be read.
    """
    refusals: list[FsError | None] = [None] * len(files)
    entered = _Entered(root)
    try:
        for index in sorted(range(len(files)), key=lambda index: files[index].directory):
            call.check()
            target, directory, name = files[index]
            try:
                parent = entered.at(directory, path=target.display_path)
                content = _content(parent, name, target, size_bytes_max=size_bytes_max, call=call)
            except (OSError, FsError) as error:
                refusals[index] = refusal_of_one(error, path=target.display_path, operation="read")
            else:
                sink(index, content)
    finally:
        entered.close()
    return refusals


class _Entered:
    """The directory that files are read from at the moment."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._directory = ""
        self._fd: int | None = None

    def at(self, directory: str, *, path: str) -> int:
        """Return a descriptor of `directory` that is good until the next call."""
        if self._fd is None or directory != self._directory:
            self.close()
            self._fd = directory_below(self._root, directory, path=path, operation="read")
            self._directory = directory
        return self._fd

    def close(self) -> None:
        """Release it."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _content(parent: int, name: str, target: Target, *, size_bytes_max: int, call: WorkerCall) -> bytes:
    """Return a content that the file had at one time.

    Raises:
        StaleVersion: it changed again and again while it was read.
        TooLarge: it has more than `size_bytes_max`.
    """
    for _ in range(_ATTEMPTS):
        before = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
        size = before.st_size
        if not stat.S_ISREG(before.st_mode):
            regular_or_refuse(before, path=target.display_path, operation="read")
        if size > size_bytes_max:
            raise too_large(target, size, size_bytes_max)
        if not 0 < size <= _AT_ONCE_BYTES:
            content = _long_content(parent, name, target, size_bytes_max=size_bytes_max, call=call)
            if content is not None:
                return content
            continue
        fd = open_regular(parent, name, path=target.display_path, operation="read")
        try:
            content = os.read(fd, size)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        # What has the same inode, size and time is the regular file that was looked at before.
        if len(content) == size and content_identity(after) == content_identity(before):
            return content
    raise StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)


def _long_content(parent: int, name: str, target: Target, *, size_bytes_max: int, call: WorkerCall) -> bytes | None:
    """Return a content piece by piece, also of a file that tells no size, or nothing if it changed meanwhile."""
    with opened_regular(parent, name, path=target.display_path, operation="read") as opened:
        try:
            return read_whole(opened, target, size_bytes_max=size_bytes_max, call=call).data
        except StaleVersion:
            return None
