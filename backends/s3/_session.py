"""How the client of a store is made: the only module that touches s3fs and aiobotocore.

s3fs owns credentials, configuration and session. Every request goes through its aiobotocore client, because s3fs'
own calls drop conditions above one part, tear reads in chunks and answer from caches.
"""

import copy
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final, Protocol, cast
from xml.etree.ElementTree import Element

import aiohttp
import s3fs
from aiobotocore.hooks import AioHierarchicalEmitter
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.parsers import AioResponseParserFactory, AioRestXMLParser
from aiobotocore.session import AioSession
from botocore.httpsession import get_cert_path  # pyright: ignore[reportUnknownVariableType] - untyped
from botocore.loaders import Loader
from botocore.utils import parse_timestamp  # pyright: ignore[reportUnknownVariableType] - untyped

from backends._answers import bounded_answers
from backends.options import S3Options
from backends.s3._objects import BodyAnswer, ListAnswer, ObjectAnswer, TagsAnswer

__all__ = ["Endpoint", "Parsers", "RawClient", "moment", "raw_client"]

_LOADER: Final = Loader()
"""Parsed descriptions of the service, shared by all sessions: half a second of work each time otherwise."""

_ANSWER_BYTES_MAX: Final = 4 << 20
"""For listings and errors: a page of 1,000 keys of 1,024 bytes, percent-encoded, has less."""

_SENT_AT_ONCE_BYTES_MAX: Final = 1 << 20
"""Up to here a PUT is one round trip. Above, the store may refuse it before the body is sent, which is another one."""


class RawClient(Protocol):
    """What is used of aiobotocore's S3 client."""

    @property
    def meta(self) -> "Endpoint": ...

    async def get_object(self, **parameters: object) -> BodyAnswer: ...

    async def head_object(self, **parameters: object) -> ObjectAnswer: ...

    async def put_object(self, **parameters: object) -> ObjectAnswer: ...

    async def delete_object(self, **parameters: object) -> object: ...

    async def list_objects_v2(self, **parameters: object) -> ListAnswer: ...

    async def get_object_tagging(self, **parameters: object) -> TagsAnswer: ...

    async def close(self) -> None: ...


class Endpoint(Protocol):
    """What is used of the client's description of itself."""

    @property
    def endpoint_url(self) -> str: ...


class _FileSystem(Protocol):
    """What is used of `s3fs.S3FileSystem`."""

    async def set_session(self) -> RawClient: ...


class _Session(Protocol):
    """What is used of `AioSession`, which is untyped."""

    def register_component(self, name: str, component: object) -> None: ...

    def register(self, event_name: str, handler: Callable[..., None]) -> None: ...


class _ParserFactory(Protocol):
    """What is used of botocore's `ResponseParserFactory`, which is untyped."""

    def set_parser_defaults(self, *, timestamp_parser: Callable[[object], datetime]) -> None: ...

    def create_parser(self, protocol_name: str) -> AioRestXMLParser: ...


class _Shape(Protocol):
    """What is used of botocore's description of a part of an answer, which is untyped."""

    @property
    def name(self) -> str: ...


class _XmlParser(Protocol):
    """What is used of `AioRestXMLParser`, which is untyped."""

    def _handle_structure(self, shape: _Shape, node: Element) -> dict[str, Any]: ...


class _PutRequest(Protocol):
    """What is used of botocore's `AWSRequest`, which is untyped. Deleting a header that is not there is no error."""

    @property
    def data(self) -> BytesIO: ...

    @property
    def headers(self) -> Message: ...


class _SessionSource(Protocol):
    """What is used of `AIOHTTPSession`, which is untyped."""

    async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession: ...

    def _build_ssl_contexts(self, proxy_url: str | None) -> tuple[SSLContext, SSLContext | None]: ...


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

    def _build_ssl_contexts(self, proxy_url: str | None) -> tuple[SSLContext, SSLContext | None]:
        """Return the context for a store, and the one for a proxy; in a thread."""
        if proxy_url is None:
            bundle = cast("Callable[[object], str]", get_cert_path)(self._verify)
            changed = Path(bundle).stat()
            return _trusting(bundle, changed.st_mtime_ns, changed.st_size), None
        base = cast("_SessionSource", super())
        return base._build_ssl_contexts(proxy_url)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


