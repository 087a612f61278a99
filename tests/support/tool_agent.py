"""One agent that calls the three tools over a backend, as a host does."""

from collections.abc import Sequence
from itertools import count

from pydantic import JsonValue

from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.protocol import Backend
from fs_core.session import FileSession
from tool_fs.toolset import file_tools
from tool_runtime import JsonObject, ToolCall, ToolResult, ToolRuntime

__all__ = ["ToolAgent", "shown"]


class ToolAgent:
    """An owner of observations of its own, under the default policy and limits."""

    def __init__(self, backend: Backend) -> None:
        self.root_url = backend.root.url
        policy = ReadBeforeWrite(owner=OwnerId("agent"), store=MemoryObservations())
        self._session = FileSession(BackedFileSystem(backend), policy=policy)
        self._runtime = ToolRuntime()
        for tool in file_tools():
            self._runtime.register(tool)
        self._ids = count(1)

    async def call(self, name: str, /, **arguments: JsonValue) -> ToolResult:
        """Make one call."""
        [result] = await self.turn([(name, arguments)])
        return result

    async def turn(self, calls: Sequence[tuple[str, JsonObject]]) -> list[ToolResult]:
        """Make the calls of one turn."""
        made = [ToolCall(name, arguments, id=str(next(self._ids))) for name, arguments in calls]
        return await self._runtime.run_turn(made, owner=self._session)


def shown(result: ToolResult) -> str:
    """Return what the model is shown of a result."""
    return result.text
