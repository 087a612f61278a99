"""S3 and compatible stores. asyncio only."""

import asyncio
from urllib.parse import urlsplit

import anyio

from backends.options import S3Options
from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed, fs_error
from backends.s3._keys import Location, parse_location
from backends.s3._objects import ObjectHead
from backends.s3._probe import Guards, ProbeCheck, ProbeReport
from backends.s3.backend import S3Backend
from fs_core.cancellation import to_the_end
from fs_core.errors import NotDirectory, Unsupported

__all__ = ["Guards", "ProbeCheck", "ProbeReport", "S3Backend", "open_s3"]


async def open_s3(url: str, options: S3Options) -> S3Backend:
    """Open the workspace `s3://bucket/prefix`; nothing is written.

    One LIST proves that the bucket answers, and one HEAD for each name of the prefix that it goes through no object.
    All are one round trip.

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
            await _look(client, location)
        except BaseException:
            await to_the_end(client.aclose)
            raise
    except RequestFailed as failed:
        raise fs_error(_at_open(failed, endpoint=endpoint.netloc), path=location.url, operation="open") from failed
    return S3Backend(client, location, options)


async def _look(client: S3Client, location: Location) -> None:
    """Ask, all at once, whether the bucket can be listed and whether the prefix is, or goes through, an object.

    Such an object would be a file and a directory at once. Of several things that are wrong the listing's is told,
    then the topmost.
    """
    names = location.prefix.split("/") if location.prefix else []
    keys = ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]
    heads: dict[str, ObjectHead | RequestFailed | None] = {}
    unlisted: RequestFailed | None = None

    async def head(key: str) -> None:
        try:
            heads[key] = await client.head(key)
        except RequestFailed as failed:
            heads[key] = failed

    async with anyio.create_task_group() as group:
        for key in keys:
            group.start_soon(head, key)
        try:
            await client.list_page(location.below(location.prefix), size=1)
        except RequestFailed as failed:
            unlisted = failed
            group.cancel_scope.cancel()
    if unlisted is not None:
        raise unlisted
    for key in keys:
        match heads[key]:
            case RequestFailed(failure=Failure.DENIED) | None:
                continue  # credentials for the prefix alone may not look above it
            case RequestFailed() as failed:
                raise failed
            case ObjectHead():
                reason = f"the root lies in the object {key}, which is a file; use another prefix"
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
