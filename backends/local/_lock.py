"""A lock between all processes of one user that use this library on one machine."""

import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import xxhash

from backends._workers import WorkerCall
from fs_core.errors import Unavailable

__all__ = ["BUCKETS", "ProcessLocks", "default_lock_directory", "try_flock"]

BUCKETS: Final = 1024
_WAIT_FIRST_S: Final = 0.000_5
_WAIT_MAX_S: Final = 0.02


def default_lock_directory() -> Path:
    """Return the same place for every process of this user, whatever its environment says about temporary files."""
    return Path(f"/tmp/seamfs-{os.getuid()}")  # noqa: S108 - a fixed meeting point; made 0700 and checked to be ours


class ProcessLocks:
    """Locks by file identity, kept as `flock` on one of a fixed number of files outside every workspace.

    The kernel drops a lock when its process dies. Two files may share a lock file; that only makes one wait for the
    other. `flock` and not `lockf`, which grants a second descriptor of the same process.
    """

    def __init__(self, directory: Path, *, timeout_s: float) -> None:
        self._directory = directory
        self._timeout_s = timeout_s

    @contextmanager
    def hold(self, key: str, *, call: WorkerCall, path: str) -> Generator[int]:
        """Hold the lock of `key`, in a worker thread; give the number of its lock file.

        Raises:
            Unavailable: somebody else holds it for longer than the time limit, or the lock directory is not ours.
        """
        bucket = xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogateescape")) % BUCKETS
        fd = self._open(bucket, path)
        try:
            self._acquire(fd, call, path)
            yield bucket
        finally:
            os.close(fd)

    @contextmanager
    def hold_if_free(self, bucket: int) -> Generator[bool]:
        """Hold a lock file by its number unless somebody has it; give whether it is held."""
        fd = self._open(bucket, ".")
        try:
            yield try_flock(fd)
        finally:
            os.close(fd)

    def _open(self, bucket: int, path: str) -> int:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        status = self._directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            reason = f"the lock directory {self._directory} belongs to somebody else"
            raise Unavailable(reason, path=path, operation="write")
        file = self._directory / f"{bucket:03x}.lock"
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def _acquire(self, fd: int, call: WorkerCall, path: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        wait_s = _WAIT_FIRST_S
        while not try_flock(fd):
            call.check()
            if time.monotonic() > deadline:
                reason = f"another process has been writing this file for {self._timeout_s:g} s; try again"
                raise Unavailable(reason, path=path, operation="write", retryable=True)
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, _WAIT_MAX_S)


def try_flock(fd: int) -> bool:
    """Take an exclusive `flock` if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
