"""What the kernel and the file system under one directory can do, tried on two scratch files."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from backends._workers import WorkerCall
from backends.local._kernel import exchange, rename_no_replace
from backends.local._lock import ProcessLocks
from fs_core.errors import FsError
from fs_core.paths import staged_name

__all__ = ["LocalProbe", "probe_directory"]


@dataclass(frozen=True, slots=True)
class LocalProbe:
    """One answer a question: `None` when it can, else why not. Without `write` nothing else was tried on files.

    Attributes:
        write: Make a file.
        create: Refuse to create what exists, in the kernel.
        exchange: Exchange two names in one step, by which a foreign writer's content is detected and kept.
        sync: Flush a file and its directory.
        lock: Lock against other processes of this library.
    """

    write: str | None
    create: str | None
    exchange: str | None
    sync: str | None
    lock: str | None


def probe_directory(directory: Path, locks: ProcessLocks, *, call: WorkerCall) -> LocalProbe:
    """Try everything, in a worker thread; the scratch files are removed again."""
    lock = _lock_fault(locks, call)
    try:
        with _scratch(directory) as (fd, one, other):
            return LocalProbe(
                write=None,
                create=_create_fault(fd, one, other),
                exchange=_exchange_fault(fd, one, other),
                sync=_sync_fault(fd, one),
                lock=lock,
            )
    except OSError as error:
        fault = error.strerror or str(error)
        return LocalProbe(write=fault, create=fault, exchange=fault, sync=fault, lock=lock)


@contextmanager
def _scratch(directory: Path) -> Generator[tuple[int, str, str]]:
    """Make two files whose names keep them out of every listing; yield their directory and names."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    names = staged_name(secrets.token_hex(8)), staged_name(secrets.token_hex(8))
    try:
        for name in names:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=fd))
        yield fd, *names
    finally:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=fd)
        os.close(fd)


def _create_fault(directory: int, one: str, other: str) -> str | None:
    try:
        if not rename_no_replace(directory, one, other):
            os.link(one, other, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        return None
    except OSError as error:
        return f"it can neither rename without replacing nor link ({error.strerror})"
    return "it overwrites a file that exists"


def _exchange_fault(directory: int, one: str, other: str) -> str | None:
    try:
        return None if exchange(directory, one, other) else "the kernel or the file system cannot exchange two names"
    except OSError as error:
        return error.strerror or str(error)


def _sync_fault(directory: int, name: str) -> str | None:
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fsync(fd)
        os.fsync(directory)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(fd)
    return None


def _lock_fault(locks: ProcessLocks, call: WorkerCall) -> str | None:
    try:
        with locks.hold("probe", call=call, path="."):
            return None
    except FsError as error:
        return error.reason
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
