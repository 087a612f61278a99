"""The HTTP transport: the one of the SDK over a client that bounds what comes in and keeps what is secret to itself."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio.to_thread
import httpx2
from mcp.client.streamable_http import streamable_http_client

from progressive.gateway._ending import Ending
from progressive.gateway._pace import Pace, effort
from progressive.gateway._wire import TooDeepError, message_of
from progressive.gateway.mounts import HttpMount, revealed
from progressive.gateway.options import GatewayOptions

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

__all__ = ["http_transport"]

_CONNECT_TIMEOUT_S = 30.0
# A call is given up by its own timeout; this one only keeps what nobody waits for from staying for good.
_ANSWER_SLACK_S = 10.0
_BREAK = b"\n"


@asynccontextmanager
async def http_transport(
    mount: HttpMount, options: GatewayOptions, *, ending: Ending
) -> AsyncGenerator[TransportStreams]:
    """Reach the server of a mount."""
    context = await anyio.to_thread.run_sync(_certificates)
    guarded = _GuardedTransport(httpx2.AsyncHTTPTransport(verify=context), mount, options, ending)
    # The environment could add a password from ~/.netrc.
    client = httpx2.AsyncClient(transport=guarded, trust_env=False, timeout=_CONNECT_TIMEOUT_S)
    async with (
        client,
        streamable_http_client(
            mount.address, http_client=client, max_sse_event_size=2 * options.message_bytes_max
        ) as streams,
    ):
        yield streams


@cache
def _certificates() -> ssl.SSLContext:
    """Return what servers are checked with; reading it takes tens of milliseconds."""
    return httpx2.create_ssl_context()


class _GuardedTransport(httpx2.AsyncBaseTransport):
    """Adds what is secret to requests, below everything that logs them, and bounds what comes back."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, mount: HttpMount, options: GatewayOptions, ending: Ending
    ) -> None:
        self._inner = inner
        self._url = httpx2.URL(mount.url)
        self._headers = _secret_headers(mount, self._url)
        self._options = options
        self._ending = ending
        self._pace = Pace(options.messages_per_s_max)
        self._is_session_gone = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if _origin(request.url) != _origin(self._url):
            self._ending.seal("the server redirects to another origin")
            raise httpx2.ConnectError("redirected to another origin", request=request)
        if request.method == "DELETE" and self._is_session_gone:
            return httpx2.Response(HTTPStatus.NO_CONTENT)
        response = await self._inner.handle_async_request(self._completed(request))
        self._note(request, response)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise self._broken("the server compressed an answer, which it was not asked to")
        return httpx2.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=self._bounded(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _completed(self, request: httpx2.Request) -> httpx2.Request:
        headers = request.headers.copy()
        headers.update(self._headers)
        # Compressed, a small answer could become one of any size.
        headers["accept-encoding"] = "identity"
        # Events may be far apart.
        waits_for_events = request.method == "GET" or headers.get("mcp-method") == "subscriptions/listen"
        read_s = None if waits_for_events else self._options.call_timeout_s + _ANSWER_SLACK_S
        return httpx2.Request(
            request.method,
            request.url.copy_with(query=self._url.query or None),
            headers=headers,
            stream=request.stream,
            extensions={**request.extensions, "timeout": httpx2.Timeout(_CONNECT_TIMEOUT_S, read=read_s).as_dict()},
        )

    def _note(self, request: httpx2.Request, response: httpx2.Response) -> None:
        if request.method != "POST":
            return
        status = response.status_code
        self._ending.hint = "" if status < HTTPStatus.BAD_REQUEST else f"it answered with HTTP status {status}"
        if status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            self._is_session_gone = True
            self._ending.seal("the server no longer knows the session")

    def _bounded(self, response: httpx2.Response) -> _Body:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return _Body(response, self._events(response) if kind == "text/event-stream" else self._whole(response, kind))

    async def _whole(self, response: httpx2.Response, kind: str) -> AsyncGenerator[bytes]:
        body = bytearray()
        async for chunk in _chunks(response):
            body += chunk
            if len(body) > self._options.message_bytes_max:
                raise self._too_large()
        whole = bytes(body)
        await self._pace.spend(effort(whole))
        if kind == "application/json" and response.is_success:
            self._check(whole)
        yield whole

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[bytes]:
        """Yield one event after the other, each looked at before the SDK, whose reports of faults take their time."""
        lines: list[bytes] = []
        size_bytes = 0
        started = bytearray()
        async for chunk in _chunks(response):
            *ended, rest = chunk.split(_BREAK)
            for part in ended:
                started += part
                line = bytes(started).removesuffix(b"\r")
                started.clear()
                lines.append(line)
                size_bytes += len(line) + 1
                if size_bytes > self._options.message_bytes_max:
                    raise self._too_large()
                if not line:
                    event = _BREAK.join((*lines, b""))
                    await self._pace.spend(effort(event))
                    self._check_event(lines)
                    yield event
                    lines, size_bytes = [], 0
            started += rest
            if size_bytes + len(started) > self._options.message_bytes_max:
                raise self._too_large()

    def _check_event(self, lines: list[bytes]) -> None:
        if any(b"\r" in line for line in lines):
            raise self._broken("the server sent an event that is no JSON-RPC message")
        data = _BREAK.join(line.removeprefix(b"data:") for line in lines if line.startswith(b"data:"))
        if data.strip():
            self._check(data)

    def _check(self, message: bytes) -> None:
        try:
            message_of(message)
        except TooDeepError:
            raise self._broken("the server sent a message that nests too deep to be read") from None
        except ValueError:
            raise self._broken("the server sent something that is no JSON-RPC message") from None

    def _too_large(self) -> httpx2.ReadError:
        self._ending.seal_oversized(self._options.message_bytes_max)
        return httpx2.ReadError(self._ending.reason)

    def _broken(self, reason: str) -> httpx2.ReadError:
        self._ending.seal(reason)
        return httpx2.ReadError(reason)


class _Body(httpx2.AsyncByteStream):
    """The body of a response, read through something that looks at it."""

    def __init__(self, response: httpx2.Response, chunks: AsyncGenerator[bytes]) -> None:
        self._response = response
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        await self._chunks.aclose()
        await self._response.aclose()


def _chunks(response: httpx2.Response) -> httpx2.AsyncByteStream:
    if not isinstance(response.stream, httpx2.AsyncByteStream):
        raise TypeError("an asynchronous transport gives an asynchronous body")
    return response.stream


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _secret_headers(mount: HttpMount, url: httpx2.URL) -> dict[str, str]:
    headers = revealed(mount.headers)
    if url.userinfo and not any(name.lower() == "authorization" for name in headers):
        credentials = f"{url.username}:{url.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(credentials).decode()}"
    return headers
