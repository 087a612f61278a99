"""A lock between all processes of one user that use this library on one machine."""

import fcntl
import os
import stat
import time
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import xxhash

from backends._workers import WorkerCall
from fs_core.errors import Unavailable

__all__ = ["BUCKETS", "ProcessLocks", "default_lock_directory", "file_key", "take_flock"]

BUCKETS: Final = 1024
_WAIT_FIRST_S: Final = 0.000_5
_WAIT_MAX_S: Final = 0.02

_held: set[int] = set()
"""Descriptors of the lock files that this process has open."""


def default_lock_directory() -> Path:
    """Return the same place for every process of this user, whatever its environment says about temporary files."""
    return Path(f"/tmp/seamfs-{os.getuid()}")  # noqa: S108 - a fixed meeting point; made 0700 and checked to be ours


def file_key(directory: int, name: str) -> str:
    """Return what the lock of `name` in an open directory goes by.

    It is the same through a bind mount and from a root above or below, and for spellings that a file system without
    cases or with its own normal form takes for one name.
    """
    status = os.fstat(directory)
    return f"{status.st_dev:x}-{status.st_ino:x}/{unicodedata.normalize('NFC', name).casefold()}"


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
            Unavailable: somebody else holds it for longer than the time limit, or the lock directory cannot be used.
        """
        bucket = xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogateescape")) % BUCKETS
        with self._opened(bucket, path) as fd:
            take_flock(fd, timeout_s=self._timeout_s, call=call, path=path)
            if os.fstat(fd).st_nlink:
                os.utime(fd)  # cleaners of old temporary files leave it alone
                yield bucket
                return
        # It was removed while we waited, so that the next one meets the others on a new file.
        with self.hold(key, call=call, path=path):
            yield bucket

    @contextmanager
    def hold_if_free(self, bucket: int) -> Generator[bool]:
        """Hold a lock file by its number unless somebody has it; give whether it is held."""
        with self._opened(bucket, ".") as fd:
            yield _try_flock(fd)

    def meeting_point(self, *, path: str) -> str:
        """Return eight hexadecimal digits that tell this lock directory from all others, also of other machines.

        Raises:
            Unavailable: the lock directory cannot be used.
        """
        status = self._ready_directory(path)
        return xxhash.xxh3_64_hexdigest(f"{_boot()} {status.st_dev:x} {status.st_ino:x}".encode())[:8]

    @contextmanager
    def _opened(self, bucket: int, path: str) -> Generator[int]:
        self._ready_directory(path)
        file = self._directory / f"{bucket:03x}.lock"
        try:
            fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error, path) from error
        _held.add(fd)
        try:
            yield fd
        finally:
            # A process that was forked meanwhile may still have the descriptor, so closing it would not end the lock.
            fcntl.flock(fd, fcntl.LOCK_UN)
            _held.discard(fd)
            os.close(fd)

    def _ready_directory(self, path: str) -> os.stat_result:
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            status = self._directory.lstat()
        except OSError as error:
            raise self._unusable(error, path) from error
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            reason = f"the lock directory {self._directory} belongs to somebody else"
            raise Unavailable(reason, path=path, operation="write")
        return status

    def _unusable(self, error: OSError, path: str) -> Unavailable:
        fault = error.strerror or str(error)
        reason = f"nothing was written, as the lock directory {self._directory} cannot be used: {fault}"
        return Unavailable(reason, path=path, operation="write")


def take_flock(fd: int, *, timeout_s: float, call: WorkerCall, path: str) -> None:
    """Take an exclusive `flock`, in a worker thread.

    Raises:
        Unavailable: somebody else holds it for longer than `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    wait_s = _WAIT_FIRST_S
    while not _try_flock(fd):
        call.check()
        if time.monotonic() > deadline:
            reason = f"another process has been writing this file for {timeout_s:g} s; try again"
            raise Unavailable(reason, path=path, operation="write", retryable=True)
        time.sleep(wait_s)
        wait_s = min(wait_s * 2, _WAIT_MAX_S)


def _try_flock(fd: int) -> bool:
    """Take an exclusive `flock` if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@cache
def _boot() -> str:
    """Return what no other run of any kernel is called, or at least the machine's name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return os.uname().nodename


def _close_inherited() -> None:
    """Let a forked child hold no lock, or it would outlive its parent's death."""
    for fd in _held:
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)
