"""S3 and compatible stores. asyncio only."""

import asyncio
from urllib.parse import urlsplit

from backends.options import S3Options
from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed, fs_error
from backends.s3._keys import Location, parse_location
from backends.s3._probe import Guards, ProbeCheck, ProbeReport
from backends.s3.backend import S3Backend
from fs_core.cancellation import to_the_end
from fs_core.errors import NotDirectory, Unsupported

__all__ = ["Guards", "ProbeCheck", "ProbeReport", "S3Backend", "open_s3"]


async def open_s3(url: str, options: S3Options) -> S3Backend:
    """Open the workspace `s3://bucket/prefix`; nothing is written.

    One LIST proves that the bucket answers, and one HEAD for each name of the prefix that it goes through no object.

    Raises:
        InvalidPath: the URL names no bucket, or a prefix that no path can continue.
        NotFound: the bucket does not exist.
        NotDirectory: the prefix is an object, or goes through one.
        PermissionDenied: the credentials may not list the bucket.
        Unavailable: endpoint, credentials or region do not work.
        Unsupported: not under asyncio, or credentials in the endpoint's URL.
    """
    location = parse_location(url)
    _require_asyncio(location.url)
    endpoint = urlsplit(options.endpoint_url or "")
    if endpoint.username is not None or endpoint.password is not None:
        reason = "credentials do not belong in endpoint_url; use the AWS credential chain or the settings"
        raise Unsupported(reason, path=location.url, operation="open")
    try:
        client = await S3Client.connect(bucket=location.bucket, options=options)
        try:
            await client.list_page(location.below(location.prefix), size=1)
            await _refuse_root_in_a_file(client, location)
        except BaseException:
            await to_the_end(client.aclose)
            raise
    except RequestFailed as failed:
        raise fs_error(_at_open(failed, endpoint=endpoint.netloc), path=location.url, operation="open") from failed
    return S3Backend(client, location, options)


async def _refuse_root_in_a_file(client: S3Client, location: Location) -> None:
    """A prefix that is, or goes through, an object would make that object a file and a directory at once."""
    names = location.prefix.split("/") if location.prefix else []
    for depth in range(1, len(names) + 1):
        try:
            found = await client.head("/".join(names[:depth]))
        except RequestFailed as failed:
            if failed.failure is not Failure.DENIED:
                raise
            continue  # credentials for the prefix alone may not look above it
        if found is not None:
            reason = f"the root lies in the object {'/'.join(names[:depth])}, which is a file; use another prefix"
            raise NotDirectory(reason, path=location.url, operation="open")


def _require_asyncio(url: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        reason = "the S3 backend runs under asyncio only; start the event loop with asyncio"
        raise Unsupported(reason, path=url, operation="open") from None


def _at_open(failed: RequestFailed, *, endpoint: str) -> RequestFailed:
    """Say what a failure means when nothing has worked yet: a missing thing is the bucket, silence is the endpoint."""
    if failed.failure is Failure.MISSING:
        return RequestFailed(Failure.NO_BUCKET, code=failed.code)
    if failed.failure in {Failure.NOT_SENT, Failure.TIMEOUT}:
        return RequestFailed(failed.failure, code=endpoint)
    return failed
