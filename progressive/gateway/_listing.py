"""Reading the list of tools of a server, page by page, without following it for ever."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mcp import Client
from pydantic import JsonValue

from progressive.gateway._wire import Tap
from progressive.gateway.options import GatewayOptions

__all__ = ["Listing", "read_list"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server lists.

    Attributes:
        tools: The definitions as they came.
        unread: How many more were sent that are not among them.
    """

    tools: list[JsonValue]
    unread: int


async def read_list(client: Client, tap: Tap, options: GatewayOptions, server: str) -> Listing:
    """Return what a server lists.

    Raises:
        MCPError: It refuses, or the connection ended.
        pydantic.ValidationError: The answer is no list.
    """
    capabilities = client.server_capabilities
    if capabilities.tools is None:
        return Listing([], 0)
    tools: list[JsonValue] = []
    cursor: str | None = None
    seen = set[str]()
    for _ in range(options.pages_max):
        page = await client.list_tools(cursor=cursor)
        tools += tap.page(page.meta)
        cursor = page.next_cursor
        if cursor is None or len(tools) > options.tools_max:
            break
        if cursor in seen:
            logger.debug("mount %s: the list of tools goes in a circle; what came before is taken", server)
            break
        seen.add(cursor)
    unread = max(0, len(tools) - options.tools_max)
    if unread or (cursor is not None and cursor not in seen):
        logger.debug("mount %s: it lists more tools than the %d that are taken", server, options.tools_max)
    return Listing(tools[: options.tools_max], unread)
