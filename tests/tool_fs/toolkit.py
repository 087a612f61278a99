"""The three tools on a runtime, for one session over a workspace in memory."""

from typing import cast

from pydantic import JsonValue

from tests.fs_core.seam import Seam
from tool_fs.limits import ReadLimits
from tool_fs.toolset import file_tools
from tool_runtime import ToolCall, ToolFailure, ToolResult, ToolRuntime, ToolSuccess

__all__ = ["Bench"]


class Bench:
    """Calls the tools as a host does. `seam` is the workspace behind them."""

    def __init__(self, *, limits: ReadLimits | None = None, read_only: bool = False) -> None:
        self.seam = Seam()
        self.runtime = ToolRuntime()
        for tool in file_tools(limits=limits, read_only=read_only):
            self.runtime.register(tool)

    async def call(self, name: str, /, **arguments: JsonValue) -> ToolResult:
        return await self.runtime.execute(ToolCall(name, arguments, id="c1"), owner=self.seam.session())

    async def value(self, name: str, /, **arguments: JsonValue) -> dict[str, JsonValue]:
        """Return the structured value of a call that must succeed."""
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolSuccess), result
        return cast("dict[str, JsonValue]", result.value)

    async def text(self, name: str, /, **arguments: JsonValue) -> str:
        """Return what the model is shown of a call, whether it succeeds or not."""
        result = await self.call(name, **arguments)
        assert len(result.content) == 1
        return result.text

    async def failure(self, name: str, /, **arguments: JsonValue) -> ToolFailure:
        """Return the failure of a call that must fail."""
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolFailure), result
        return result
