"""A server made with the SDK, over stdio or HTTP: what the SDK's client and the gateway's transport agree on."""

import os
import sys
from typing import Annotated

import anyio
from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field


class Sum(BaseModel):
    total: int


server = MCPServer("sdk")


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False))
def add(left: Annotated[int, Field(description="one")], right: int) -> Sum:
    """Add two numbers."""
    return Sum(total=left + right)


@server.tool()
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: name, name=name, description=f"Says {name}.")
    if ctx.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        # On a busy machine the client has taken this server for one that knows nothing else.
        await ctx.session.send_tool_list_changed()
    else:
        await ctx.notify_tools_changed()
    return "grown"


@server.tool()
def where(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], ctx: Context) -> str:
    """Tell what was sent as a header."""
    return f"{region} {(ctx.headers or {}).get('mcp-param-region')}"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it went wrong")


@server.tool()
def pid() -> int:
    """Tell the process id."""
    return os.getpid()


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        anyio.run(server.run_stdio_async)
