"""The runtime: one object that knows the tools and runs their calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tool_runtime.abort import AbortSignal
from tool_runtime.hooks import Absence, Answerer, Gate, Guard, Hooks, Observer, Wrapper
from tool_runtime.pipeline import Pipeline, Submission
from tool_runtime.prompt import SystemPrompt
from tool_runtime.registry import Registry
from tool_runtime.results import ToolError, ToolResult
from tool_runtime.scheduler import ALONE, Alone, Keyed, Lane, Shared, run_in_lanes
from tool_runtime.scopes import Disposer, ScopeId, ScopeTree, UnknownScopeError
from tool_runtime.tool import Tool, ToolCall, ToolContext, ToolSchema

__all__ = ["ToolRuntime"]

logger = logging.getLogger(__name__)

_DELEGATIONS_MAX = 8
_NO_SIGNALS: Mapping[str, AbortSignal] = MappingProxyType({})


def _nothing_refused(_name: str) -> None:
    return None


class ToolRuntime:
    """Tools in scopes, the pipeline every call takes, and the schedule of a turn. Belongs to one event loop."""

    def __init__(self, *, answer: Answerer | None = None, overlap_max: int = 10) -> None:
        """Start with the global scope and no tools.

        Args:
            answer: Answers what approval gates ask; without it a question is a denial.
            overlap_max: How many calls of one turn run at once at most.
        """
        if overlap_max < 1:
            raise ValueError(f"overlap_max must be at least 1, got {overlap_max}")
        self._overlap_max = overlap_max
        self._scopes = ScopeTree()
        self._registry = Registry(self._scopes)
        self._hooks = Hooks()
        self._pipeline = Pipeline(registry=self._registry, hooks=self._hooks, answer=answer, context=self._context)
        self.prompt = SystemPrompt(self._scopes)

    def scope(self, parent: ScopeId | None = None) -> ScopeId:
        """Open a scope inside another, by default inside the global one."""
        return self._scopes.open(parent)

    def close_scope(self, scope: ScopeId) -> None:
        """Close a scope with all scopes, tools, restrictions and prompt sections inside it.

        Raises:
            UnknownScopeError: It is not open.
            ValueError: It is the global one.
        """
        closed = self._scopes.close(scope)
        self._registry.drop(closed)
        self.prompt.drop(closed)

    @property
    def revision(self) -> int:
        """A number that grows with every change of what some scope may see, so that answers can be cached."""
        return self._registry.revision

    def register(self, tool: Tool[Any], scope: ScopeId | None = None, *, needs_listing: bool = True) -> Disposer:
        """Add a tool; see `Registry.register`."""
        return self._registry.register(tool, scope, needs_listing=needs_listing)

    def restrict(self, scope: ScopeId, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()) -> None:
        """Narrow what a scope inherits; see `Registry.restrict`."""
        self._registry.restrict(scope, allow=allow, deny=deny)

    def get(self, name: str, scope: ScopeId | None = None) -> Tool[Any] | None:
        """Return the tool that a scope sees under a name; see `Registry.get`."""
        return self._registry.get(name, scope)

    def tools(self, scope: ScopeId | None = None) -> list[Tool[Any]]:
        """Return all tools that a scope sees; see `Registry.tools`."""
        return self._registry.tools(scope)

    def schemas(self, scope: ScopeId | None = None) -> list[ToolSchema]:
        """Return detached descriptions of all tools that a scope sees; see `Registry.schemas`."""
        return self._registry.schemas(scope)

    def add_gate(self, gate: Gate) -> Disposer:
        """Ask a gate before every call. All gates are heard; one denial is enough, and questions come last."""
        return self._hooks.gates.add(gate)

    def add_guard(self, guard: Guard) -> None:
        """Check every approved call, for the lifetime of the runtime."""
        self._hooks.guards.add(guard)

    def add_wrapper(self, wrapper: Wrapper) -> Disposer:
        """Run a wrapper around every body and its timeout; the one added first is outermost."""
        return self._hooks.wrappers.add(wrapper)

    def add_observer(self, observer: Observer) -> Disposer:
        """Show every result to an observer."""
        return self._hooks.observers.add(observer)

    def add_absence(self, absence: Absence) -> Disposer:
        """Let a call of a missing tool say why it is missing. The one added first is asked first."""
        return self._hooks.absences.add(absence)

    async def execute(
        self,
        call: ToolCall,
        *,
        scope: ScopeId | None = None,
        owner: object = None,
        abort: AbortSignal | None = None,
        refusal: str | None = None,
    ) -> ToolResult:
        """Run one call through the pipeline.

        Args:
            call: The call; its arguments are copied at once.
            scope: Where it sees tools from, by default the global scope.
            owner: Reaches the tool as `ctx.owner`.
            abort: Cancels this call alone, which then comes back as `ABORTED`.
            refusal: Why the tool may not be called from where the call comes, whatever the scope sees: it then comes
                back as `UNKNOWN_TOOL`, and observers see it.

        Returns:
            The result. Whatever a tool does wrong is a failure; only cancellation from around the call is raised.
        """
        return await self._pipeline.run(Submission.of(call, scope=scope, owner=owner, refusal=refusal), abort)

    async def run_turn(
        self,
        calls: Sequence[ToolCall],
        *,
        scope: ScopeId | None = None,
        owner: object = None,
        signals: Mapping[str, AbortSignal] = _NO_SIGNALS,
        refuse: Callable[[str], str | None] = _nothing_refused,
    ) -> list[ToolResult]:
        """Run the calls of one turn and return their results in the same order.

        Consecutive concurrency-safe calls overlap; so do consecutive calls with different concurrency keys, while
        those with the same key keep their order. Any other call, and one that will be refused, runs alone.

        Args:
            calls: In model order; all are copied at once.
            scope: See `execute`.
            owner: See `execute`.
            signals: Abort signals by call id.
            refuse: Why a name may not be called by this turn, whatever the scope sees; None if it may. Calls that
                tools make are not asked about.
        """
        submissions = [Submission.of(call, scope=scope, owner=owner, refusal=refuse(call.name)) for call in calls]

        async def run(submission: Submission) -> ToolResult:
            return await self._pipeline.run(submission, signals.get(submission.call_id))

        return await run_in_lanes(submissions, self._lane, run, overlap_max=self._overlap_max)

    def lane(self, call: ToolCall, *, scope: ScopeId | None = None) -> Lane:
        """Return what a call may overlap with, for a caller that gets its calls one by one instead of in turns."""
        return self._lane(Submission.of(call, scope=scope, owner=None))

    def _lane(self, submission: Submission) -> Lane:
        try:
            for _ in range(_DELEGATIONS_MAX):
                tool, args, _payload = self._pipeline.admit(submission)
                target = tool.delegates_to(args)
                if target is None:
                    return _lane_of(tool, args)
                call = ToolCall(*target, id=submission.call_id)
                submission = Submission.of(call, scope=submission.scope, owner=submission.owner)
        except (ToolError, UnknownScopeError):
            # The pipeline will refuse it when its turn comes; until then it is not known to be safe.
            return ALONE
        except Exception:
            logger.exception("tool %s failed to say what may overlap with call %s", submission.name, submission.call_id)
        return ALONE

    def _context(self, submission: Submission) -> ToolContext:
        return ToolContext(
            call_id=submission.call_id,
            parent_id=submission.parent_id,
            scope=submission.scope,
            runtime=self,
            owner=submission.owner,
        )


def _lane_of(tool: Tool[Any], args: object) -> Lane:
    if tool.concurrency_safe(args):
        return Shared(tool.is_ordered)
    key = tool.concurrency_key(args)
    return Alone(tool.is_ordered) if key is None else Keyed(key, tool.is_ordered)
