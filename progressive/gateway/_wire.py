"""Reading what a server sends, before the SDK does: cheap, bounded, and one bad tool does not spoil a list.

The SDK checks a list of tools as a whole, in one go, so that one malformed definition fails the list and a long one
holds up the event loop. Here the definitions are taken out of the message; the SDK sees names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData
from mcp.types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import JsonValue
from pydantic_core import from_json

from progressive.gateway._ending import Ending
from tool_runtime import JsonObject

__all__ = ["Incoming", "Page", "Tap", "message_of", "refusal_of"]

_PAGE_KEY: Final = "seamfs/page"
_PAGES_KEPT_MAX: Final = 8

# Everything else that a server may announce is of no use here, and a flood of it would cost a task each.
_PASSED_NOTIFICATIONS = frozenset({"notifications/subscriptions/acknowledged", "notifications/cancelled"})

Page = list[JsonValue]


class Incoming(Protocol):
    """The reading end of a transport."""

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


def message_of(line: bytes) -> JSONRPCMessage:
    """Return the message in a line.

    Raises:
        ValueError: There is none in it.
    """
    raw: object = from_json(line, cache_strings="keys")
    if not isinstance(raw, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - one kind of error for all that a line can be instead
    fields = cast("dict[str, Any]", raw)
    if "method" in fields:
        return (JSONRPCRequest if "id" in fields else JSONRPCNotification).model_validate(fields)
    return (JSONRPCError if "error" in fields else JSONRPCResponse).model_validate(fields)


def refusal_of(line: bytes, fault: ValueError) -> JSONRPCError | None:
    """Return an error in place of an answer that cannot be read, so that nobody waits for it; None if it is no answer.

    The reader of the standard library takes what the strict one does not, such as lone surrogates.
    """
    try:
        raw: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = cast("dict[str, object]", raw) if isinstance(raw, dict) else {}
    request_id = fields.get("id")
    if "method" in fields or not isinstance(request_id, int | str):
        return None
    message = f"the answer cannot be read: {str(fault).splitlines()[0]}"
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=PARSE_ERROR, message=message))


class Tap:
    """The reading end of a transport, as the SDK gets it.

    It takes definitions of tools out of lists, keeps notices of change and all other notifications to itself, and
    knows when the connection has ended.
    """

    def __init__(
        self, incoming: Incoming, *, ending: Ending, on_change: Callable[[], None], has_headers: bool, tools_max: int
    ) -> None:
        """Read from a transport.

        Args:
            incoming: Where from.
            ending: Told when there is nothing more.
            on_change: Called for every notice that the list of tools has changed.
            has_headers: The transport has HTTP headers, which parameters may ask to be copied into; the SDK does that
                for tools that it has seen.
            tools_max: How many tools of a page are looked at.
        """
        self._incoming = incoming
        self._ending = ending
        self._on_change = on_change
        self._has_headers = has_headers
        self._tools_max = tools_max
        self._pages: dict[int, Page] = {}
        self._pages_seen = 0

    def page(self, meta: object) -> Page:
        """Return the definitions that were taken out of a list, given the `_meta` of what was left."""
        if not isinstance(meta, dict):
            return []
        return self._pages.pop(cast("dict[str, Any]", meta).get(_PAGE_KEY, 0), [])

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message that is for the SDK."""
        while True:
            try:
                item = await self._incoming.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._ending.seal()
                raise
            if isinstance(item, SessionMessage) and self._is_passed(item.message):
                return item

    async def aclose(self) -> None:
        """Close the transport's end."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

    def _is_passed(self, message: JSONRPCMessage) -> bool:
        match message:
            case JSONRPCNotification():
                if message.method == "notifications/tools/list_changed":
                    self._on_change()
                return message.method in _PASSED_NOTIFICATIONS
            case JSONRPCResponse():
                self._strip(message.result)
            case _:
                pass
        return True

    def _strip(self, result: dict[str, Any]) -> None:
        tools = cast("object", result.get("tools"))
        if not isinstance(tools, list) or "content" in result:
            return
        page = cast("Page", tools)
        self._pages_seen += 1
        self._pages[self._pages_seen] = page
        # A list that nobody came for, such as the answer to a request that was given up.
        self._pages.pop(self._pages_seen - _PAGES_KEPT_MAX, None)
        result["tools"] = [bare for tool in page[: self._tools_max] if (bare := self._bare(tool)) is not None]
        result["_meta"] = {_PAGE_KEY: self._pages_seen}

    def _bare(self, tool: JsonValue) -> JsonObject | None:
        """Return as much of a definition as the SDK needs to know that there is such a tool."""
        if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
            return None
        schema = tool.get("inputSchema")
        is_shown = (
            self._has_headers
            and isinstance(schema, dict)
            and schema.get("type") == "object"
            and _mentions_header(schema)
        )
        return {"name": name, "inputSchema": schema if is_shown else {"type": "object"}}


def _mentions_header(schema: JsonObject) -> bool:
    nodes: list[JsonValue] = [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if "x-mcp-header" in node:
                return True
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)
    return False
