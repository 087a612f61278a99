"""What the server and the connection say, as the errors of the seam. The only place where they are translated."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from backends._workers import WorkerCall
from backends.sftp._connection import ConnectError, ConnectionLost
from backends.sftp._wire import StatusCode, StatusError
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NoSpace,
    NotFound,
    Operation,
    PermissionDenied,
    Reason,
    Unavailable,
    Unsupported,
)

__all__ = ["Fenced", "refusal_of_one", "store_errors"]


_MISSING: Final[dict[Operation, Reason]] = {
    "open": Reason.NO_SUCH_DIRECTORY,
    "list": Reason.NO_SUCH_DIRECTORY,
}


class Fenced(Exception):
    """Raised when another client has removed this write's upload, so that it can never be published."""


@contextmanager
def store_errors(path: str, operation: Operation, *, call: WorkerCall) -> Generator[None]:
    """Raise what goes wrong inside as an `FsError` about `path`, with the cause chained.

    A connection that a cancellation of `call` has cut is no fault: then `CallCancelled` is raised.
    """
    try:
        yield
    except StatusError as error:
        raise _from_status(error, path, operation) from error
    except ConnectionLost as error:
        call.check()
        raise Unavailable(f"{error}; try again", path=path, operation=operation, retryable=True) from error
    except ConnectError as error:
        call.check()
        raise Unavailable(error.reason, path=path, operation=operation, retryable=error.retryable) from error
    except Fenced as error:
        reason = "another client took this write for dead and removed it; nothing was written; try again"
        raise Unavailable(reason, path=path, operation=operation, retryable=True) from error


def refusal_of_one(error: StatusError, path: str, operation: Operation) -> FsError:
    """Return why one of several files is refused.

    Raises:
        Unavailable: it concerns them all.
    """
    refusal = _from_status(error, path, operation)
    if isinstance(refusal, Unavailable):
        raise refusal from error
    refusal.__cause__ = error
    return refusal


def _from_status(error: StatusError, path: str, operation: Operation) -> FsError:  # noqa: PLR0911 - one per code
    said = f" ({error.text})" if error.text else ""
    match error.code:
        case StatusCode.NO_SUCH_FILE:
            return NotFound(_MISSING.get(operation, Reason.NO_SUCH_FILE), path=path, operation=operation)
        case StatusCode.PERMISSION_DENIED:
            return PermissionDenied(f"the server denies access{said}", path=path, operation=operation)
        case StatusCode.BAD_MESSAGE if operation == "resolve":
            # So does OpenSSH call ENAMETOOLONG and EINVAL.
            return InvalidPath(f"the server cannot have such a name{said}", path=path, operation=operation)
        case StatusCode.OP_UNSUPPORTED:
            return Unsupported(f"the server does not offer this{said}", path=path, operation=operation)
        case StatusCode.NO_CONNECTION | StatusCode.CONNECTION_LOST:
            return Unavailable(f"the server lost its store{said}", path=path, operation=operation, retryable=True)
        case _:
            if any(word in error.text.lower() for word in ("no space", "quota")):
                return NoSpace(f"the server has no space left{said}", path=path, operation=operation)
            return IoFault(f"the server reports a fault: status {error.code}{said}", path=path, operation=operation)
