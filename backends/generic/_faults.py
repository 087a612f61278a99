"""What the libraries behind fsspec raise, as errors of the seam; the one place where that is decided."""

import errno
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from backends._workers import CallCancelled
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NotFound,
    NotRegularFile,
    Operation,
    PermissionDenied,
    TooLarge,
    Unavailable,
    Unsupported,
)

__all__ = ["RedirectRefusedError", "store_faults"]

_Verdict = tuple[Callable[..., FsError], str, bool]
"""Class of the error, reason, and whether the same call may succeed later."""

_RETRYABLE_STATUS: Final = frozenset({408, 425, 429})
_UNREACHABLE_ERRNO: Final = frozenset(
    {
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.ETIMEDOUT,
        errno.EPIPE,
    }
)
_NETWORK_CLASSES: Final = frozenset({"ClientError", "RequestException"})
"""Base classes of what aiohttp and requests raise, known by name so that neither has to be importable."""


class RedirectRefusedError(Exception):
    """Raised when a web server redirects to an address that is not public."""


@contextmanager
def store_faults(path: str, operation: Operation) -> Generator[None]:
    """Let only `FsError` out of the block, with the foreign exception chained.

    No text of a foreign exception is passed on, because it may hold a URL with a secret.
    """
    try:
        yield
    except (FsError, CallCancelled):
        raise
    except Exception as error:
        make, reason, is_retryable = _judge(error)
        raise make(reason, path=path, operation=operation, retryable=is_retryable) from error


def _judge(error: Exception) -> _Verdict:
    # fsspec wraps every fault of a web server as FileNotFoundError; what really happened is its cause.
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception):
        verdict = _by_answer(cause)
        return verdict if verdict is not None else (NotFound, "no such file", False)
    return _by_answer(error) or _by_class(error)


def _by_answer(error: Exception) -> _Verdict | None:
    """Judge what a server answered, or that it did not; `None` for a fault of another kind."""
    if isinstance(error, RedirectRefusedError):
        return Unavailable, "the store redirects to an address inside this network, which is not followed", False
    status = _http_status(error)
    if status is not None:
        return _by_status(status)
    names = {base.__name__ for base in type(error).__mro__}
    is_network = isinstance(error, TimeoutError | ConnectionError | socket.gaierror | ssl.SSLError)
    is_unreachable = isinstance(error, OSError) and error.errno in _UNREACHABLE_ERRNO
    if is_network or is_unreachable or not names.isdisjoint(_NETWORK_CLASSES):
        return Unavailable, f"the store cannot be reached ({type(error).__name__})", True
    return None


def _http_status(error: Exception) -> int | None:
    """Return the status that an aiohttp (`status`) or requests (`response.status_code`) error carries."""
    response: object = getattr(error, "response", None)
    for candidate in (getattr(error, "status", None), getattr(response, "status_code", None)):
        if isinstance(candidate, int) and candidate:
            return candidate
    return None


def _by_status(status: int) -> _Verdict:
    match status:
        case 404 | 410:
            return NotFound, "no such file", False
        case 401 | 407:
            return Unavailable, f"the store wants other credentials (HTTP status {status})", False
        case 403:
            return PermissionDenied, "the store refuses access (HTTP status 403)", False
        case 414:
            return InvalidPath, "the path is too long for this store", False
        case _ if status in _RETRYABLE_STATUS or status >= 500:  # noqa: PLR2004 - RFC 9110, section 15.6
            return Unavailable, f"the store cannot answer now (HTTP status {status})", True
        case _:
            return IoFault, f"the store answered with HTTP status {status}", False


def _by_class(error: Exception) -> _Verdict:  # noqa: PLR0911 - a table: one line per kind
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFound, "no such file", False
        case IsADirectoryError():
            return NotRegularFile, "is a directory", False
        case PermissionError():
            return PermissionDenied, "the store refuses access", False
        case OSError(errno=errno.ENAMETOOLONG | errno.ELOOP):
            return InvalidPath, "the path is too long, or goes in a loop of links", False
        case MemoryError():
            return TooLarge, "does not fit into memory", False
        case NotImplementedError():
            return Unsupported, "fsspec cannot do this on this kind of store", False
        case ImportError():
            return Unsupported, f"needs a library that is not installed ({error.name})", False
        case _:
            return IoFault, f"the store failed ({type(error).__name__})", False
