"""The store's requests, typed and bounded."""

import base64
import hashlib
import random
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

import anyio
from anyio import to_thread

from backends.options import S3Options
from backends.s3._bodies import AskedBody, asked_body
from backends.s3._errors import Failure, RequestFailed, failure_of
from backends.s3._objects import ListAnswer, ObjectHead, head_of, unquoted
from backends.s3._session import RawClient, raw_client

__all__ = ["ObjectBytes", "S3Client", "Stored", "backoff_s"]

T = TypeVar("T")

_READ_ATTEMPTS: Final = 3
_FIRST_PAUSE_S: Final = 0.1
_TRANSIENT: Final = frozenset({Failure.THROTTLED, Failure.SERVER, Failure.CUT})
_INLINE_BYTES_MAX: Final = 1 << 16
"""Above, the checksum of a body is made in a thread."""

_TRANSFER_RATE_MIN_BYTES_PER_S: Final = 1 << 20
"""A transfer gets, on top of the time limit of a request, the time that this rate needs."""


@dataclass(frozen=True, slots=True)
class ObjectBytes:
    """Bytes of an object, and what was said about it with them."""

    data: bytes
    head: ObjectHead


@dataclass(frozen=True, slots=True)
class Stored:
    """What a PUT produced."""

    etag: str
    version_id: str


