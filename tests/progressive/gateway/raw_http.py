"""An HTTP server that answers as it is told, one connection for each request."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["Answer", "Asked", "RawHttp", "json_answer", "legacy"]

HEAD_BYTES_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def rpc(self) -> str:
        return str(self.body.get("method", ""))


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    stays: bool = False


Handler = Callable[[Asked], Awaitable[Answer]]


def json_answer(asked: Asked, result: Any, **headers: str) -> Answer:
    body = json.dumps({"jsonrpc": "2.0", "id": asked.body.get("id"), "result": result}).encode()
    return Answer(200, {"Content-Type": "application/json", **headers}, body)


def legacy(on_call: Handler, *, tools: Any = ({"name": "tool", "inputSchema": {"type": "object"}},)) -> Handler:
    """Return a handler for a server with sessions that knows the handshake only."""

    async def handler(asked: Asked) -> Answer:
        match asked.method, asked.rpc:
            case "POST", "initialize":
                return _initialized(asked)
            case "POST", "tools/list":
                return json_answer(asked, {"tools": tools})
            case "POST", "tools/call" | "ping":
                return await on_call(asked)
            case method, rpc:
                return Answer({"GET": 405, "DELETE": 200}.get(method, 400 if rpc == "server/discover" else 202))

    return handler


def _initialized(asked: Asked) -> Answer:
    capabilities: dict[str, Any] = {"tools": {}}
    result: dict[str, Any] = {
        "protocolVersion": asked.body["params"]["protocolVersion"],
        "capabilities": capabilities,
        "serverInfo": {"name": "raw", "version": "1"},
    }
    return json_answer(asked, result, **{"Mcp-Session-Id": "session-1"})


class RawHttp:
    """Where it listens, and what it was asked."""

    def __init__(self, port: int, handler: Handler) -> None:
        self.port = port
        self.handler = handler
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @classmethod
    @asynccontextmanager
    async def running(cls, handler: Handler) -> AsyncGenerator[RawHttp]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        server = cls(listener.extra(SocketAttribute.local_port), handler)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, server.serve)
            yield server
            tasks.cancel_scope.cancel()

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                asked = await _read(stream)
                self.asked.append(asked)
                answer = await self.handler(asked)
                await _write(stream, answer)
                if answer.stays:
                    await anyio.sleep_forever()
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
                # The client went away, which is what some of the tests are about.
                return


async def _read(stream: SocketStream) -> Asked:
    buffered = BufferedByteReceiveStream(stream)
    head = (await buffered.receive_until(b"\r\n\r\n", HEAD_BYTES_MAX)).decode("latin-1")
    request, *lines = head.split("\r\n")
    method, target, _ = request.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await buffered.receive_exactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, json.loads(body) if body else {})


async def _write(stream: SocketStream, answer: Answer) -> None:
    headers = {"Connection": "close", **answer.headers}
    if not answer.stays:
        headers.setdefault("Content-Length", str(len(answer.body)))
    lines = [f"HTTP/1.1 {answer.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    await stream.send("\r\n".join((*lines, "", "")).encode() + answer.body)
