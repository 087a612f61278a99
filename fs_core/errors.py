"""The closed list of things that can go wrong with a file. The codes are a public contract and never renamed."""

from enum import StrEnum
from typing import ClassVar, Final, Literal

__all__ = [
    "Aborted",
    "AmbiguousEdit",
    "EditNotFound",
    "ErrorCode",
    "FsError",
    "InvalidPath",
    "IoFault",
    "NoSpace",
    "NotDirectory",
    "NotFound",
    "NotObserved",
    "NotRegularFile",
    "NotText",
    "Operation",
    "OutOfRange",
    "OutcomeUnknown",
    "PermissionDenied",
    "Reason",
    "SandboxDenied",
    "StaleVersion",
    "TooLarge",
    "Unavailable",
    "Unsupported",
    "quote_path",
]

Operation = Literal["open", "resolve", "stat", "read", "list", "write", "edit"]


class ErrorCode(StrEnum):
    """Codes of `FsError`; the same fact gives the same code on every backend."""

    NOT_FOUND = "FS_NOT_FOUND"
    NOT_DIRECTORY = "FS_NOT_DIRECTORY"
    NOT_REGULAR_FILE = "FS_NOT_REGULAR_FILE"
    NOT_TEXT = "FS_NOT_TEXT"
    TOO_LARGE = "FS_TOO_LARGE"
    PERMISSION_DENIED = "FS_PERMISSION_DENIED"
    SANDBOX_DENIED = "FS_SANDBOX_DENIED"
    INVALID_PATH = "FS_INVALID_PATH"
    STALE_VERSION = "FS_STALE_VERSION"
    NOT_OBSERVED = "FS_NOT_OBSERVED"
    AMBIGUOUS_EDIT = "FS_AMBIGUOUS_EDIT"
    EDIT_NOT_FOUND = "FS_EDIT_NOT_FOUND"
    OUT_OF_RANGE = "FS_OUT_OF_RANGE"
    NO_SPACE = "FS_NO_SPACE"
    UNAVAILABLE = "FS_UNAVAILABLE"
    OUTCOME_UNKNOWN = "FS_OUTCOME_UNKNOWN"
    UNSUPPORTED = "FS_UNSUPPORTED"
    ABORTED = "FS_ABORTED"
    IO_ERROR = "FS_IO_ERROR"


PATH_CHARS_SHOWN_MAX: Final = 500


class Reason(StrEnum):
    """Reasons that every backend gives in the same words, so that what a model is shown is the same on all of them."""

    NO_SUCH_FILE = "no such file"
    NO_SUCH_DIRECTORY = "no such directory"
    THROUGH_FILE = "no such file: the path goes through a file that is no directory"
    IS_DIRECTORY = "is a directory, not a file"
    IS_SPECIAL = "is a FIFO, socket or device, not a file"
    IS_NOT_DIRECTORY = "is not a directory"
    NAME_TOO_LONG = "the name is too long for the file system"
    NOT_READ = "exists and was not read in this session; it was not changed"
    READ_AS_NO_TEXT = "was read and is no text; edit cannot change it, write can replace it"
    EXISTS = "exists already; nothing was written"
    CHANGED = "changed meanwhile; nothing was written"
    DELETED = "was deleted meanwhile; nothing was written"
    CHANGED_WHILE_READ = "changed while it was read"


def quote_path(path: str) -> str:
    """Return `path` for one line of text: cut, and with every character escaped that could break the line."""
    if len(path) > PATH_CHARS_SHOWN_MAX:
        path = f"{path[:PATH_CHARS_SHOWN_MAX]}..."
    return path if path.isprintable() and path.strip() == path and path else repr(path)


class FsError(Exception):
    """Base of everything that goes wrong in the seam. Raise a subclass.

    Attributes:
        code: one of `ErrorCode`.
        path: display path of the file, for people and models.
        operation: the primitive that failed.
        retryable: whether the same call may succeed later without anything else being done.
        reason: what happened, without the path; `str(error)` is the path and the reason on one line.
    """

    code: ClassVar[ErrorCode]

    def __init__(self, reason: str, *, path: str, operation: Operation, retryable: bool = False) -> None:
        self.reason = reason
        self.path = path
        self.operation: Operation = operation
        self.retryable = retryable
        super().__init__(f"{quote_path(path)}: {reason}")


