"""An MCP server whose only tool does nothing, with the SDK's own low-level server as ours has it."""

from typing import Any

import anyio
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

_Context = ServerRequestContext[Any, Any]


async def main() -> None:
    server = Server[Any]("empty", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(_ctx: _Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="nothing", input_schema={"type": "object"})])


async def _call_tool(_ctx: _Context, _params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[])


if __name__ == "__main__":
    anyio.run(main)
