"""What can go wrong with a request to the store, and which `FsError` that is. The only such mapping."""

import re
from enum import Enum, auto
from typing import Final, cast

import aiohttp
from botocore import exceptions as botocore_errors

from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NoSpace,
    NotFound,
    Operation,
    PermissionDenied,
    Reason,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)

__all__ = ["Failure", "RequestFailed", "failure_of", "fs_error"]


class Failure(Enum):
    """How a request failed, as far as it matters for what happens next."""

    MISSING = auto()
    NO_BUCKET = auto()
    BAD_BUCKET = auto()
    PRECONDITION = auto()
    CONFLICT = auto()
    BAD_RANGE = auto()
    BAD_KEY = auto()
    DENIED = auto()
    CREDENTIALS = auto()
    NO_CREDENTIALS = auto()
    WRONG_REGION = auto()
    ARCHIVED = auto()
    NOT_OFFERED = auto()
    TOO_LARGE = auto()
    FULL = auto()
    THROTTLED = auto()
    SERVER = auto()
    NOT_SENT = auto()
    CUT = auto()
    OTHER_BYTES = auto()
    ENDLESS = auto()
    TIMEOUT = auto()
    CLOSED = auto()
    OTHER = auto()


class RequestFailed(Exception):
    """Raised when one request failed. `code` is the store's own word for it and holds no secret."""

    def __init__(self, failure: Failure, *, code: str = "") -> None:
        self.failure = failure
        self.code = code
        super().__init__(f"{failure.name} {code}".rstrip())


_CODES: Final = {
    # Amazon S3 API Reference, "Error responses"; the last lines of a group are names that other stores use.
    "NoSuchKey": Failure.MISSING,
    "NoSuchBucket": Failure.NO_BUCKET,
    "InvalidBucketName": Failure.BAD_BUCKET,
    "PreconditionFailed": Failure.PRECONDITION,
    "ConditionalRequestConflict": Failure.CONFLICT,
    "OperationAborted": Failure.CONFLICT,
    "InvalidRange": Failure.BAD_RANGE,
    "KeyTooLongError": Failure.BAD_KEY,
    "AccessDenied": Failure.DENIED,
    "AllAccessDisabled": Failure.DENIED,
    "AccountProblem": Failure.CREDENTIALS,
    "AuthFailure": Failure.CREDENTIALS,
    "ExpiredToken": Failure.CREDENTIALS,
    "InvalidAccessKeyId": Failure.CREDENTIALS,
    "InvalidSecurity": Failure.CREDENTIALS,
    "InvalidToken": Failure.CREDENTIALS,
    "NotSignedUp": Failure.CREDENTIALS,
    "RequestTimeTooSkewed": Failure.CREDENTIALS,
    "SignatureDoesNotMatch": Failure.CREDENTIALS,
    "TokenRefreshRequired": Failure.CREDENTIALS,
    "AuthorizationHeaderMalformed": Failure.WRONG_REGION,
    "IllegalLocationConstraintException": Failure.WRONG_REGION,
    "PermanentRedirect": Failure.WRONG_REGION,
    "TemporaryRedirect": Failure.WRONG_REGION,
    "InvalidObjectState": Failure.ARCHIVED,
    "NotImplemented": Failure.NOT_OFFERED,
    "EntityTooLarge": Failure.TOO_LARGE,
    "QuotaExceeded": Failure.FULL,
    "InsufficientCapacity": Failure.FULL,
    "XMinioStorageFull": Failure.FULL,
    "BandwidthLimitExceeded": Failure.THROTTLED,
    "RequestTimeout": Failure.THROTTLED,
    "ServiceUnavailable": Failure.THROTTLED,
    "SlowDown": Failure.THROTTLED,
    "Throttling": Failure.THROTTLED,
    "TooManyRequests": Failure.THROTTLED,
}

_STATUSES: Final = {
    301: Failure.WRONG_REGION,
    307: Failure.WRONG_REGION,
    401: Failure.CREDENTIALS,
    403: Failure.DENIED,
    404: Failure.MISSING,
    409: Failure.CONFLICT,
    412: Failure.PRECONDITION,
    416: Failure.BAD_RANGE,
    429: Failure.THROTTLED,
    501: Failure.NOT_OFFERED,
    502: Failure.CUT,
    503: Failure.THROTTLED,
    504: Failure.TIMEOUT,
    507: Failure.FULL,
}

_SERVER_STATUS: Final = 500

_EXCEPTIONS: Final[tuple[tuple[type[BaseException], Failure], ...]] = (
    # The first that matches decides, so subclasses stand above their bases.
    (botocore_errors.NoCredentialsError, Failure.NO_CREDENTIALS),
    (botocore_errors.PartialCredentialsError, Failure.CREDENTIALS),
    (botocore_errors.CredentialRetrievalError, Failure.CREDENTIALS),
    (botocore_errors.TokenRetrievalError, Failure.CREDENTIALS),
    (botocore_errors.UnauthorizedSSOTokenError, Failure.CREDENTIALS),
    (botocore_errors.SSOError, Failure.CREDENTIALS),
    (botocore_errors.ProfileNotFound, Failure.NO_CREDENTIALS),
    (botocore_errors.ConnectTimeoutError, Failure.NOT_SENT),
    (botocore_errors.ProxyConnectionError, Failure.NOT_SENT),
    (botocore_errors.SSLError, Failure.NOT_SENT),
    (botocore_errors.ReadTimeoutError, Failure.TIMEOUT),
    (TimeoutError, Failure.TIMEOUT),
    (botocore_errors.HTTPClientError, Failure.CUT),
    (botocore_errors.IncompleteReadError, Failure.CUT),
    (aiohttp.ClientError, Failure.CUT),
    (ConnectionError, Failure.CUT),
)

