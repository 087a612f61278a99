"""Calls that arrive one by one from one caller, in the order that a turn of them would have."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from tool_runtime.results import ToolResult
from tool_runtime.scheduler import Lane, may_overlap
from tool_runtime.scopes import ScopeId
from tool_runtime.tool import Runtime, ToolCall

__all__ = ["CallQueue"]


@dataclass(eq=False, slots=True)
class _Entry:
    """`done` is there as soon as somebody waits for it."""

    lane: Lane
    done: anyio.Event | None = None
    is_done: bool = False


class CallQueue:
    """Runs the calls of one owner: what may overlap does, anything else waits for those that came before it.

    `ToolRuntime.run_turn` needs all calls of a turn at once; a protocol delivers them as separate requests, and a
    program as it gets to them.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        owner: object,
        scope: ScopeId | None = None,
        overlap_max: int | None = None,
        refuse: Callable[[str], str | None] | None = None,
    ) -> None:
        """Start with no calls.

        Args:
            runtime: What runs them.
            owner: On whose behalf.
            scope: Where they see tools from, by default the global scope.
            overlap_max: How many run at once at most; by default whoever sends them sees to that.
            refuse: Why a name may not be called by this owner, whatever the scope sees; None if it may.
        """
        self._runtime = runtime
        self._owner = owner
        self._scope = scope
        self._refuse = refuse
        self._room = None if overlap_max is None else anyio.CapacityLimiter(overlap_max)
        self._unfinished: list[_Entry] = []

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call when its time has come, refuse one at once. Cancelling one lets those behind it go on."""
        refusal = None if self._refuse is None else self._refuse(call.name)
        if refusal is not None:
            return await self._runtime.execute(call, scope=self._scope, owner=self._owner, refusal=refusal)
        entry = _Entry(self._runtime.lane(call, scope=self._scope))
        earlier = [other for other in self._unfinished if not may_overlap(other.lane, entry.lane)]
        self._unfinished.append(entry)
        try:
            # The last one first: it has mostly waited for the others, so that not every call wakes up at each end.
            for other in reversed(earlier):
                if not other.is_done:
                    other.done = other.done or anyio.Event()
                    await other.done.wait()
            if self._room is None:
                return await self._execute(call)
            async with self._room:
                return await self._execute(call)
        finally:
            self._unfinished.remove(entry)
            entry.is_done = True
            if entry.done is not None:
                entry.done.set()

    async def _execute(self, call: ToolCall) -> ToolResult:
        return await self._runtime.execute(call, scope=self._scope, owner=self._owner)
