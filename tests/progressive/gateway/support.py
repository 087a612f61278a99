"""Servers to mount, and waiting for what they do."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from pydantic import JsonValue, SecretStr

from progressive.gateway import Gateway, GatewayOptions, Mount, MountStatus, StdioMount
from tests.support.waiting import WAIT_S, until
from tool_runtime import JsonObject, RuntimeCode, ToolCall, ToolFailure, ToolResult, ToolRuntime, ToolSuccess

__all__ = ["NO_MORE", "RawServer", "World", "definition", "opened"]

SERVERS = Path(__file__).parent / "servers"

QUICK = GatewayOptions(
    backoff_initial_s=0.001,
    backoff_max_s=0.01,
    list_debounce_s=0.01,
    list_interval_s=0.01,
    stop_grace_s=0.5,
    connect_timeout_s=60,
    call_timeout_s=20,
)

NO_MORE: Final[dict[str, Any]] = {"backoff_initial_s": 1e9, "backoff_max_s": 1e9}
"""Options with which nothing is tried again: the wait is a random part of this."""


def definition(name: str, **more: Any) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


class RawServer:
    """The server without a library, and its notes."""

    def __init__(self, home: Path, *flags: str) -> None:
        self.home = home
        self.flags = flags
        home.mkdir(exist_ok=True)
        self.lists([definition("echo")])

    def lists(self, *pages: Sequence[JsonValue]) -> None:
        (self.home / "tools.new").write_text(json.dumps(pages))
        (self.home / "tools.new").rename(self.home / "tools.json")

    def mount(self, name: str = "raw", env: dict[str, SecretStr | str] | None = None) -> StdioMount:
        command = (sys.executable, "-S", str(SERVERS / "raw_server.py"), str(self.home), *self.flags)
        return StdioMount(name=name, command=command, env=env or {})

    def notes(self, kind: str) -> list[str]:
        path = self.home / kind
        return path.read_text().splitlines() if path.exists() else []


class World:
    """An opened gateway."""

    def __init__(self, runtime: ToolRuntime, gateway: Gateway) -> None:
        self.runtime = runtime
        self.gateway = gateway

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.runtime.tools()]

    def status(self, index: int = 0) -> MountStatus:
        return self.gateway.status()[index]

    async def call(self, name: str, /, **arguments: JsonValue) -> ToolResult:
        return await self.runtime.execute(ToolCall(name, arguments, id="call"))

    async def value(self, name: str, /, **arguments: JsonValue) -> JsonValue:
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolSuccess), result
        return result.value

    async def value_in_time(self, name: str, /, **arguments: JsonValue) -> JsonValue:
        """Return the value of a call, made again while it is over its time, which the test has set very short."""
        with anyio.fail_after(WAIT_S):
            while isinstance(result := await self.call(name, **arguments), ToolFailure):
                assert result.code == RuntimeCode.TOOL_TIMEOUT, result
        return result.value

    async def failure(self, name: str, /, **arguments: JsonValue) -> ToolFailure:
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolFailure), result
        return result

    async def connected(self, *, attempts: int = 1) -> None:
        await until(lambda: self.status().state == "connected" and self.status().attempts >= attempts)


@asynccontextmanager
async def opened(*mounts: Mount, runtime: ToolRuntime | None = None, **options: Any) -> AsyncGenerator[World]:
    runtime = runtime or ToolRuntime()
    gateway = Gateway(runtime, mounts, QUICK.model_copy(update=options))
    async with gateway.opened():
        await gateway.settled(QUICK.connect_timeout_s)
        yield World(runtime, gateway)
