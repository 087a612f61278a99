"""Reading the list of tools of a server, page by page, without following it for ever."""

from __future__ import annotations

from dataclasses import dataclass

from mcp import Client
from pydantic import JsonValue

from progressive.gateway._wire import Tap
from progressive.gateway.options import GatewayOptions

__all__ = ["Listing", "read_list"]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server lists.

    Attributes:
        tools: The definitions as they came.
        unread: How many more were sent that are not among them.
        cuts: Why it is not all, each in one line.
    """

    tools: list[JsonValue]
    unread: int
    cuts: tuple[str, ...] = ()


async def read_list(client: Client, tap: Tap, options: GatewayOptions) -> Listing:
    """Return what a server lists.

    Raises:
        MCPError: It refuses, or the connection ended.
        pydantic.ValidationError: The answer is no list.
    """
    capabilities = client.server_capabilities
    if capabilities.tools is None:
        return Listing([], 0)
    tools: list[JsonValue] = []
    cuts: list[str] = []
    cursor: str | None = None
    seen = set[str]()
    for _ in range(options.pages_max):
        page = await client.list_tools(cursor=cursor)
        tools += tap.page(page.meta)
        cursor = page.next_cursor
        if cursor is None or len(tools) > options.tools_max:
            break
        if cursor in seen:
            cuts.append("the list goes in a circle, which is followed once")
            break
        seen.add(cursor)
    else:
        cuts.append(f"whatever comes after the {options.pages_max:,} pages that are read (pages_max)")
    unread = max(0, len(tools) - options.tools_max)
    if unread:
        more = " or more" if cursor is not None else ""
        cuts.append(f"{unread:,}{more} beyond the {options.tools_max:,} that are taken (tools_max)")
    return Listing(tools[: options.tools_max], unread, tuple(cuts))