_SAFE_CODE: Final = re.compile(r"[A-Za-z0-9_.]{1,64}")


def failure_of(error: Exception) -> RequestFailed:
    """Return what `error`, raised by the client library, means."""
    if isinstance(error, RequestFailed):
        return error
    if isinstance(error, botocore_errors.ClientError):
        return _answered(error)
    if isinstance(error, botocore_errors.EndpointConnectionError):
        # The library uses it for a connection that was refused and for one that broke later.
        refused = isinstance(error.__context__, aiohttp.ClientConnectorError)
        return RequestFailed(Failure.NOT_SENT if refused else Failure.CUT)
    if isinstance(error, botocore_errors.ParamValidationError):
        is_bucket = "bucket name" in str(error).lower()
        return RequestFailed(Failure.BAD_BUCKET if is_bucket else Failure.OTHER, code="ParamValidationError")
    for kind, failure in _EXCEPTIONS:
        if isinstance(error, kind):
            return RequestFailed(failure, code=type(error).__name__ if failure is Failure.CREDENTIALS else "")
    return RequestFailed(Failure.OTHER, code=type(error).__name__)


def _answered(error: botocore_errors.ClientError) -> RequestFailed:
    """Judge an error answer: by its code, else by its status; an answer to HEAD has only the status."""
    answer = cast("dict[str, dict[str, object]]", error.response)
    code = str(answer.get("Error", {}).get("Code", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    status = status if isinstance(status, int) else 0
    failure = _CODES.get(code) or _STATUSES.get(status)
    if failure is None:
        failure = Failure.SERVER if status >= _SERVER_STATUS else Failure.OTHER
    return RequestFailed(failure, code=code if _SAFE_CODE.fullmatch(code) else str(status))


_MEANINGS: Final[dict[Failure, tuple[type[FsError], str]]] = {
    Failure.MISSING: (NotFound, Reason.NO_SUCH_FILE),
    Failure.NO_BUCKET: (NotFound, "the bucket does not exist; check its name and the endpoint"),
    Failure.BAD_BUCKET: (InvalidPath, "this is no bucket name"),
    Failure.PRECONDITION: (StaleVersion, Reason.CHANGED),
    Failure.CONFLICT: (Unavailable, "another write of this file was in progress; try again"),
    Failure.BAD_RANGE: (IoFault, "the store refused the range"),
    Failure.BAD_KEY: (InvalidPath, "the store does not accept this name; use another one"),
    Failure.DENIED: (PermissionDenied, "the store refused access; the credentials lack a permission for this"),
    Failure.CREDENTIALS: (
        Unavailable,
        "the store did not accept the credentials; check key, token, profile and clock",
    ),
    Failure.NO_CREDENTIALS: (
        Unavailable,
        "no credentials were found; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    Failure.WRONG_REGION: (
        Unavailable,
        "the bucket is in another region; set its region or endpoint",
    ),
    Failure.ARCHIVED: (Unsupported, "the object is archived; restore it first"),
    Failure.NOT_OFFERED: (Unsupported, "the store does not offer this operation"),
    Failure.TOO_LARGE: (TooLarge, "the store does not accept an object of this size"),
    Failure.FULL: (NoSpace, "the store is full or a quota is reached"),
    Failure.THROTTLED: (Unavailable, "the store asks for fewer requests; try again later"),
    Failure.SERVER: (Unavailable, "the store had an internal error; try again later"),
    Failure.NOT_SENT: (Unavailable, "the store cannot be reached; check the endpoint and the network"),
    Failure.CUT: (Unavailable, "the connection to the store broke; try again"),
    Failure.OTHER_BYTES: (IoFault, "the store sent other bytes than it was asked for; try again"),
    Failure.ENDLESS: (Unavailable, "the store's listing does not come to an end; check the endpoint"),
    Failure.TIMEOUT: (Unavailable, "the store did not answer in time; try again later"),
    Failure.CLOSED: (Unavailable, "this store has been closed; open it again"),
    Failure.OTHER: (IoFault, "the store answered with an unexpected error"),
}

_RETRYABLE: Final = frozenset(
    {
        Failure.CONFLICT,
        Failure.THROTTLED,
        Failure.SERVER,
        Failure.NOT_SENT,
        Failure.CUT,
        Failure.OTHER_BYTES,
        Failure.TIMEOUT,
    }
)


def fs_error(failed: RequestFailed, *, path: str, operation: Operation) -> FsError:
    """Return the error that leaves the backend for `failed`; the caller chains it."""
    kind, reason = _MEANINGS[failed.failure]
    text = f"{reason} ({failed.code})" if failed.code else reason
    return kind(text, path=path, operation=operation, retryable=failed.failure in _RETRYABLE)
