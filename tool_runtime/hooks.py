"""What may stand around the body of every call: gates, guards, wrappers and observers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

from pydantic import JsonValue

from tool_runtime.payload import JsonObject, decode, detached
from tool_runtime.results import ToolFailure, ToolResult, ToolSuccess
from tool_runtime.scopes import Disposer, ScopeId
from tool_runtime.tool import Tool

__all__ = [
    "Absence",
    "Allow",
    "Answerer",
    "Ask",
    "Decision",
    "Deny",
    "Gate",
    "Guard",
    "Hooks",
    "Invocation",
    "Observation",
    "Observer",
    "Proceed",
    "Wrapper",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A call whose tool is known and whose arguments are right."""

    call_id: str
    parent_id: str | None
    tool: Tool[Any]
    scope: ScopeId
    owner: object
    payload: bytes = field(repr=False)

    @property
    def arguments(self) -> JsonObject:
        """The arguments; a fresh copy at every access, so a hook cannot change what the others see."""
        return cast("JsonObject", decode(self.payload))


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run as far as this gate is concerned."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call must not run; the reason is told to the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Someone must say yes to this question first."""

    question: str


Decision: TypeAlias = Allow | Deny | Ask

Gate: TypeAlias = Callable[[Invocation], Awaitable[Decision]]
"""Approves calls. One that raises denies."""

Answerer: TypeAlias = Callable[[Invocation, str], Awaitable[bool]]
"""Answers the questions of gates. One that raises denies."""

Guard: TypeAlias = Callable[[Invocation], str | None]
"""Returns why a call must not run, or None; it can take nothing back. One that raises denies."""

Proceed: TypeAlias = Callable[[], Awaitable[JsonValue | ToolResult]]
"""Runs what a wrapper stands around."""

Wrapper: TypeAlias = Callable[[Invocation, Proceed], Awaitable[JsonValue | ToolResult]]
"""Runs around the body, such as a span of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A call that ended, refused and cancelled ones included.

    Attributes:
        call_id: Id of the call.
        parent_id: Id of the call around it.
        name: The name that was called, whether or not there is such a tool.
        scope: Where it was called.
        owner: On whose behalf.
        code: None for success.
        elapsed_s: Seconds from entry to result.
    """

    call_id: str
    parent_id: str | None
    name: str
    scope: ScopeId
    owner: object
    code: str | None
    elapsed_s: float
    _payload: bytes | None = field(repr=False)
    _result: ToolResult = field(repr=False)

    @property
    def arguments(self) -> JsonValue:
        """A copy of the arguments as they came; None if they were not JSON."""
        return None if self._payload is None else decode(self._payload)

    @property
    def result(self) -> ToolResult:
        """A copy of the result."""
        match self._result:
            case ToolSuccess(value, content):
                return ToolSuccess(detached(value), content)
            case ToolFailure():
                return self._result


Observer: TypeAlias = Callable[[Observation], None]
"""Sees every result and changes none; its faults are logged and go no further."""

Absence: TypeAlias = Callable[[str], str | None]
"""Returns why there is no tool of a name for the moment, or None if it knows nothing of it."""

HookT = TypeVar("HookT")


class _Chain(Generic[HookT]):
    """Hooks of one kind, in the order they were added."""

    def __init__(self) -> None:
        self._hooks: dict[object, HookT] = {}

    def __iter__(self) -> Iterator[HookT]:
        # A copy: a call keeps the hooks it started a stage with.
        return iter(tuple(self._hooks.values()))

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, hook: HookT) -> Disposer:
        token = object()
        self._hooks[token] = hook

        def dispose() -> None:
            self._hooks.pop(token, None)

        return dispose


class Hooks:
    """All hooks of a runtime."""

    def __init__(self) -> None:
        self.gates = _Chain[Gate]()
        self.guards = _Chain[Guard]()
        self.wrappers = _Chain[Wrapper]()
        self.observers = _Chain[Observer]()
        self.absences = _Chain[Absence]()
