"""All six tools on a runtime, for one session over a workspace in memory."""

from functools import cache
from typing import Any

from pydantic import JsonValue

from tests.fs_core.seam import Seam
from tests.tool_fs.toolkit import Bench
from tool_fs.search.limits import SearchLimits
from tool_fs.search.toolset import tree_tools
from tool_fs.toolset import file_tools
from tool_runtime import Tool, ToolRuntime

__all__ = ["SearchBench"]


@cache
def _tools(limits: str) -> tuple[Tool[Any], ...]:
    """Return the tools under limits given as JSON; they take longer to make than to call."""
    return (*file_tools(), *tree_tools(limits=SearchLimits.model_validate_json(limits)))


class SearchBench(Bench):
    """Calls the tools as a host does. `seam` is the workspace behind them."""

    def __init__(self, files: dict[str, bytes] | None = None, *, limits: SearchLimits | None = None) -> None:
        self.seam = Seam()
        self.runtime = ToolRuntime()
        for tool in _tools((limits or SearchLimits()).model_dump_json()):
            self.runtime.register(tool)
        for path, data in (files or {}).items():
            self.seam.put(path, data)

    async def value(self, name: str, /, **arguments: JsonValue) -> dict[str, Any]:
        """Return the structured value of a call that must succeed."""
        return await super().value(name, **arguments)

    async def rows(self, name: str, /, **arguments: JsonValue) -> list[str]:
        """Return the lines of what the model is shown."""
        return (await self.text(name, **arguments)).split("\n")
