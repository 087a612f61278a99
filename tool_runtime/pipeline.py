"""The one path of every call: snapshot, visibility, validation, gates, guards, wrappers, body, output check, render."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import anyio
from pydantic import JsonValue

from tool_runtime.abort import AbortSignal
from tool_runtime.arguments import check_arguments
from tool_runtime.hooks import Allow, Answerer, Ask, Deny, Hooks, Invocation, Observation, Proceed
from tool_runtime.payload import LoneSurrogateError, NotJsonError, encode
from tool_runtime.problems import MismatchError, cut
from tool_runtime.registry import Registry
from tool_runtime.results import ContentBlock, RuntimeCode, ToolError, ToolFailure, ToolResult, ToolSuccess
from tool_runtime.scopes import GLOBAL, ScopeId, UnknownScopeError
from tool_runtime.suggestions import close_names
from tool_runtime.tool import Tool, ToolCall, ToolContext

__all__ = ["Pipeline", "Submission"]

logger = logging.getLogger(__name__)

_NAMES_SHOWN_MAX = 20
_NAME_CHARS_SHOWN_MAX = 200
_OUTPUT_PROBLEMS_SHOWN_MAX = 5
_FAULT_CHARS_MAX = 300


@dataclass(frozen=True, slots=True)
class Submission:
    """A call as it stood when it was handed in.

    Attributes:
        call_id: Id of the call.
        parent_id: Id of the call around it.
        name: What it names.
        payload: Its arguments as JSON text; None if they have no such form.
        fault: Why they have none.
        is_unicode: False if that is for lone surrogates alone.
        scope: Where it sees tools from.
        owner: On whose behalf.
        refusal: Why it may not be called where it was called; None if it may.
    """

    call_id: str
    parent_id: str | None
    name: str
    payload: bytes | None = field(repr=False)
    fault: str
    is_unicode: bool
    scope: ScopeId
    owner: object
    refusal: str | None = None

    @classmethod
    def of(cls, call: ToolCall, *, scope: ScopeId | None, owner: object, refusal: str | None = None) -> Submission:
        """Take the snapshot."""
        payload, fault, is_unicode = None, "arguments must be a JSON object", True
        try:
            encoded = encode(call.arguments)
            payload = encoded if encoded.startswith(b"{") else None
        except NotJsonError as error:
            fault, is_unicode = str(error), not isinstance(error, LoneSurrogateError)
        scope = GLOBAL if scope is None else scope
        return cls(call.id, call.parent_id, call.name, payload, fault, is_unicode, scope, owner, refusal)

    @property
    def shown_name(self) -> str:
        """The name as it may stand in a message: cut, and sendable."""
        return _sendable(cut(self.name, _NAME_CHARS_SHOWN_MAX))


class Pipeline:
    """Runs submissions; returns a failure for whatever goes wrong with one, and raises for cancellation alone."""

    def __init__(
        self,
        *,
        registry: Registry,
        hooks: Hooks,
        answer: Answerer | None,
        context: Callable[[Submission], ToolContext],
    ) -> None:
        self._registry = registry
        self._hooks = hooks
        self._answer = answer
        self._context = context

    async def run(self, submission: Submission, abort: AbortSignal | None) -> ToolResult:
        """Run one call to its result and show that to the observers, who hear of a call that was cancelled too."""
        started_s = time.perf_counter()
        try:
            result = await self._abortable(submission, abort)
        except anyio.get_cancelled_exc_class():
            # Nobody waits for the result any more, but what was done stays.
            message = f"{submission.shown_name}: cancelled while it ran; it may have taken effect"
            self._observe(submission, ToolFailure(RuntimeCode.ABORTED.value, message), started_s=started_s)
            raise
        self._observe(submission, result, started_s=started_s)
        return result

    def admit(self, submission: Submission) -> tuple[Tool[Any], Any, bytes]:
        """Return the tool that a call means, its arguments, and their JSON text.

        Raises:
            ToolError: `UNKNOWN_TOOL` or `INVALID_ARGS`.
            UnknownScopeError: The scope was closed.
        """
        if submission.refusal is not None:
            raise ToolError(RuntimeCode.UNKNOWN_TOOL, f"{submission.shown_name}: {submission.refusal}")
        tool = self._registry.get(submission.name, submission.scope)
        if tool is None:
            raise ToolError(RuntimeCode.UNKNOWN_TOOL, self._unknown(submission))
        if submission.payload is None:
            code = RuntimeCode.INVALID_ARGS if submission.is_unicode else tool.not_unicode_code
            raise ToolError(code, f"{tool.name}: {submission.fault}. {tool.usage()}")
        try:
            args, payload = check_arguments(tool.accepts, submission.payload)
        except MismatchError as error:
            raise ToolError(RuntimeCode.INVALID_ARGS, f"{tool.name}: {error}. {tool.usage()}") from error
        return tool, args, payload

    async def _abortable(self, submission: Submission, abort: AbortSignal | None) -> ToolResult:
        if abort is None:
            return await self._contained(submission)
        if abort.aborted:
            message = f"{submission.shown_name}: aborted before it started; nothing was done"
            return ToolFailure(RuntimeCode.ABORTED.value, message)
        with abort.cancelling():
            return await self._contained(submission)
        message = f"{submission.shown_name}: aborted while it ran; it may have taken effect"
        return ToolFailure(RuntimeCode.ABORTED.value, message)

    async def _contained(self, submission: Submission) -> ToolResult:
        try:
            return await self._stages(submission)
        except Exception as error:
            fault = _single(error)
            if isinstance(fault, ToolError):
                return ToolFailure(fault.code, _sendable(fault.message), retryable=fault.retryable)
            if isinstance(fault, UnknownScopeError):
                return ToolFailure(RuntimeCode.UNKNOWN_TOOL.value, f"{submission.shown_name}: {fault}")
            logger.exception("tool %s failed in call %s", submission.name, submission.call_id)
            return ToolFailure(RuntimeCode.TOOL_FAILED.value, f"{submission.name} failed: {_one_line(fault)}")

    async def _stages(self, submission: Submission) -> ToolResult:
        tool, args, payload = self.admit(submission)
        invocation = Invocation(
            call_id=submission.call_id,
            parent_id=submission.parent_id,
            tool=tool,
            scope=submission.scope,
            owner=submission.owner,
            payload=payload,
        )
        await self._approve(invocation)
        self._guard(invocation)
        outcome = await self._wrapped(invocation, partial(tool.execute, args, self._context(submission)))
        if isinstance(outcome, ToolSuccess | ToolFailure):
            return outcome
        return _success(tool, args, outcome)

    async def _approve(self, invocation: Invocation) -> None:
        questions: list[str] = []
        for gate in self._hooks.gates:
            try:
                decision = await gate(invocation)
            except Exception as error:
                logger.exception("approval gate failed in call %s", invocation.call_id)
                raise _denied(invocation, "the approval gate failed") from error
            match decision:
                case Allow():
                    continue
                case Deny(reason):
                    raise _denied(invocation, reason)
                case Ask(question):
                    questions.append(question)
        for question in questions:
            await self._ask(invocation, question)

    async def _ask(self, invocation: Invocation, question: str) -> None:
        if self._answer is None:
            raise _denied(invocation, f"it needs approval and nobody is there to give it ({question})")
        try:
            approved = await self._answer(invocation, question)
        except Exception as error:
            logger.exception("asking for approval failed in call %s", invocation.call_id)
            raise _denied(invocation, f"asking for approval failed ({question})") from error
        if approved is not True:
            raise _denied(invocation, f"approval was refused ({question})")

    def _guard(self, invocation: Invocation) -> None:
        for guard in self._hooks.guards:
            try:
                reason = guard(invocation)
            except Exception as error:
                logger.exception("guard failed in call %s", invocation.call_id)
                raise _denied(invocation, "a guard failed") from error
            if reason is not None:
                raise _denied(invocation, reason)

    async def _wrapped(self, invocation: Invocation, body: Proceed) -> JsonValue | ToolResult:
        proceed = body if invocation.tool.timeout_s is None else partial(_timed, invocation.tool, body)
        for wrapper in reversed(tuple(self._hooks.wrappers)):
            proceed = partial(wrapper, invocation, proceed)
        return await proceed()

    def _observe(self, submission: Submission, result: ToolResult, *, started_s: float) -> None:
        if not self._hooks.observers:
            return
        observation = Observation(
            call_id=submission.call_id,
            parent_id=submission.parent_id,
            name=submission.name,
            scope=submission.scope,
            owner=submission.owner,
            code=result.code if isinstance(result, ToolFailure) else None,
            elapsed_s=time.perf_counter() - started_s,
            _payload=submission.payload,
            _result=result,
        )
        for observer in self._hooks.observers:
            try:
                observer(observation)
            except Exception:
                logger.exception("result observer failed in call %s", submission.call_id)

    def _unknown(self, submission: Submission) -> str:
        names = [tool.name for tool in self._registry.tools(submission.scope)]
        name = cut(submission.name, _NAME_CHARS_SHOWN_MAX)
        why = next(filter(None, (absence(submission.name) for absence in self._hooks.absences)), None)
        if why is not None:
            return f"there is no tool {name!r} now: {why}"
        close = close_names(submission.name, names)
        if close:
            return f"there is no tool {name!r}; did you mean {' or '.join(close)}?"
        more = ", …" if len(names) > _NAMES_SHOWN_MAX else ""
        return f"there is no tool {name!r}; there are: {', '.join(names[:_NAMES_SHOWN_MAX]) or 'none'}{more}"


async def _timed(tool: Tool[Any], body: Proceed) -> JsonValue | ToolResult:
    with anyio.move_on_after(tool.timeout_s):
        return await body()
    # Only where a repeat is harmless: the body may have got as far as its effect.
    harmless = tool.annotations.read_only or tool.annotations.idempotent
    message = f"{tool.name}: no result within {tool.timeout_s:g} s; it may have taken effect"
    raise ToolError(RuntimeCode.TOOL_TIMEOUT, message, retryable=harmless)


def _success(tool: Tool[Any], args: object, outcome: JsonValue) -> ToolSuccess:
    try:
        value = tool.returns.plain(outcome)
    except MismatchError as error:
        shown = "; ".join(map(str, error.problems[:_OUTPUT_PROBLEMS_SHOWN_MAX]))
        raise _invalid_output(tool, shown) from error
    except NotJsonError as error:
        raise _invalid_output(tool, str(error)) from error
    return ToolSuccess(value, _rendered(tool, args, value))


def _rendered(tool: Tool[Any], args: object, value: JsonValue) -> tuple[ContentBlock, ...]:
    try:
        return tuple(tool.render(args, value))
    except Exception as error:
        logger.exception("rendering the result of tool %s failed", tool.name)
        message = f"{tool.name} ran, but its result could not be rendered: {_one_line(error)}"
        raise ToolError(RuntimeCode.TOOL_FAILED, message) from error


def _invalid_output(tool: Tool[Any], problems: str) -> ToolError:
    logger.error("tool %s returned a value that does not match its output schema: %s", tool.name, problems)
    message = f"{tool.name} ran, but its result does not match its output schema: {problems}"
    return ToolError(RuntimeCode.INVALID_TOOL_OUTPUT, message)


def _denied(invocation: Invocation, reason: str) -> ToolError:
    return ToolError(RuntimeCode.DENIED, f"{invocation.tool.name}: {reason}")


def _single(error: Exception) -> Exception:
    """Return the one exception inside the groups that task groups put around it."""
    if not isinstance(error, ExceptionGroup):
        return error
    inner = cast("ExceptionGroup[Exception]", error).exceptions
    return _single(inner[0]) if len(inner) == 1 else cast("Exception", error)


def _one_line(error: Exception) -> str:
    kind, text = type(error).__name__, " ".join(str(error).split())
    return _sendable(f"{kind}: {text}" if text else kind)[:_FAULT_CHARS_MAX]


def _sendable(message: str) -> str:
    """Return a message that can be encoded as UTF-8: names from outside may hold lone surrogates."""
    return message.encode("utf-8", "backslashreplace").decode("utf-8")
