"""The store's requests, typed and bounded: the only module that touches s3fs and aiobotocore.

s3fs owns credentials, configuration and session. Every request goes through its aiobotocore client, because s3fs'
own calls drop conditions above one part, tear reads in chunks and answer from caches.
"""

import base64
import random
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, cast
from urllib.parse import urlencode, urlsplit

import aiohttp
import anyio
import s3fs
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.loaders import Loader

from backends._answers import bounded_answers
from backends.options import S3Options
from backends.s3._errors import Failure, RequestFailed, failure_of
from backends.s3._objects import (
    BodyAnswer,
    BodyStream,
    ListAnswer,
    ObjectAnswer,
    ObjectHead,
    TagsAnswer,
    head_of,
    total_size,
    unquoted,
)

__all__ = ["ObjectBytes", "S3Client", "Stored", "backoff_s"]

T = TypeVar("T")

_READ_ATTEMPTS: Final = 3
_FIRST_PAUSE_S: Final = 0.1
_TRANSIENT: Final = frozenset({Failure.THROTTLED, Failure.SERVER, Failure.CUT})
_TRANSFER_RATE_MIN_BYTES_PER_S: Final = 1 << 20
"""A transfer gets, on top of the time limit of a request, the time that this rate needs."""

_LOADER: Final = Loader()
"""Parsed descriptions of the service, shared by all sessions: half a second of work each time otherwise."""

_CHUNK_BYTES: Final = 1 << 20

_ANSWER_BYTES_MAX: Final = 4 << 20
"""For listings and errors: a page of 1,000 keys of 1,024 bytes, percent-encoded, has less."""


class _RawClient(Protocol):
    """What is used of aiobotocore's S3 client."""

    @property
    def meta(self) -> "_Meta": ...

    async def get_object(self, **parameters: object) -> BodyAnswer: ...

    async def head_object(self, **parameters: object) -> ObjectAnswer: ...

    async def put_object(self, **parameters: object) -> ObjectAnswer: ...

    async def delete_object(self, **parameters: object) -> object: ...

    async def list_objects_v2(self, **parameters: object) -> ListAnswer: ...

    async def get_object_tagging(self, **parameters: object) -> TagsAnswer: ...

    async def close(self) -> None: ...


class _Meta(Protocol):
    @property
    def endpoint_url(self) -> str: ...


class _FileSystem(Protocol):
    """What is used of `s3fs.S3FileSystem`."""

    async def set_session(self) -> _RawClient: ...


class _Session(Protocol):
    """What is used of `AioSession`, which is untyped."""

    def register_component(self, name: str, component: object) -> None: ...


class _SessionSource(Protocol):
    """What is used of `AIOHTTPSession`, which is untyped."""

    async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession: ...


class _SingleSendSession(AIOHTTPSession):
    """An HTTP session that sends a request once, to the store alone, and takes no endless listings.

    aiohttp sends a PUT again when its connection breaks, even after the store has taken it, and then reports the
    fate of the copy. Sending again is decided in `backends.s3._publish`, after a look. And it would follow a redirect
    to any host; botocore finds another region of a bucket by itself.
    """

    async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession:
        base = cast("_SessionSource", super())
        session = await base._get_session(proxy_url)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        # These have no public name behind aiobotocore; aiohttp's own test client sets the first in the same way.
        session._retry_connection = False  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        session._response_class = _BoundedAnswer  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        return cast("aiohttp.ClientSession", _NoRedirects(session))


