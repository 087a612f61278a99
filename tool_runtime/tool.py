"""What a tool is, what a call of it is, and what its body is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, JsonValue

from tool_runtime.arguments import call_text, check_arguments
from tool_runtime.checks import Checker, checker_for
from tool_runtime.payload import JsonObject, detached, encode
from tool_runtime.problems import MismatchError, cut
from tool_runtime.results import ContentBlock, RuntimeCode, ToolResult
from tool_runtime.scheduler import Lane
from tool_runtime.scopes import Disposer, ScopeId

__all__ = ["Runtime", "Tool", "ToolAnnotations", "ToolCall", "ToolContext", "ToolSchema"]

_NAME_CHARS_MAX: Final = 256
_NAME_CHARS_SHOWN_MAX: Final = 60
_KEYS_SHOWN_MAX: Final = 30
_KEY_CHARS_SHOWN_MAX: Final = 60

ArgsT = TypeVar("ArgsT", bound=BaseModel | JsonObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """Hints for hosts and approval gates, with the meaning MCP gives them; the defaults assume the worst.

    Attributes:
        read_only: It changes nothing.
        destructive: It may overwrite or remove, not only add.
        idempotent: Repeating a call changes nothing more.
        open_world: It reaches beyond this system.
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run a tool.

    Attributes:
        name: Exact name of the tool.
        arguments: Its arguments; copied before anything else happens, so the caller may change them afterwards.
        id: Identifies the call among the calls of its turn.
        parent_id: The call inside which this one was made.
    """

    name: str
    arguments: Mapping[str, JsonValue]
    id: str
    parent_id: str | None = None


class Runtime(Protocol):
    """What the body of a tool may do with the runtime that runs it; `ToolRuntime` is one."""

    @property
    def revision(self) -> int:
        """A number that grows with every change of what some scope may see."""
        ...

    def register(self, tool: Tool[Any], scope: ScopeId | None = None, *, needs_listing: bool = True) -> Disposer:
        """Add a tool to a scope; see `ToolRuntime.register`."""
        ...

    def get(self, name: str, scope: ScopeId | None = None) -> Tool[Any] | None:
        """Return the tool that a scope sees under a name."""
        ...

    def tools(self, scope: ScopeId | None = None) -> list[Tool[Any]]:
        """Return the tools that a scope sees, sorted by name."""
        ...

    def schemas(self, scope: ScopeId | None = None) -> list[ToolSchema]:
        """Return detached descriptions of the tools that a scope sees, sorted by name."""
        ...

    def lane(self, call: ToolCall, *, scope: ScopeId | None = None) -> Lane:
        """Return what a call may overlap with."""
        ...

    async def execute(
        self, call: ToolCall, *, scope: ScopeId | None = None, owner: object = None, refusal: str | None = None
    ) -> ToolResult:
        """Run one call through the whole pipeline; see `ToolRuntime.execute`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What the body of a tool knows about its call.

    Attributes:
        call_id: Id of the call.
        parent_id: Id of the call around it.
        scope: The scope that the call sees tools from.
        runtime: The runtime that runs it.
        owner: Whatever the caller of `ToolRuntime.execute` gave: the one on whose behalf the tool acts.
    """

    call_id: str
    parent_id: str | None
    scope: ScopeId
    runtime: Runtime
    owner: object
    _nested: Iterator[int] = field(default_factory=lambda: count(1), init=False, repr=False)

    async def call(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run another tool through the whole pipeline, in the same scope and for the same owner."""
        call = ToolCall(name, arguments, id=f"{self.call_id}.{next(self._nested)}", parent_id=self.call_id)
        return await self.runtime.execute(call, scope=self.scope, owner=self.owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """What a model or a client is told of a tool; a copy that shares nothing with the registry."""

    name: str
    description: str
    parameters: JsonObject
    output: JsonObject
    annotations: ToolAnnotations


def _never(_args: object) -> bool:
    return False


def _nothing(_args: object) -> None:
    return None


# No slots: a frozen class with slots cannot be created through its generic alias, as `Tool[Args](...)`.
@dataclass(frozen=True, kw_only=True, eq=False)
class Tool(Generic[ArgsT]):
    """A named capability. Two tools are equal only if they are the same object, so one may key a cache.

    Attributes:
        name: What a call names: at most 256 characters, all of them printable.
        description: For the model; Unicode text.
        parameters: A pydantic model, or a JSON Schema, whose arguments then arrive as a dict.
        output: Model, TypedDict or JSON Schema of the structured value; see `checker_for`.
        execute: The body. It returns the structured value, or the result of a nested call to hand it on as its own;
            it raises `ToolError` to fail with a code of its own.
        render: Pure; what the model is shown of a value.
        concurrency_safe: Whether a call may overlap with other safe calls of its turn.
        concurrency_key: What an unsafe call works on: calls with different keys may overlap, None overlaps with none.
        is_ordered: Whether its calls keep their place among others that arrive one by one. Not those of a tool that
            has nothing to do with ours, or only looks something up: nothing shall wait for it.
        delegates_to: Name and arguments of the call that a call stands for; it is then scheduled as that one.
        timeout_s: Bound on the body, in seconds.
        not_unicode_code: Code of the refusal when a text among the arguments holds a lone surrogate.
        example: Arguments of a right call, shown when a call is refused.
        annotations: Hints.
        accepts: `parameters`, compiled.
        returns: `output`, compiled.

    Raises:
        ValueError: On construction: no name or one that is no name, a description that is no Unicode text, a timeout
            that is not positive, an invalid schema, or an example that does not match the parameters.
    """

    name: str
    description: str
    parameters: type[ArgsT] | Mapping[str, JsonValue]
    output: type[BaseModel | Mapping[str, object]] | Mapping[str, JsonValue]
    execute: Callable[[ArgsT, ToolContext], Awaitable[JsonValue | ToolResult]]
    render: Callable[[ArgsT, JsonValue], Sequence[ContentBlock]]
    concurrency_safe: Callable[[ArgsT], bool] = _never
    concurrency_key: Callable[[ArgsT], str | None] = _nothing
    is_ordered: bool = True
    delegates_to: Callable[[ArgsT], tuple[str, Mapping[str, JsonValue]] | None] = _nothing
    timeout_s: float | None = None
    not_unicode_code: str = RuntimeCode.INVALID_ARGS.value
    example: Mapping[str, JsonValue] | None = None
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
    accepts: Checker[ArgsT] = field(init=False, repr=False)
    returns: Checker[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_texts(self.name, self.description)
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise ValueError(f"{self.name}: timeout_s must be positive, got {self.timeout_s:g}")
        try:
            object.__setattr__(self, "accepts", checker_for(cast("type[BaseModel] | JsonObject", self.parameters)))
            object.__setattr__(self, "returns", checker_for(self.output))
            if self.example is not None:
                check_arguments(self.accepts, encode(self.example))
        except MismatchError as error:
            raise ValueError(f"{self.name}: the example is not a right call: {error}") from error
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    def schema(self) -> ToolSchema:
        """Return a detached description."""
        return ToolSchema(
            name=self.name,
            description=self.description,
            parameters=cast("JsonObject", detached(self.accepts.schema)),
            output=cast("JsonObject", detached(self.returns.schema)),
            annotations=self.annotations,
        )

    def usage(self) -> str:
        """Return one sentence that shows a right call, or the keys if the tool came without an example."""
        if self.example is not None:
            return f"A right call: {call_text(self.name, self.example)}"
        required = cast("list[str]", self.accepts.schema.get("required", []))
        properties = cast("JsonObject", self.accepts.schema.get("properties", {}))
        keys = [f"{cut(key, _KEY_CHARS_SHOWN_MAX)}{' (required)' * (key in required)}" for key in properties]
        more = f" and {len(keys) - _KEYS_SHOWN_MAX} more" if len(keys) > _KEYS_SHOWN_MAX else ""
        return f"It takes: {', '.join(keys[:_KEYS_SHOWN_MAX]) or 'no arguments'}{more}"


def _check_texts(name: str, description: str) -> None:
    """Refuse a tool that could not be listed beside others: its texts stand in prompts, results and messages."""
    if not name:
        raise ValueError("a tool needs a name")
    shown = repr(cut(name, _NAME_CHARS_SHOWN_MAX))
    if len(name) > _NAME_CHARS_MAX:
        raise ValueError(f"{shown}: a name has at most {_NAME_CHARS_MAX} characters, this has {len(name)}")
    if not name.isprintable():
        raise ValueError(f"{shown}: a name holds only printable characters")
    try:
        description.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: the description is no Unicode text: {error.reason}") from error
