"""A server to be mounted. Usage: toolbox.py stdio | http PORT."""

import os
import sys
from typing import Annotated

import anyio
from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

# One pixel.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Sum(BaseModel):
    total: int


server = MCPServer("toolbox")


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False))
def add(left: int, right: int) -> Sum:
    """Add two numbers."""
    return Sum(total=left + right)


@server.tool(structured_output=False)
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool(structured_output=False)
def picture() -> types.ImageContent:
    """Draw a picture."""
    return types.ImageContent(data=PICTURE, mime_type="image/png")


@server.tool(structured_output=False)
def variable(name: str) -> str:
    """Tell a variable of the environment."""
    return os.environ.get(name, "not set")


@server.tool(structured_output=False)
def pid() -> str:
    """Tell the process."""
    return str(os.getpid())


@server.tool(structured_output=False)
def locate(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take a parameter that a client is asked to send in a header as well."""
    return f"in {region}"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: name, name=name, description=f"Says {name}.")
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
async def shrink(name: str, ctx: Context) -> str:
    """Remove a tool."""
    server.remove_tool(name)
    await ctx.notify_tools_changed()
    return "shrunk"


@server.tool()
def refuse() -> str:
    """Fail."""
    raise ToolError("it went wrong")


@server.tool(structured_output=False)
async def hang(reached: str) -> str:
    """Make a file, and then take longer than anybody waits."""
    await anyio.Path(reached).touch()
    await anyio.sleep_forever()
    return "never"


@server.tool()
def crash() -> str:
    """End the server without a word."""
    os._exit(7)


server.add_tool(
    lambda: "done",
    name="hostile",
    description="Red \x1b[31m[bold]tag[/bold] \x07bell\r\n\u202eright\u202c [link=http://x]here[/link]\n"
    + "long " * 400,
)

if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        anyio.run(server.run_stdio_async)
