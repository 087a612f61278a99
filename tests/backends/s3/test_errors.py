from typing import Any

import aiohttp
import pytest
from botocore import exceptions as botocore_errors

from backends.s3._errors import Failure, failure_of, fs_error
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NoSpace,
    NotFound,
    PermissionDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)

URL = "http://user:topsecret@store/bucket"


def answered(status: int, code: str) -> botocore_errors.ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "topsecret", "StringToSign": "topsecret"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return botocore_errors.ClientError(response, "PutObject")


@pytest.mark.parametrize(
    ("status", "code", "expected", "retryable"),
    [
        (404, "NoSuchKey", NotFound, False),
        (404, "404", NotFound, False),
        (404, "NoSuchBucket", NotFound, False),
        (400, "InvalidBucketName", InvalidPath, False),
        (400, "KeyTooLongError", InvalidPath, False),
        (412, "PreconditionFailed", StaleVersion, False),
        (409, "ConditionalRequestConflict", Unavailable, True),
        (416, "InvalidRange", IoFault, False),
        (403, "AccessDenied", PermissionDenied, False),
        (403, "403", PermissionDenied, False),
        (403, "InvalidAccessKeyId", Unavailable, False),
        (403, "SignatureDoesNotMatch", Unavailable, False),
        (400, "ExpiredToken", Unavailable, False),
        (401, "Unauthorized", Unavailable, False),
        (301, "PermanentRedirect", Unavailable, False),
        (400, "AuthorizationHeaderMalformed", Unavailable, False),
        (403, "InvalidObjectState", Unsupported, False),
        (501, "NotImplemented", Unsupported, False),
        (400, "EntityTooLarge", TooLarge, False),
        (403, "QuotaExceeded", NoSpace, False),
        (507, "InsufficientStorage", NoSpace, False),
        (503, "SlowDown", Unavailable, True),
        (429, "Busy", Unavailable, True),
        (500, "InternalError", Unavailable, True),
        (502, "Bad Gateway\n", Unavailable, True),
        (504, "Slow", Unavailable, True),
        (400, "Curious", IoFault, False),
    ],
)
def test_answer_of_the_store_has_one_meaning(status: int, code: str, expected: type[FsError], retryable: bool) -> None:
    error = fs_error(failure_of(answered(status, code)), path="a", operation="write")
    assert type(error) is expected
    assert error.retryable is retryable
    assert str(error).isprintable()
    assert "topsecret" not in f"{error} {error!r}"


def broken(cause: Exception) -> Exception:
    """An error as the HTTP layer raises it while it handles `cause`."""
    error = botocore_errors.EndpointConnectionError(endpoint_url=URL, error=cause)
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (botocore_errors.NoCredentialsError(), Failure.NO_CREDENTIALS),
        (botocore_errors.ProfileNotFound(profile="p"), Failure.NO_CREDENTIALS),
        (botocore_errors.ConnectTimeoutError(endpoint_url=URL), Failure.NOT_SENT),
        (botocore_errors.SSLError(endpoint_url=URL, error="x"), Failure.NOT_SENT),
        (broken(aiohttp.ClientOSError(104, "reset")), Failure.CUT),
        (botocore_errors.ReadTimeoutError(endpoint_url=URL), Failure.TIMEOUT),
        (botocore_errors.ConnectionClosedError(endpoint_url=URL), Failure.CUT),
        (aiohttp.ClientPayloadError(), Failure.CUT),
        (ConnectionResetError(), Failure.CUT),
        (TimeoutError(), Failure.TIMEOUT),
        (ValueError("topsecret"), Failure.OTHER),
    ],
)
def test_error_of_the_client_library_has_one_meaning(error: Exception, expected: Failure) -> None:
    failed = failure_of(error)
    assert failed.failure is expected
    shown = fs_error(failed, path="a", operation="read")
    assert "topsecret" not in f"{failed} {shown} {shown!r}"


def test_every_failure_has_a_meaning() -> None:
    for failure in Failure:
        failed = failure_of(answered(400, "x"))
        failed.failure = failure
        assert fs_error(failed, path="a", operation="read").reason
