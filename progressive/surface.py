"""What a model sees of the tools, and how the calls that it makes run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from progressive.names import RUN_CODE
from progressive.protocol import Mode
from tool_runtime import AbortSignal, ScopeId, ToolCall, ToolResult, ToolRuntime, ToolSchema
from tool_runtime.call_queue import CallQueue

__all__ = ["Surface"]

_NO_SIGNALS: Mapping[str, AbortSignal] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The model-visible side of one scope at one moment.

    Attributes:
        mode: How the model calls tools.
        scope: Where its calls run; None is the global scope.
        tools: What is declared to the model, in the order of names. `progressive.formats` turns it into requests.
        prompt: The system prompt.
        runtime: What runs its calls.
    """

    mode: Mode
    scope: ScopeId | None
    tools: tuple[ToolSchema, ...]
    prompt: str
    runtime: ToolRuntime = field(repr=False, compare=False)

    async def run_turn(
        self, calls: Sequence[ToolCall], *, owner: object = None, signals: Mapping[str, AbortSignal] = _NO_SIGNALS
    ) -> list[ToolResult]:
        """Run the calls that a model made in one turn and return their results in the same order.

        Any tool that the scope sees now may be called by its name, whether or not it was declared or described; in
        Code mode only run_code, as its programs call the others.

        Args:
            calls: In model order.
            owner: See `ToolRuntime.execute`.
            signals: See `ToolRuntime.run_turn`.
        """
        return await self.runtime.run_turn(
            calls, scope=self.scope, owner=owner, signals=signals, refuse=self._why_refused
        )

    def queue(self, owner: object) -> CallQueue:
        """Return where the calls of an owner go that come one by one; they run and are refused as those of a turn."""
        return CallQueue(self.runtime, owner=owner, scope=self.scope, refuse=self._why_refused)

    def _why_refused(self, name: str) -> str | None:
        if self.mode is not Mode.CODE or name == RUN_CODE:
            return None
        return f'only {RUN_CODE} is called directly; inside its program: await tools["exact-name"](arguments)'
