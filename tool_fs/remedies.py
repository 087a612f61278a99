"""Errors of the seam as failures of a tool: the code stays, what to do next is added."""

from collections.abc import Generator
from contextlib import contextmanager

from fs_core.errors import ErrorCode, FsError, NotFound, NotRegularFile, Reason, StaleVersion, quote_path
from tool_runtime import ToolError

__all__ = ["tool_errors"]

_REMEDIES = {
    ErrorCode.STALE_VERSION: "Read the file again, then retry.",
    ErrorCode.NOT_OBSERVED: "Read the file first, then retry.",
    ErrorCode.EDIT_NOT_FOUND: "Copy old_string exactly from what read shows.",
    ErrorCode.OUTCOME_UNKNOWN: "Read the file to see whether the change is there before repeating it.",
    ErrorCode.NOT_DIRECTORY: "Give the directory it is in; read shows a file.",
    ErrorCode.NO_SPACE: "Free space on the store, then retry.",
}


@contextmanager
def tool_errors(requested_path: str) -> Generator[None]:
    """Turn an `FsError` into the `ToolError` that the model is shown."""
    try:
        yield
    except FsError as error:
        parts = [_sentence(str(error)), _remedy(error), _names(error), _expansion(error, requested_path)]
        message = " ".join(part for part in parts if part) + _change(error)
        raise ToolError(error.code, message, retryable=error.retryable) from error


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _remedy(error: FsError) -> str:
    # Reading a file that is no text again would lead nowhere.
    return "" if error.reason == Reason.READ_AS_NO_TEXT else _REMEDIES.get(error.code, "")


def _names(error: FsError) -> str:
    match error:
        case NotFound(near_names=names) if names:
            lead = "Similar names there"
        case NotRegularFile(entry_names=names) if names:
            lead = "Read one of its files; the first names in it"
        case _:
            return ""
    return f"{lead}: {', '.join(quote_path(name) for name in names)}."


def _change(error: FsError) -> str:
    """Return what has changed in a stale file, on lines of its own."""
    if not isinstance(error, StaleVersion) or not error.diff:
        return ""
    hunks = error.diff.rstrip("\n").split("\n")[2:]
    return "\n".join(["\nWhat changed since:", *hunks])


def _expansion(error: FsError, requested_path: str) -> str:
    if isinstance(error, NotFound) and requested_path.startswith(("~", "$")):
        return "~ and $VARIABLES are not expanded; paths are relative to the root."
    return ""
