"""A new content on its way: written beside its target, and swept by a later writer if its own has died.

The name of a staged file tells which lock directory its writer uses and which lock file in there it holds for as long
as the name is in use. So a name whose lock is free belongs to a dead writer, whatever file stands under it: in the
middle of an exchange that is the old file, which nobody else must take away. The locks of another lock directory, in a
container or on another machine, cannot be seen; what was staged under them goes when it has not changed for a day.
"""

import os
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Final

from backends._workers import WorkerCall
from backends.local._content import written
from backends.local._kernel import begin_flush
from backends.local._lock import BUCKETS, ProcessLocks
from backends.local._sharing import Shared
from fs_core.digest import ContentHasher
from fs_core.paths import is_staged_name, staged_name
from fs_core.splice import Splice
from fs_core.types import Digest

__all__ = ["DirectoryGone", "Staged", "Sweeper", "staged"]

_FLUSH_BYTES: Final = 8 << 20
_NEW_FILE_MODE: Final = 0o666  # less the umask, which the kernel applies
_PRIVATE_MODE: Final = 0o600
_SWEEP_AGAIN_S: Final = 5.0
_SWEPT_REMEMBERED_MAX: Final = 256
_FOREIGN_AGE_S: Final = 24 * 3600.0
"""No write takes that long, and no two clocks differ by that much."""

_BUCKET_DIGITS: Final = slice(len(".seamfs-"), len(".seamfs-") + 3)
_MEETING_POINT_DIGITS: Final = slice(_BUCKET_DIGITS.stop, _BUCKET_DIGITS.stop + 8)


class DirectoryGone(FileNotFoundError):
    """Raised when the directory to write in has just been removed."""


class Staged:
    """A staged file: its name in the directory and its descriptor.

    Its writer holds the lock file number `bucket` of the lock directory that `meeting_point` tells.

    Raises:
        DirectoryGone: there is no such directory any more.
    """

    def __init__(self, directory: int, *, is_new: bool, bucket: int, meeting_point: str) -> None:
        self._directory = directory
        mode = _NEW_FILE_MODE if is_new else _PRIVATE_MODE
        self.name, self.fd = _create(directory, mode, bucket, meeting_point)
        self._is_kept = False

    def fill(self, content: Splice, *, shared: Sequence[Shared] = (), call: WorkerCall, is_flushed: bool) -> Digest:
        """Write all of `content` but what is `shared`, or raise when the caller gives up or the disk does.

        Return the digest of the content. If that `is_flushed` afterwards, the disk begins while the rest is written.
        """
        hasher = ContentHasher()
        begun = position = 0
        for position in written(self.fd, content, shared=shared, hasher=hasher):
            call.check()
            if is_flushed and position - begun >= _FLUSH_BYTES:
                begin_flush(self.fd, begun, position - begun)
                begun = position
        if begun:
            begin_flush(self.fd, begun, position - begun)
        return hasher.digest()

    def is_published(self) -> bool:
        """Whether the file stands under another name than this, in its place or beside it."""
        ours = os.fstat(self.fd)
        try:
            status = os.stat(self.name, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            return ours.st_nlink > 0
        is_here = (status.st_dev, status.st_ino) == (ours.st_dev, ours.st_ino)
        return ours.st_nlink > (1 if is_here else 0)

    def keep(self) -> None:
        """Let what stands under the name stay there, as it is somebody else's and could not be given back."""
        self._is_kept = True

    def discard(self) -> None:
        """Remove the name, if it still stands for this file or for what it was exchanged with.

        What cannot be removed now is hidden, and swept by a later writer; it changes nothing about this write.
        """
        if not self._is_kept:
            _remove(self._directory, self.name)


@contextmanager
def staged(directory: int, *, is_new: bool, bucket: int, meeting_point: str) -> Generator[Staged]:
    """Give a fresh staged file, as `Staged` says; whatever stands under its name at the end is removed."""
    file = Staged(directory, is_new=is_new, bucket=bucket, meeting_point=meeting_point)
    try:
        yield file
    finally:
        file.discard()
        os.close(file.fd)


def _create(directory: int, mode: int, bucket: int, meeting_point: str) -> tuple[str, int]:
    while True:
        name = staged_name(f"{bucket:03x}{meeting_point}{secrets.token_hex(3)[1:]}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return name, os.open(name, flags, mode, dir_fd=directory)
        except FileExistsError:
            continue
        except FileNotFoundError as error:
            raise DirectoryGone(error.errno, error.strerror) from error


class Sweeper:
    """Removes staged files whose writer died."""

    def __init__(self, locks: ProcessLocks) -> None:
        self._locks = locks
        self._swept: dict[tuple[int, int], float] = {}

    def sweep(self, directory: int, *, held: int, meeting_point: str) -> None:
        """Look through a directory, at most once in `_SWEEP_AGAIN_S`, since a large one takes long to list.

        `held` is the number of the lock file that the caller holds, so nobody else is alive under that number. No
        fault of this makes a write fail: what cannot be removed now is hidden, and looked at again later.
        """
        status = os.fstat(directory)
        key = (status.st_dev, status.st_ino)
        now = time.monotonic()
        if now - self._swept.get(key, -_SWEEP_AGAIN_S) < _SWEEP_AGAIN_S:
            return
        if len(self._swept) >= _SWEPT_REMEMBERED_MAX:
            self._swept.clear()
        self._swept[key] = now
        with suppress(OSError):
            for name, changed_s in _staged_names(directory):
                if name[_MEETING_POINT_DIGITS] == meeting_point and int(name[_BUCKET_DIGITS], 16) < BUCKETS:
                    self._remove_if_dead(directory, name, held)
                elif time.time() - changed_s > _FOREIGN_AGE_S:
                    _remove(directory, name)

    def _remove_if_dead(self, directory: int, name: str, held: int) -> None:
        bucket = int(name[_BUCKET_DIGITS], 16)
        with self._locks.hold_if_free(bucket) if bucket != held else nullcontext(enter_result=True) as is_dead:
            if is_dead:
                _remove(directory, name)


def _remove(directory: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def _staged_names(directory: int) -> list[tuple[str, float]]:
    """Return the staged files of a directory, and when they last changed in any way, a rename included."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        with os.scandir(fd) as entries:
            return [
                (entry.name, entry.stat(follow_symlinks=False).st_ctime)
                for entry in entries
                if is_staged_name(entry.name) and entry.is_file(follow_symlinks=False)
            ]
    finally:
        os.close(fd)
