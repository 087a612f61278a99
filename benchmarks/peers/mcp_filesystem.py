"""`@modelcontextprotocol/server-filesystem` over stdio, with the MCP SDK's client.

`npm install --prefix .venv @modelcontextprotocol/server-filesystem@2026.8.31`; one that is on the PATH is taken too.
It reads the first or the last lines of a file, but none in between: there the whole file is sent. It allows no path
that leads through a link, so the directory must be given without one.
"""

import json
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from benchmarks.peers.files import Peer, RefusedError, Span

__all__ = ["MCP_FILESYSTEM"]

_PACKAGE: Final = "@modelcontextprotocol/server-filesystem"
_MODULES: Final = Path(sys.prefix) / "node_modules"
_MB: Final = 1 << 20


class _Files:
    def __init__(self, client: Client, root: Path) -> None:
        self._client = client
        self._root = root

    async def read(self, name: str, span: Span) -> object:
        arguments: dict[str, Any] = {"path": str(self._root / name)}
        if span.first_line == 1:
            arguments["head"] = span.lines
        elif span.is_end:
            arguments["tail"] = span.lines
        return _accepted(await self._client.call_tool("read_text_file", arguments), RuntimeError)

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        if everywhere:
            raise NotImplementedError("the server edits one place")
        arguments = {"path": str(self._root / name), "edits": [{"oldText": old, "newText": new}]}
        return _accepted(await self._client.call_tool("edit_file", arguments), RefusedError)


def _accepted(result: CallToolResult, refusal: type[Exception]) -> CallToolResult:
    if result.is_error:
        [block, *_] = result.content
        raise refusal(block.text[:200] if isinstance(block, TextContent) else "refused")
    return result


def _version() -> str | None:
    package = _package()
    return None if package is None else str(json.loads(package.read_text(encoding="utf-8"))["version"])


def _package() -> Path | None:
    """Return where the server says its version."""
    program = _program()
    if program is None:
        return None
    script = Path(program).resolve()
    return next((folder / "package.json" for folder in script.parents if (folder / "package.json").is_file()), None)


def _program() -> str | None:
    return shutil.which("mcp-server-filesystem", path=_MODULES / ".bin") or shutil.which("mcp-server-filesystem")


@asynccontextmanager
async def _opened(root: Path) -> AsyncGenerator[_Files]:
    program = _program()
    if program is None:
        raise FileNotFoundError(f"{_PACKAGE} is not installed")
    async with Client(StdioServerParameters(command=program, args=[str(root)])) as client:
        yield _Files(client, root)


MCP_FILESYSTEM = Peer(
    name="server-filesystem",
    install=f"npm install --prefix .venv {_PACKAGE}@2026.8.31",
    version=_version,
    opened=_opened,
    read_note="an MCP call over stdio; no number of lines; from the middle the whole file is sent",
    edit_note="an MCP call over stdio; atomic, no fsync; replaces the first of several places; CRLF becomes LF",
    can_replace_all=False,
    refuses_ambiguous=False,
    middle_bytes_max=10 * _MB,
    edit_bytes_max=10 * _MB,
    has_long_lines=False,
)
