"""Calls that arrive one by one from one client, in the order that a turn of them would have."""

from dataclasses import dataclass, field

import anyio

from tool_runtime import ToolCall, ToolResult, ToolRuntime
from tool_runtime.scheduler import Lane, may_overlap

__all__ = ["CallQueue"]


@dataclass(eq=False, slots=True)
class _Entry:
    lane: Lane
    done: anyio.Event = field(default_factory=anyio.Event)


class CallQueue:
    """Runs the calls of one owner: what may overlap does, anything else waits for those that came before it.

    `ToolRuntime.run_turn` needs all calls of a turn at once; a protocol delivers them as separate requests.
    """

    def __init__(self, tools: ToolRuntime, *, owner: object) -> None:
        self._tools = tools
        self._owner = owner
        self._unfinished: list[_Entry] = []

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call when its time has come. Cancelling it lets those behind it go on."""
        entry = _Entry(self._tools.lane(call))
        earlier = [other for other in self._unfinished if not may_overlap(other.lane, entry.lane)]
        self._unfinished.append(entry)
        try:
            for other in earlier:
                await other.done.wait()
            return await self._tools.execute(call, owner=self._owner)
        finally:
            self._unfinished.remove(entry)
            entry.done.set()
