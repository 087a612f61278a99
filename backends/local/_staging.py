"""A new content on its way: written beside its target, locked while its writer lives, swept when the writer died."""

import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from backends._workers import WorkerCall
from backends.local._lock import try_flock
from fs_core.paths import is_staged_name, staged_name

__all__ = ["Staged", "Sweeper", "staged"]

_WRITE_BYTES: Final = 4 << 20
_NEW_FILE_MODE: Final = 0o666  # less the umask, which the kernel applies
_PRIVATE_MODE: Final = 0o600
_SWEEP_AGAIN_S: Final = 5.0
_SWEPT_REMEMBERED_MAX: Final = 256


class Staged:
    """A staged file: its name in the directory and its descriptor."""

    def __init__(self, directory: int, *, is_new: bool) -> None:
        self._directory = directory
        self.name, self.fd = _create(directory, _NEW_FILE_MODE if is_new else _PRIVATE_MODE)

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
def staged(directory: int, *, is_new: bool) -> Generator[Staged]:
    """Give a fresh staged file; whatever stands under its name at the end is removed."""
    file = Staged(directory, is_new=is_new)
    try:
        yield file
    finally:
        try:
            file.discard()
        finally:
            os.close(file.fd)


def _create(directory: int, mode: int) -> tuple[str, int]:
    while True:
        name = staged_name(secrets.token_hex(8))
        fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
        # A sweeper may take the file between its creation and its lock, for that of a dead writer: then make another.
        if try_flock(fd) and os.fstat(fd).st_nlink > 0:
            return name, fd
        os.close(fd)


class Sweeper:
    """Removes staged files whose writer died. A live writer holds a lock on its file, a dead one cannot."""

    def __init__(self) -> None:
        self._swept: dict[tuple[int, int], float] = {}

    def sweep(self, directory: int) -> None:
        """Look through a directory, at most once in `_SWEEP_AGAIN_S`, since a large one takes long to list."""
        status = os.fstat(directory)
        key = (status.st_dev, status.st_ino)
        now = time.monotonic()
        if now - self._swept.get(key, -_SWEEP_AGAIN_S) < _SWEEP_AGAIN_S:
            return
        if len(self._swept) >= _SWEPT_REMEMBERED_MAX:
            self._swept.clear()
        self._swept[key] = now
        for name in _staged_names(directory):
            _remove_if_dead(directory, name)


def _staged_names(directory: int) -> list[str]:
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except PermissionError:
        return []  # a directory that may be written but not listed: nobody can find leftovers there
    try:
        with os.scandir(fd) as entries:
            return [entry.name for entry in entries if is_staged_name(entry.name)]
    finally:
        os.close(fd)


def _remove_if_dead(directory: int, name: str) -> None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return  # gone, or another user's
    try:
        if try_flock(fd):
            with suppress(FileNotFoundError, PermissionError):
                os.unlink(name, dir_fd=directory)
    finally:
        os.close(fd)
