"""A proxy in front of an S3 service: it counts requests and, where told to, answers itself, holds or breaks them."""

import http.client
import socket
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import urlsplit

from anyio import to_thread

from tests.support.waiting import WAIT_S

__all__ = ["Answer", "Bodiless", "Cut", "Drop", "FaultProxy", "Hold", "fault_proxy"]

_HOLD_TIMEOUT_S = 30.0
_IDLE_TIMEOUT_S = 30.0
"""Longer than clients keep an idle connection (aiobotocore: 12 s), so that none is sent a request when it closes."""


@dataclass(frozen=True)
class Answer:
    """Answer in the service's stead; it gets the request all the same if `forward`."""

    status: int
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    forward: bool = False


@dataclass(frozen=True)
class Drop:
    """Close the connection without an answer; before that, forward the request if `forward`, then call `then`."""

    forward: bool
    then: Callable[[], None] | None = None


@dataclass(frozen=True)
class Bodiless:
    """Forward the head of the request alone, and close the connection when the service has ended its own."""


@dataclass(frozen=True)
class Cut:
    """Forward the request, send the first bytes of the answer's body, and close the connection when they are `taken`.

    What a client has not taken when the end of a connection arrives it may throw away.
    """

    after_bytes: int
    taken: threading.Event


@dataclass(frozen=True)
class Hold:
    """Forward the request, then keep the answer back until `release` is set or the client is gone."""

    arrived: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    forward_first: bool = True

    async def has_arrived(self) -> None:
        """Wait for the request."""
        assert await to_thread.run_sync(self.arrived.wait, WAIT_S)


Fault = Answer | Bodiless | Cut | Drop | Hold


class FaultProxy:
    """Counts requests and keeps their ranges and the last headers of each method; `inject` faults for the next ones."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.endpoint_url = ""
        self.requests: list[str] = []
        self.headers: dict[str, dict[str, str]] = {}
        self._ranges: list[str] = []
        self._lock = threading.Lock()
        self._faults: list[tuple[str, Fault]] = []

    def inject(self, method: str, *faults: Fault) -> None:
        """Meet the next requests of `method` with `faults`, one each."""
        with self._lock:
            self._faults.extend((method, fault) for fault in faults)

    def counts(self) -> dict[str, int]:
        """Return how many requests of each method came, and forget them; a listing counts as LIST."""
        with self._lock:
            counted, self.requests = Counter(self.requests), []
        return dict(counted)

    def ranges(self) -> list[str]:
        """Return the ranges that were asked for, in order of arrival, and forget them."""
        with self._lock:
            ranges, self._ranges = self._ranges, []
        return ranges

    def take(self, method: str, path: str, headers: dict[str, str]) -> Fault | None:
        """Record a request and return what should happen to it."""
        with self._lock:
            self.requests.append("LIST" if method == "GET" and "list-type=2" in path else method)
            self.headers[self.requests[-1]] = headers
            self._ranges.extend(value for name, value in headers.items() if name == "range")
            for index, (wanted, fault) in enumerate(self._faults):
                if wanted == self.requests[-1]:
                    del self._faults[index]
                    return fault
        return None


@contextmanager
def fault_proxy(upstream: str) -> Generator[FaultProxy]:
    """Run a proxy for `upstream` on a free loopback port until the block ends."""
    proxy = FaultProxy(upstream)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    proxy.endpoint_url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128  # of the usual five the kernel drops what comes at once beyond them, for a second or more


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultProxy
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_TIMEOUT_S

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.take(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        match fault:
            case None:
                self._reply(*self._forward(body))
            case Answer():
                if fault.forward:
                    self._forward(body)
                text = f"<Error><Code>{fault.code}</Code><Message>injected</Message></Error>" if fault.code else ""
                self._reply(fault.status, list(fault.headers.items()), text.encode())
            case Bodiless():
                self._forward_head()
                self._break()
            case Drop():
                if fault.forward:
                    self._forward(body)
                if fault.then is not None:
                    fault.then()
                self._break()
            case Cut():
                self._reply(*self._forward(body), sent_bytes_max=fault.after_bytes)
                fault.taken.wait(_HOLD_TIMEOUT_S)
                self._break()
            case Hold():
                answer = self._forward(body) if fault.forward_first else None
                fault.arrived.set()
                if self._wait(fault.release):
                    self._reply(*(answer or self._forward(body)))
                else:
                    self._break()

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = handle_any  # noqa: N815 - names set by http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name set by http.server
        """Keep quiet."""

    def _forward_head(self) -> None:
        lines = [f"{self.command} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() != "expect"]
        host, _, port = self.proxy.upstream.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=_HOLD_TIMEOUT_S) as upstream:
            upstream.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
            upstream.shutdown(socket.SHUT_WR)
            while upstream.recv(1 << 16):
                pass  # the service acts before it ends the connection

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.proxy.upstream, timeout=_HOLD_TIMEOUT_S)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def _reply(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, sent_bytes_max: int | None = None
    ) -> None:
        self.send_response_only(status)
        has_length = False
        for name, value in headers:
            if name.lower() in {"connection", "transfer-encoding", "keep-alive"}:
                continue
            has_length = has_length or name.lower() == "content-length"
            self.send_header(name, value)
        if not has_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:sent_bytes_max])

    def _break(self) -> None:
        self.close_connection = True
        cast("socket.socket", self.connection).shutdown(socket.SHUT_RDWR)

    def _wait(self, release: threading.Event) -> bool:
        """Wait for `release`; false when the client went away first."""
        self.connection.settimeout(0.02)
        try:
            for _ in range(int(_HOLD_TIMEOUT_S / 0.02)):
                if release.is_set():
                    return True
                try:
                    if self.connection.recv(1, socket.MSG_PEEK) == b"":
                        return False
                except TimeoutError:
                    continue
            return False
        finally:
            self.connection.settimeout(_IDLE_TIMEOUT_S)
