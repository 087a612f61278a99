"""The contents of several small files, one after another; each is of one version or refused."""

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Final

from backends._workers import WorkerCall
from backends.local._errors import refusal_of_one
from backends.local._reading import read_whole
from backends.local._tree import directory_below, opened_regular
from backends.local._version import content_identity
from fs_core.errors import FsError, Reason, StaleVersion
from fs_core.protocol import FileSink
from fs_core.types import Target

__all__ = ["read_files"]

_AT_ONCE_BYTES: Final = 1 << 20
"""Up to this size a file is read in one step, which a cancellation waits for."""

_ATTEMPTS: Final = 3
"""A file that somebody writes to all the time, such as a log, is hardly ever seen to change three times in a row."""

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def read_files(
    root: int, files: Sequence[tuple[Target, str]], sink: FileSink, *, size_bytes_max: int, call: WorkerCall
) -> list[FsError | None]:
    """Feed files to `sink`, those of a directory together; return what kept each from it.

    Args:
        root: A descriptor of the root.
        files: Each with its path below the root, which is empty for that itself.
        sink: Takes the place of a file and its content.
        size_bytes_max: Larger ones are refused.
        call: Is asked before each whether to go on.

    Raises:
        Unavailable: none can be read.
    """
    refusals: list[FsError | None] = [None] * len(files)
    for directory, names in _by_directory(files).items():
        parent = _Parent(root, directory)
        try:
            for index, name in names:
                call.check()
                target = files[index][0]
                try:
                    content = _content(parent, name, target, size_bytes_max=size_bytes_max, call=call)
                except (OSError, FsError) as error:
                    refusals[index] = refusal_of_one(error, path=target.display_path, operation="read")
                else:
                    sink(index, content)
        finally:
            parent.close()
    return refusals


def _by_directory(files: Sequence[tuple[Target, str]]) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the places and names of files by the directories that they are in."""
    found: dict[str, list[tuple[int, str]]] = {}
    for index, (_, path) in enumerate(files):
        directory, _, name = path.rpartition("/")
        if (names := found.get(directory)) is None:
            names = found[directory] = []
        names.append((index, name))
    return found


class _Parent:
    """A directory that files are read from. It is opened for the first, or again for one that it could not be for."""

    def __init__(self, root: int, directory: str) -> None:
        self._root = root
        self._directory = directory
        self._fd: int | None = None

    def fd(self, *, path: str) -> int:
        """Return a descriptor that is good until it is closed."""
        if self._fd is None:
            self._fd = directory_below(self._root, self._directory, path=path, operation="read")
        return self._fd

    def close(self) -> None:
        """Release it."""
        if self._fd is not None:
            os.close(self._fd)


def _content(parent: _Parent, name: str, target: Target, *, size_bytes_max: int, call: WorkerCall) -> bytes:
    """Return a content that the file had at one time.

    Raises:
        StaleVersion: it changed again and again while it was read.
        TooLarge: it has more than `size_bytes_max`.
    """
    fd = parent.fd(path=target.display_path)
    content = _content_at_once(fd, name, size_bytes_max=size_bytes_max)
    for _ in range(_ATTEMPTS):
        if content is not None:
            return content
        content = _content_in_pieces(fd, name, target, size_bytes_max=size_bytes_max, call=call)
    raise StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read", retryable=True)


def _content_at_once(parent: int, name: str, *, size_bytes_max: int) -> bytes | None:
    """Return the content of a regular file of a usual size, in five calls; or nothing, for whatever reason.

    None of the calls can be left out: without the first a device might be opened, and without the fourth nothing tells
    of what was read that it is that file, as it was at one time.
    """
    try:
        before = os.stat(name, dir_fd=parent, follow_symlinks=False)
        size = before.st_size
        if not (0 < size <= _AT_ONCE_BYTES and size <= size_bytes_max and stat.S_ISREG(before.st_mode)):
            return None
        fd = os.open(name, _READ, dir_fd=parent)
    except OSError:  # what the matter is, is found out with more care
        return None
    try:
        content = os.read(fd, size)
        after = os.fstat(fd)
    finally:
        os.close(fd)
    # What has the same inode, size and time is the regular file that was looked at before.
    return content if len(content) == size and content_identity(after) == content_identity(before) else None


def _content_in_pieces(
    parent: int, name: str, target: Target, *, size_bytes_max: int, call: WorkerCall
) -> bytes | None:
    """Return a content piece by piece, also of a file that tells no size, or nothing if it changed meanwhile."""
    with opened_regular(parent, name or ".", path=target.display_path, operation="read") as opened:
        try:
            return read_whole(opened, target, size_bytes_max=size_bytes_max, call=call).data
        except StaleVersion:
            return None
