"""The one place where errors of the operating system become errors of the seam."""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NoSpace,
    NotFound,
    NotRegularFile,
    Operation,
    PermissionDenied,
    Reason,
    TooLarge,
    Unavailable,
)

__all__ = ["mapped_errors", "refusal_of_one"]

_BY_ERRNO: Final[dict[int, tuple[type[FsError], str]]] = {
    errno.ENOENT: (NotFound, Reason.NO_SUCH_FILE),
    errno.ENOTDIR: (NotFound, Reason.THROUGH_FILE),
    errno.EISDIR: (NotRegularFile, Reason.IS_DIRECTORY),
    errno.ENXIO: (NotRegularFile, Reason.IS_SPECIAL),
    errno.EACCES: (PermissionDenied, "permission denied"),
    errno.EPERM: (PermissionDenied, "operation not permitted"),
    errno.EROFS: (PermissionDenied, "the file system is read-only"),
    errno.ENOSPC: (NoSpace, "no space left on the device; nothing was changed"),
    errno.EDQUOT: (NoSpace, "the disk quota is used up; nothing was changed"),
    errno.EFBIG: (TooLarge, "larger than the file system allows"),
    errno.ENAMETOOLONG: (InvalidPath, Reason.NAME_TOO_LONG),
    errno.ELOOP: (InvalidPath, "the symbolic links form a loop"),
    errno.EILSEQ: (InvalidPath, "the file system does not accept this name"),
    errno.ETIMEDOUT: (Unavailable, "the file system did not answer in time"),
    errno.ESTALE: (Unavailable, "the network file system lost track of the file; try again"),
    errno.EMFILE: (Unavailable, "too many files are open in this process; try again"),
    errno.ENFILE: (Unavailable, "too many files are open on this machine; try again"),
}


@contextmanager
def mapped_errors(path: str, operation: Operation) -> Generator[None]:
    """Turn `OSError` into the `FsError` that says the same on every backend."""
    try:
        yield
    except OSError as error:
        raise _mapped(error, path=path, operation=operation) from error


def refusal_of_one(error: OSError | FsError, *, path: str, operation: Operation) -> FsError:
    """Return why one of several files or directories is left out, without the frames that the error was raised in.

    Raises:
        Unavailable: it concerns all of them.
    """
    refusal = error if isinstance(error, FsError) else _mapped(error, path=path, operation=operation)
    if refusal is not error:
        refusal.__cause__ = error
    if isinstance(refusal, Unavailable):
        raise refusal
    for each in (refusal, refusal.__cause__):
        if each is not None:
            each.__traceback__ = None
    return refusal


def _mapped(error: OSError, *, path: str, operation: Operation) -> FsError:
    kind, reason = _BY_ERRNO.get(error.errno or 0, (IoFault, f"input/output fault: {error.strerror or error}"))
    if error.errno == errno.ENOENT and operation in {"list", "open"}:
        reason = Reason.NO_SUCH_DIRECTORY
    return kind(reason, path=path, operation=operation, retryable=kind is Unavailable)