@lru_cache(maxsize=4)
def _trusting(bundle: str, _changed_at_ns: int, _size_bytes: int) -> SSLContext:
    """Return a context that trusts the authorities of a file, which takes 30 ms to read; `http:` needs one too."""
    session = cast("_SessionSource", AIOHTTPSession(verify=cast("bool", bundle)))
    return session._build_ssl_contexts(None)[0]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


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


class _ListingParser(AioRestXMLParser):
    """The parser of answers, which takes what is used of a listed object by name.

    botocore goes through its description of an object for each one, a millisecond for forty of them.
    """

    def _handle_structure(self, shape: _Shape, node: Element) -> dict[str, Any]:
        if shape.name != "Object":
            parser = cast("_XmlParser", super())
            return parser._handle_structure(shape, node)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        namespace = node.tag.removesuffix("Contents")
        key, size = node.findtext(f"{namespace}Key"), node.findtext(f"{namespace}Size")
        changed = node.findtext(f"{namespace}LastModified")
        item: dict[str, Any] = {}
        if key is not None:
            item["Key"] = key
        if size is not None:
            item["Size"] = int(size)
        if changed is not None:
            item["LastModified"] = moment(changed)
        return item


class Parsers(AioResponseParserFactory):
    """Makes the parsers of all services that a session speaks with."""

    def create_parser(self, protocol_name: str) -> AioRestXMLParser:
        if protocol_name == "rest-xml":
            return cast("Callable[..., AioRestXMLParser]", _ListingParser)(timestamp_parser=moment)
        return cast("_ParserFactory", super()).create_parser(protocol_name)


@cache
def _reactions() -> AioHierarchicalEmitter:
    """Return what every session reacts to. To register it anew takes half of the time that making a client does."""
    reactions = AioHierarchicalEmitter()
    cast("Callable[..., object]", AioSession)(event_hooks=reactions)
    return reactions


async def raw_client(options: S3Options) -> RawClient:
    """Return a client for `options`; the store is not asked yet. What the libraries raise passes."""
    files = cast("Callable[..., _FileSystem]", s3fs.S3FileSystem)(**_session_parameters(options))
    return await files.set_session()


def _session_parameters(options: S3Options) -> dict[str, object]:
    """Return the arguments of `s3fs.S3FileSystem` for `options`."""
    given = {
        "endpoint_url": options.endpoint_url,
        "key": options.access_key_id,
        "secret": options.secret_access_key.get_secret_value() if options.secret_access_key else None,
        "token": options.session_token.get_secret_value() if options.session_token else None,
        "client_kwargs": {"region_name": options.region} if options.region else None,
    }
    session = cast("Callable[..., _Session]", AioSession)(
        profile=options.profile, event_hooks=copy.copy(_reactions()), include_builtin_handlers=False
    )
    session.register_component("data_loader", _LOADER)
    parsers = cast("Callable[[], _ParserFactory]", Parsers)()
    parsers.set_parser_defaults(timestamp_parser=moment)
    session.register_component("response_parser_factory", parsers)
    session.register("request-created.s3.PutObject", _send_at_once)
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
            "user_agent": "seamfs",  # else it is put together for every request, a tenth of its cost
        },
    }
    return {name: value for name, value in given.items() if value is not None} | fixed


def _send_at_once(request: _PutRequest, **_: object) -> None:
    """Take `Expect: 100-continue` from a small PUT; botocore sets it whatever the size of the body."""
    if len(request.data.getvalue()) <= _SENT_AT_ONCE_BYTES_MAX:
        del request.headers["Expect"]


def moment(value: object) -> datetime:
    """Return what botocore makes of a timestamp; its general parser takes 0.2 ms for each answer and listed key."""
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value) if value.endswith("Z") else parsedate_to_datetime(value)
    return cast("Callable[[object], datetime]", parse_timestamp)(value)