class _NoRedirects:
    """What aiobotocore uses of a session, without the redirects."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, method: str, **options: Any) -> aiohttp.ClientResponse:  # noqa: ANN401 - aiohttp's own
        answer = await self._session.request(method, allow_redirects=False, **options)
        try:
            for _, value in answer.raw_headers:
                value.decode()
        except UnicodeDecodeError as error:
            # aiobotocore would fail on it too, and leave the connection open.
            answer.close()
            raise aiohttp.ClientPayloadError("a header of the answer is no text") from error
        return answer


_BoundedAnswer: Final = bounded_answers(_ANSWER_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class ObjectBytes:
    """Bytes of an object from `offset` on, and what was said about it with them."""

    data: bytes
    offset: int
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

    def __init__(self, raw: _RawClient, *, bucket: str, options: S3Options) -> None:
        self._raw = raw
        self._bucket = bucket
        self._timeout_s = options.request_timeout_s
        self._is_closed = False

    @classmethod
    async def connect(cls, *, bucket: str, options: S3Options) -> "S3Client":
        """Prepare a client; the store is not asked yet."""
        try:
            with anyio.fail_after(options.request_timeout_s):
                files = cast("Callable[..., _FileSystem]", s3fs.S3FileSystem)(**_session_parameters(options))
                raw = await files.set_session()
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

    async def get(self, key: str, *, offset: int = 0, limit: int | None = None, etag: str | None = None) -> ObjectBytes:
        """Return up to `limit` bytes (at least 1) from `offset`, of the version `etag` if given."""
        parameters = self._at(key)
        if offset or limit is not None:
            last = "" if limit is None else offset + limit - 1
            parameters["Range"] = f"bytes={offset}-{last}"
        if etag is not None:
            parameters["IfMatch"] = f'"{etag}"'

        async def send(scope: anyio.CancelScope) -> ObjectBytes:
            answer = await self._raw.get_object(**parameters)
            body = answer["Body"]
            try:
                head = _pinned_head(answer, etag)
                start, total_bytes = total_size(answer)
                wanted_bytes = max(0, total_bytes - start)
                if limit is not None:
                    # A store that knows no ranges answers from the start.
                    wanted_bytes = min(wanted_bytes, max(0, offset - start) + limit)
                scope.deadline += wanted_bytes / _TRANSFER_RATE_MIN_BYTES_PER_S
                data = b"".join([piece async for piece in _pieces(body, wanted_bytes)])
            finally:
                body.close()
            return ObjectBytes(data=data, offset=start, head=head)

        return await self._request(send, attempts=_READ_ATTEMPTS)

    async def feed(self, key: str, sink: Callable[[bytes], None], *, etag: str, size_bytes: int) -> None:
        """Feed all bytes of the version `etag`, which has `size_bytes`, to `sink`; not tried again."""
        parameters = {**self._at(key), "IfMatch": f'"{etag}"'}

        async def send(scope: anyio.CancelScope) -> None:
            answer = await self._raw.get_object(**parameters)
            scope.deadline += size_bytes / _TRANSFER_RATE_MIN_BYTES_PER_S
            body = answer["Body"]
            try:
                _pinned_head(answer, etag)
                async for piece in _pieces(body, size_bytes):
                    sink(piece)
            finally:
                body.close()

        await self._request(send, attempts=1)

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
        self, prefix: str, *, size: int, delimiter: str | None = None, token: str | None = None
    ) -> ListAnswer:
        """Return up to `size` keys that start with `prefix`, folded at `delimiter`; `token` continues."""
        optional = {"Delimiter": delimiter, "ContinuationToken": token}
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
        """Send one PUT, once."""
        checksum: dict[str, object] = {}
        if self.is_aws:
            # Buckets with a default retention want one. Other stores may not know the header.
            checksum["ChecksumCRC32"] = base64.b64encode(zlib.crc32(data).to_bytes(4)).decode()

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


async def _pieces(body: BodyStream, size_bytes: int) -> AsyncGenerator[bytes]:
    """Yield a body to its end, or to the first piece that goes beyond `size_bytes`."""
    got = 0
    while got <= size_bytes and (piece := await body.read(min(_CHUNK_BYTES, size_bytes - got + 1))):
        got += len(piece)
        yield piece


def _pinned_head(answer: BodyAnswer, etag: str | None) -> ObjectHead:
    """Return what an answer to GET says; refuse another version than the one asked for, as stores ignore `If-Match`."""
    head = head_of(answer)
    if etag not in {None, head.etag}:
        raise RequestFailed(Failure.PRECONDITION)
    return head


def backoff_s(attempt: int) -> float:
    """Return the pause after the failed attempt number `attempt`, spread so that clients do not come back at once."""
    return _FIRST_PAUSE_S * 4 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, guards nothing


def _session_parameters(options: S3Options) -> dict[str, object]:
    """Return the arguments of `s3fs.S3FileSystem` for `options`."""
    given = {
        "endpoint_url": options.endpoint_url,
        "key": options.access_key_id,
        "secret": options.secret_access_key.get_secret_value() if options.secret_access_key else None,
        "token": options.session_token.get_secret_value() if options.session_token else None,
        "client_kwargs": {"region_name": options.region} if options.region else None,
    }
    session = cast("Callable[..., _Session]", AioSession)(profile=options.profile)
    session.register_component("data_loader", _LOADER)
    fixed: dict[str, object] = {
        "session": session,
        "asynchronous": True,
        "skip_instance_cache": True,
        "use_listings_cache": False,
        "config_kwargs": {
            "connect_timeout": options.connect_timeout_s,
            "read_timeout": options.request_timeout_s,
            "max_pool_connections": options.concurrency_max * 2,
            "retries": {"total_max_attempts": 1, "mode": "standard"},
            "request_checksum_calculation": "when_required",
            "response_checksum_validation": "when_required",
            "s3": {"addressing_style": options.addressing_style},
            "http_session_cls": _SingleSendSession,
            "warm_up_loader_caches": True,  # in a thread
        },
    }
    return {name: value for name, value in given.items() if value is not None} | fixed
