"""A workspace behind the disclosure layer, with a server mounted that does what a test asks of it."""

import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, types
from mcp.server import Server
from mcp.types import CallToolResult

from fs_core.protocol import Backend
from fs_core.testing.memory import MemoryBackend, MemoryStore
from seamfs.config import Settings
from seamfs.disclosed import Disclosed, disclosed
from seamfs.mcp_agents import Agents
from seamfs.mcp_server import build_server
from seamfs.programs import programs
from seamfs.workspace import Workspace
from tests.seamfs.processes import TIMEOUT_S
from tests.support.ports import free_port

__all__ = [
    "HARMLESS",
    "OWN",
    "STABLE",
    "TOOLBOX",
    "Stand",
    "invoke",
    "listening",
    "meta_of",
    "stand",
    "text_of",
    "toolbox_over_http",
]

TOOLBOX = (sys.executable, str(Path(__file__).parent / "servers" / "toolbox.py"), "stdio")
HARMLESS = ["glob", "grep", "list_dir", "read"]
OWN = ["edit", "glob", "grep", "list_dir", "read", "write"]
STABLE = sorted(["describe_tools", "invoke_tool", "search_tools", *OWN])


@dataclass(frozen=True, slots=True)
class Stand:
    """Everything that is opened."""

    workspace: Workspace
    layer: Disclosed
    server: Server[Agents]


@asynccontextmanager
async def stand(
    *,
    mounts: dict[str, Any] | None = None,
    store: MemoryStore | None = None,
    backend: Backend | None = None,
    read_only: bool = False,
    structured: bool = False,
    code: dict[str, Any] | None = None,
    **progressive: Any,
) -> AsyncGenerator[Stand]:
    """Open a workspace with the toolbox mounted as `box`, unless other mounts are given, and wait for it.

    The files are those of a store in memory, or of any other backend.
    """
    tables = {"box": {"command": TOOLBOX}} if mounts is None else mounts
    settings = Settings.model_validate(
        {
            "mounts": tables,
            "progressive": progressive,
            "code": code or {},
            "gateway": {
                "backoff_initial_s": 0.01,
                "backoff_max_s": 0.05,
                "list_debounce_s": 0.01,
                "list_interval_s": 0.01,
            },
        }
    )
    opened = backend or MemoryBackend(store, name="w")
    workspace = Workspace(opened, settings=settings, read_only=read_only)
    async with disclosed(workspace.tools, settings) as layer, programs(workspace.tools, settings):
        surface = await layer.surface()
        await layer.settled()
        yield Stand(workspace, layer, build_server(workspace, structured=structured, surface=surface))


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def meta_of(result: CallToolResult) -> dict[str, Any]:
    assert result.meta is not None
    return dict(result.meta)


async def invoke(client: Client, name: str, /, **arguments: Any) -> CallToolResult:
    """Call a tool through invoke_tool."""
    return await client.call_tool("invoke_tool", {"name": name, "arguments": arguments})


@contextmanager
def listening(
    command: list[str], port: int, *, env: dict[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program until the block ends; the block begins when it listens."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as process:
        try:
            deadline_s = time.monotonic() + TIMEOUT_S
            while not _accepts(port):
                assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
                assert time.monotonic() < deadline_s, f"{command[0]} does not listen"
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()


@contextmanager
def toolbox_over_http() -> Generator[str]:
    """Run the toolbox over HTTP and give its URL."""
    port = free_port()
    with listening([*TOOLBOX[:2], "http", str(port)], port):
        yield f"http://127.0.0.1:{port}/mcp"


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