class NotFound(FsError):
    """Raised when nothing exists at the path. `near_names` are similar names in the same directory."""

    code = ErrorCode.NOT_FOUND

    def __init__(
        self, reason: str, *, path: str, operation: Operation, retryable: bool = False, near_names: tuple[str, ...] = ()
    ) -> None:
        super().__init__(reason, path=path, operation=operation, retryable=retryable)
        self.near_names = near_names


class NotDirectory(FsError):
    """Raised when a directory is needed and something else stands at the path."""

    code = ErrorCode.NOT_DIRECTORY


class NotRegularFile(FsError):
    """Raised when a regular file is needed and a directory, FIFO, socket or device stands at the path.

    `entry_names` are the first names in it when it is a directory that was to be read.
    """

    code = ErrorCode.NOT_REGULAR_FILE

    def __init__(
        self,
        reason: str,
        *,
        path: str,
        operation: Operation,
        retryable: bool = False,
        entry_names: tuple[str, ...] = (),
    ) -> None:
        super().__init__(reason, path=path, operation=operation, retryable=retryable)
        self.entry_names = entry_names


class NotText(FsError):
    """Raised when bytes are not UTF-8 text, or text cannot be stored as UTF-8 text."""

    code = ErrorCode.NOT_TEXT


class TooLarge(FsError):
    """Raised when a file or a text exceeds a configured bound."""

    code = ErrorCode.TOO_LARGE


class PermissionDenied(FsError):
    """Raised when the store refuses access."""

    code = ErrorCode.PERMISSION_DENIED


class SandboxDenied(FsError):
    """Raised when a path leads out of the workspace's root."""

    code = ErrorCode.SANDBOX_DENIED


class InvalidPath(FsError):
    """Raised when a path cannot name a file on this backend."""

    code = ErrorCode.INVALID_PATH


class StaleVersion(FsError):
    """Raised when a file changed since the version that the operation relies on.

    `diff` is the change as a short unified diff, where the content that was relied on is still at hand.
    """

    code = ErrorCode.STALE_VERSION

    def __init__(
        self, reason: str, *, path: str, operation: Operation, retryable: bool = False, diff: str | None = None
    ) -> None:
        super().__init__(reason, path=path, operation=operation, retryable=retryable)
        self.diff = diff


class NotObserved(FsError):
    """Raised when an existing file would be changed by someone who has not read it."""

    code = ErrorCode.NOT_OBSERVED


class AmbiguousEdit(FsError):
    """Raised when the text to replace occurs at more than one place and one was meant."""

    code = ErrorCode.AMBIGUOUS_EDIT


class EditNotFound(FsError):
    """Raised when the text to replace does not occur."""

    code = ErrorCode.EDIT_NOT_FOUND


class OutOfRange(FsError):
    """Raised when a window starts after the last line."""

    code = ErrorCode.OUT_OF_RANGE


class NoSpace(FsError):
    """Raised when the store is full or a quota is reached."""

    code = ErrorCode.NO_SPACE


class Unavailable(FsError):
    """Raised when the store cannot be reached or does not let us in: connection, timeout, throttling, credentials."""

    code = ErrorCode.UNAVAILABLE


class OutcomeUnknown(FsError):
    """Raised when a write may or may not have happened and the store could not be asked."""

    code = ErrorCode.OUTCOME_UNKNOWN


class Unsupported(FsError):
    """Raised when this store cannot do what is asked, by its nature or by its configuration."""

    code = ErrorCode.UNSUPPORTED


class Aborted(FsError):
    """Raised when the caller gave the operation up before it took effect."""

    code = ErrorCode.ABORTED


class IoFault(FsError):
    """Raised for any other fault of the store; the cause is chained."""

    code = ErrorCode.IO_ERROR
