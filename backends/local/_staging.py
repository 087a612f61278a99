"""A new content on its way: written beside its target, and swept by a later writer if its own has died.

The name of a staged file tells which user wrote it and which lock file its writer holds for as long as the name is in
use. So a name whose lock is free belongs to a dead writer, whatever file stands under it: in the middle of an exchange
that is the old file, which nobody else must take away.
"""

import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from typing import Final

from backends._workers import WorkerCall
from backends.local._lock import BUCKETS, ProcessLocks
from fs_core.paths import is_staged_name, staged_name

__all__ = ["Staged", "Sweeper", "staged"]

_WRITE_BYTES: Final = 4 << 20
_NEW_FILE_MODE: Final = 0o666  # less the umask, which the kernel applies
_PRIVATE_MODE: Final = 0o600
_SWEEP_AGAIN_S: Final = 5.0
_SWEPT_REMEMBERED_MAX: Final = 256
_BUCKET_DIGITS: Final = slice(len(".seamfs-"), len(".seamfs-") + 3)
_USER_DIGITS: Final = slice(_BUCKET_DIGITS.stop, _BUCKET_DIGITS.stop + 8)


class Staged:
    """A staged file: its name in the directory and its descriptor. Its writer holds the lock file number `bucket`."""

    def __init__(self, directory: int, *, is_new: bool, bucket: int) -> None:
        self._directory = directory
        self.name, self.fd = _create(directory, _NEW_FILE_MODE if is_new else _PRIVATE_MODE, bucket)

    def fill(self, data: bytes, *, call: WorkerCall) -> None:
        """Write all of `data`, or raise when the caller gives up or the disk does."""
        view = memoryview(data)
        while view:
            call.check()
            view = view[os.write(self.fd, view[:_WRITE_BYTES]) :]

    def discard(self) -> None:
        """Remove the name, if it still stands for this file or for what it was exchanged with."""
        with suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self._directory)


@contextmanager
def staged(directory: int, *, is_new: bool, bucket: int) -> Generator[Staged]:
    """Give a fresh staged file; whatever stands under its name at the end is removed."""
    file = Staged(directory, is_new=is_new, bucket=bucket)
    try:
        yield file
    finally:
        try:
            file.discard()
        finally:
            os.close(file.fd)


def _create(directory: int, mode: int, bucket: int) -> tuple[str, int]:
    while True:
        name = staged_name(f"{bucket:03x}{os.geteuid():08x}{secrets.token_hex(3)[1:]}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(FileExistsError):
            return name, os.open(name, flags, mode, dir_fd=directory)


class Sweeper:
    """Removes staged files whose writer died."""

    def __init__(self, locks: ProcessLocks) -> None:
        self._locks = locks
        self._swept: dict[tuple[int, int], float] = {}

    def sweep(self, directory: int, *, held: int) -> None:
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
            for name in _own_staged_names(directory):
                self._remove_if_dead(directory, name, held)

    def _remove_if_dead(self, directory: int, name: str, held: int) -> None:
        bucket = int(name[_BUCKET_DIGITS], 16)
        with self._locks.hold_if_free(bucket) if bucket != held else nullcontext(enter_result=True) as is_dead:
            if is_dead:
                with suppress(OSError):
                    os.unlink(name, dir_fd=directory)


def _own_staged_names(directory: int) -> list[str]:
    """Return the names of files that processes of this user have staged; other users' locks cannot be seen."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        with os.scandir(fd) as entries:
            return [
                entry.name
                for entry in entries
                if is_staged_name(entry.name)
                and int(entry.name[_USER_DIGITS], 16) == os.geteuid()
                and int(entry.name[_BUCKET_DIGITS], 16) < BUCKETS
                and entry.is_file(follow_symlinks=False)
            ]
    finally:
        os.close(fd)
