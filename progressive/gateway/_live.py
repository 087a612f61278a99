"""Calls over one connection."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from mcp import Client, MCPError, types
from mcp.types import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from progressive.gateway._definitions import Definition
from progressive.gateway._ending import Ending
from progressive.gateway._faults import is_cut_short
from progressive.gateway._wire import Tap
from progressive.gateway.codes import GatewayCode
from tool_runtime import JsonObject, RuntimeCode, ToolError

__all__ = ["Live"]

# What the SDK makes of HTTP status 404 for a session: the server has not looked at the call.
_SESSION_GONE = "Session terminated"


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    tool: str
    arguments: JsonObject
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    outcomes: list[types.CallToolResult | Exception] = field(default_factory=list[types.CallToolResult | Exception])


class Live:
    """A connection that has been made."""

    def __init__(self, *, server: str, client: Client, tap: Tap, tasks: TaskGroup, ending: Ending) -> None:
        """Call over a connection.

        Args:
            server: Name of the mount.
            client: The client of the SDK.
            tap: What reads the connection before it.
            tasks: Live as long as the connection.
            ending: Its end.
        """
        self._server = server
        self.client = client
        self.tap = tap
        self.tasks = tasks
        self.ending = ending
        self._calls: set[_Call] = set()

    async def call(self, definition: Definition, arguments: JsonObject) -> types.CallToolResult:
        """Call a tool; to cancel this cancels the call on the server, without waiting for the server.

        Raises:
            ToolError: There is no answer, or none that can be used.
        """
        match await self._outcome(_Call(definition.tool, arguments)):
            case types.CallToolResult() as result:
                return result
            case None:
                raise self._lost(definition)
            case MCPError() as error if error.code == INVALID_REQUEST and error.error.message == _SESSION_GONE:
                message = (
                    f"{self._server}: the server no longer knows the session, which is made anew; nothing was done"
                )
                raise ToolError(GatewayCode.TOOL_UNAVAILABLE, message, retryable=True)
            case MCPError() as error if self.ending.is_over or is_cut_short(error):
                raise self._lost(definition) from error
            case MCPError() as error if error.code == PARSE_ERROR:
                raise self._unreadable(error.error.message) from error
            case MCPError() as error:
                hint = f"; {self.ending.hint}" if self.ending.hint else ""
                raise ToolError(RuntimeCode.TOOL_FAILED, f"{self._server}: {error.error.message}{hint}")
            case ValidationError() as error:
                raise self._unreadable("the answer is not one that the protocol allows") from error
            case error:
                raise ToolError(RuntimeCode.TOOL_FAILED, f"{self._server}: {type(error).__name__}: {error}") from error

    async def drained(self) -> None:
        """Wait until no call waits for its answer."""
        for call in tuple(self._calls):
            await call.done.wait()

    def _lost(self, definition: Definition) -> ToolError:
        annotations = definition.annotations
        message = f"{self._server}: the connection ended during the call, which may have taken effect"
        if self.ending.reason:
            message = f"{message}: {self.ending.reason}"
        if self.ending.is_oversized:
            message = f"{message}; ask for less, the same answer would end the connection again"
        is_harmless = annotations.read_only or annotations.idempotent
        return ToolError(GatewayCode.TOOL_UNAVAILABLE, message, retryable=is_harmless and not self.ending.is_oversized)

    def _unreadable(self, why: str) -> ToolError:
        return ToolError(RuntimeCode.INVALID_TOOL_OUTPUT, f"{self._server}: {why}; the call may have taken effect")

    async def _outcome(self, call: _Call) -> types.CallToolResult | Exception | None:
        """Return what comes of a call, None if the connection ends first.

        It runs in a task of the connection: the SDK holds up whoever cancels until the notice is sent, and a
        connection that ends must not take its callers with it.
        """
        self._calls.add(call)
        self.tasks.start_soon(self._perform, call)
        try:
            await call.done.wait()
        finally:
            call.scope.cancel()
            self._calls.discard(call)
        return call.outcomes[0] if call.outcomes else None

    async def _perform(self, call: _Call) -> None:
        try:
            with call.scope:
                call.outcomes.append(await self.client.call_tool(call.tool, call.arguments))
        except Exception as error:  # noqa: BLE001 - handed to the caller, whose task is another
            call.outcomes.append(error)
        finally:
            call.done.set()
