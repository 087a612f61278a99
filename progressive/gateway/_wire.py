"""Reading what a server sends, before the SDK does: cheap, bounded, and one bad tool does not spoil a list.

The SDK checks a list of tools as a whole, in one go, so that one malformed definition fails the list and a long one
holds up the event loop. Here the definitions are taken out of the message; the SDK sees names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData
from mcp.types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from progressive.gateway._ending import Ending
from tool_runtime import JsonObject

__all__ = ["UNREADABLE", "Incoming", "Page", "Tap", "TooDeepError", "message_of", "refusal_of", "rescued_list"]

UNREADABLE: Final = "the server sent an answer that cannot be read"
"""What a refusal in place of an answer begins with."""

_RECURSION: Final = "recursion limit exceeded"
_MEMBER = rb'"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,20})\s*'
_HEAD = re.compile(rb"\s*\{\s*((?:" + _MEMBER + rb',\s*){0,2})"(?:result|error)"\s*:')
_TAIL = re.compile(rb"((?:,\s*" + _MEMBER + rb"){0,2})\}\s*$")
_TAIL_BYTES: Final = 600
_ID = re.compile(rb'"id"\s*:\s*("[^"]*"|-?\d+)')

_PAGE_KEY: Final = "seamfs/page"
_PAGES_KEPT_MAX: Final = 8

# Everything else that a server may announce is of no use here, and a flood of it would cost a task each.
_PASSED_NOTIFICATIONS = frozenset({"notifications/subscriptions/acknowledged", "notifications/cancelled"})

Page = list[JsonValue]


class TooDeepError(ValueError):
    """Raised for a message that nests deeper than the 200 levels that its reader takes."""

    def __init__(self) -> None:
        super().__init__("it nests too deep")


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
        TooDeepError: It nests too deep.
        ValueError: There is none in it.
    """
    try:
        raw: object = from_json(line, cache_strings="keys")
    except ValueError as error:
        if str(error).startswith(_RECURSION):
            raise TooDeepError from error
        raise
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
    fields = _leniently_read(line)
    request_id = _id_in(line) if fields is None else fields.get("id")
    if (fields and "method" in fields) or not isinstance(request_id, int | str):
        return None
    message = f"{UNREADABLE}: {str(fault).splitlines()[0]}"
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=PARSE_ERROR, message=message))


def rescued_list(line: bytes) -> JSONRPCResponse | None:
    """Return a list of tools of which some nest too deep for the strict reader; None if it is none.

    Nobody but the tap may get it, which takes the definitions out.
    """
    try:
        message = JSONRPCResponse.model_validate(_leniently_read(line))
    except ValidationError:
        return None
    return message if _tools_in(message.result) is not None else None


def _leniently_read(line: bytes) -> dict[str, object] | None:
    """Return the members of a line; None if even the reader of the standard library makes nothing of it."""
    try:
        raw: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", raw) if isinstance(raw, dict) else {}


def _id_in(line: bytes) -> int | str | None:
    """Return the id of an answer from before or behind its result, which nobody can read."""
    head = _HEAD.match(line)
    if head is None:
        return None
    tail = _TAIL.search(line[-_TAIL_BYTES:])
    found = _ID.search(head[1] + (tail[1] if tail else b""))
    if found is None:
        return None
    text = found[1].decode("utf-8", "replace")
    return text[1:-1] if text.startswith('"') else int(text)


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
        page = _tools_in(result)
        if page is None:
            return
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


def _tools_in(result: dict[str, Any]) -> Page | None:
    """Return the definitions in an answer; None if it is not a list of them."""
    tools = cast("object", result.get("tools"))
    return cast("Page", tools) if isinstance(tools, list) and "content" not in result else None


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
