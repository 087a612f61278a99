"""Where a state file really lies, and what the operating system says about it and the files beside it."""

import errno
from pathlib import Path

from fs_core.errors import FsError, InvalidPath, IoFault, NoSpace, NotFound, PermissionDenied

__all__ = ["os_fault", "real_path"]


def real_path(file: Path) -> Path:
    """Return an absolute path without links; what it names need not be there. Blocking.

    Raises:
        InvalidPath: It can name no file.
    """
    try:
        return file.resolve()
    except (RuntimeError, ValueError) as error:
        reason = "leads to itself" if isinstance(error, RuntimeError) else "holds a NUL"
        reason = f"{reason}; name another file for the observation state"
        raise InvalidPath(reason, path=str(file), operation="open") from error


def os_fault(error: OSError, file: Path, what: str) -> FsError:
    """Return what the operating system says about the state file or one beside it."""
    reason = f"{what}: {error.strerror}"
    kind: type[FsError] = IoFault
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        kind, reason = NotFound, f"{reason}; make its directory first"
    elif isinstance(error, PermissionError) or error.errno == errno.EROFS:
        kind = PermissionDenied
    elif error.errno in {errno.ENOSPC, errno.EDQUOT}:
        kind = NoSpace
    return kind(reason, path=str(file), operation="open")