class S3Client:
    """Requests to one bucket. Each is bounded in time; all but PUT and DELETE are tried again on transient faults.

    Every method raises `RequestFailed` and nothing else.
    """

    def __init__(self, raw: RawClient, *, bucket: str, options: S3Options) -> None:
        self._raw = raw
        self._bucket = bucket
        self._timeout_s = options.request_timeout_s
        self._is_closed = False

    @classmethod
    async def connect(cls, *, bucket: str, options: S3Options) -> "S3Client":
        """Prepare a client; the store is not asked yet."""
        try:
            with anyio.fail_after(options.request_timeout_s):
                raw = await raw_client(options)
        except Exception as error:
            raise failure_of(error) from error
        return cls(raw, bucket=bucket, options=options)

    @property
    def endpoint(self) -> str:
        """Host and port of the store."""
        return urlsplit(self._raw.meta.endpoint_url).netloc

    @property
    def request_timeout_s(self) -> float:
        """Within which a small request has ended."""
        return self._timeout_s

    @property
    def is_aws(self) -> bool:
        """Whether the store is Amazon S3 itself, whose guards are documented and need no probe."""
        host = urlsplit(self._raw.meta.endpoint_url).hostname or ""
        return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))

    async def get(
        self,
        key: str,
        *,
        offset: int = 0,
        limit: int | None = None,
        etag: str | None = None,
        size_bytes_max: int | None = None,
    ) -> ObjectBytes:
        """Return up to `limit` bytes (at least 1) from `offset`, of the version `etag` if given.

        Nothing is read of an object that has more than `size_bytes_max`.
        """

        async def send(scope: anyio.CancelScope) -> ObjectBytes:
            async with self._answer(key, offset=offset, limit=limit, etag=etag) as body:
                content = BytesIO()  # gives its bytes away without another copy
                if size_bytes_max is None or body.head.size_bytes <= size_bytes_max:
                    scope.deadline += body.transfer_bytes / _TRANSFER_RATE_MIN_BYTES_PER_S
                    await body.receive(content.write)
            return ObjectBytes(data=content.getvalue(), head=body.head)

        return await self._request(send, attempts=_READ_ATTEMPTS)

    async def feed(
        self,
        key: str,
        sink: Callable[[bytes], None],
        *,
        offset: int = 0,
        limit: int | None = None,
        etag: str | None = None,
        on_head: Callable[[ObjectHead], None] | None = None,
    ) -> None:
        """Feed what `get` would return to `sink` as it arrives; after a transient fault it goes on where it was.

        All bytes are of one version, that of the first answer. `on_head` is told of each answer before its bytes.
        """
        position, version = offset, etag

        def take(piece: bytes) -> None:
            nonlocal position
            sink(piece)
            position += len(piece)

        async def send(scope: anyio.CancelScope) -> None:
            nonlocal version
            rest = None if limit is None else offset + limit - position
            async with self._answer(key, offset=position, limit=rest, etag=version) as body:
                version = body.head.etag
                if on_head is not None:
                    on_head(body.head)
                scope.deadline += body.transfer_bytes / _TRANSFER_RATE_MIN_BYTES_PER_S
                await body.receive(take)

        await self._request(send, attempts=_READ_ATTEMPTS)

    @asynccontextmanager
    async def _answer(self, key: str, *, offset: int, limit: int | None, etag: str | None) -> AsyncGenerator[AskedBody]:
        """Send one GET; its answer is given up at the end of the block."""
        parameters = self._at(key)
        if offset or limit is not None:
            last = "" if limit is None else offset + limit - 1
            parameters["Range"] = f"bytes={offset}-{last}"
        if etag is not None:
            parameters["IfMatch"] = f'"{etag}"'
        answer = await self._raw.get_object(**parameters)
        try:
            body = asked_body(answer, offset=offset, limit=limit)
            if etag not in {None, body.head.etag}:
                raise RequestFailed(Failure.PRECONDITION)  # stores ignore `If-Match`
            yield body
        finally:
            answer["Body"].close()

    async def head(self, key: str) -> ObjectHead | None:
        """Return what the store says about an object, or `None` when there is none."""

        async def send(_: anyio.CancelScope) -> ObjectHead:
            return head_of(await self._raw.head_object(**self._at(key)))

        try:
            return await self._request(send, attempts=_READ_ATTEMPTS)
        except RequestFailed as failed:
            if failed.failure is Failure.MISSING:
                return None
            if failed.failure in {Failure.DENIED, Failure.OTHER}:
                # The answer to HEAD has no body, so it cannot tell a bad key from a forbidden object; a listing can.
                await self.list_page(key, size=1)
            raise

    async def list_page(
        self,
        prefix: str,
        *,
        size: int,
        delimiter: str | None = None,
        token: str | None = None,
        behind: str | None = None,
    ) -> ListAnswer:
        """Return up to `size` keys that start with `prefix`, folded at `delimiter`.

        `token` continues; `behind` begins with the first key behind that one.
        """
        optional = {"Delimiter": delimiter, "ContinuationToken": token, "StartAfter": behind}
        given = {name: value for name, value in optional.items() if value is not None}

        async def send(_: anyio.CancelScope) -> ListAnswer:
            return await self._raw.list_objects_v2(Bucket=self._bucket, Prefix=prefix, MaxKeys=size, **given)

        return await self._request(send, attempts=_READ_ATTEMPTS)

    async def has_any(self, prefix: str) -> bool:
        """Tell whether some key starts with `prefix`."""
        return bool((await self.list_page(prefix, size=1)).get("Contents"))

    async def tagging(self, key: str) -> str:
        """Return an object's tags in the form that PUT takes."""

        async def send(_: anyio.CancelScope) -> str:
            tags = await self._raw.get_object_tagging(**self._at(key))
            return urlencode([(tag["Key"], tag["Value"]) for tag in tags["TagSet"]])

        return await self._request(send, attempts=_READ_ATTEMPTS)

    async def put(self, key: str, data: bytes, *, parameters: Mapping[str, object]) -> Stored:
        """Send one PUT, once, with a checksum.

        SeaweedFS 4.48 stores an empty object when a connection ends between head and body of a PUT, unless a checksum
        says what the body is. Buckets of Amazon S3 with a default retention take no PUT without one.
        """
        checksum = (
            await to_thread.run_sync(self._checksum, data) if len(data) > _INLINE_BYTES_MAX else self._checksum(data)
        )

        async def send(scope: anyio.CancelScope) -> Stored:
            scope.deadline += len(data) / _TRANSFER_RATE_MIN_BYTES_PER_S
            answer = await self._raw.put_object(**self._at(key), Body=data, **parameters, **checksum)
            return Stored(etag=unquoted(answer.get("ETag", "")), version_id=answer.get("VersionId", ""))

        return await self._request(send, attempts=1)

    async def delete(self, key: str, *, version_id: str = "") -> None:
        """Remove an object, or for good one version of it."""
        version = {"VersionId": version_id} if version_id else {}

        async def send(_: anyio.CancelScope) -> None:
            await self._raw.delete_object(**self._at(key), **version)

        await self._request(send, attempts=1)

    async def aclose(self) -> None:
        """Close all connections, also when the caller is being cancelled; idempotent."""
        if not self._is_closed:
            self._is_closed = True
            with anyio.CancelScope(shield=True):
                await self._raw.close()

    def _checksum(self, data: bytes) -> dict[str, object]:
        if self.is_aws:
            # Its directory buckets take no MD5, and other stores may not know this one.
            return {"ChecksumCRC32": base64.b64encode(zlib.crc32(data).to_bytes(4)).decode()}
        return {"ContentMD5": base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()}

    def _at(self, key: str) -> dict[str, object]:
        return {"Bucket": self._bucket, "Key": key}

    async def _request(self, send: Callable[[anyio.CancelScope], Awaitable[T]], *, attempts: int) -> T:
        """Await `send` within the time limit, again on transient faults while attempts are left."""
        if self._is_closed:
            raise RequestFailed(Failure.CLOSED)
        # Not `fail_after`, which looks at the clock again: `send` may have moved the deadline when it was just reached.
        with anyio.move_on_after(self._timeout_s) as scope:
            for attempt in range(1, attempts + 1):
                try:
                    return await send(scope)
                except Exception as error:
                    failed = failure_of(error)
                    if attempt == attempts or failed.failure not in _TRANSIENT:
                        raise failed from error
                await anyio.sleep(backoff_s(attempt))
        raise RequestFailed(Failure.TIMEOUT)


def backoff_s(attempt: int) -> float:
    """Return the pause after the failed attempt number `attempt`, spread so that clients do not come back at once."""
    return _FIRST_PAUSE_S * 4 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, guards nothing
