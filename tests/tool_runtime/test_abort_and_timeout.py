import anyio
import pytest
from pydantic import JsonValue

from tests.tool_runtime.toolkit import Echo, call, echo_tool, failure, success
from tool_runtime import (
    AbortSignal,
    Allow,
    Decision,
    Invocation,
    Proceed,
    ToolAnnotations,
    ToolContext,
    ToolError,
    ToolResult,
    ToolRuntime,
)

pytestmark = pytest.mark.anyio


class Waiting:
    """A tool that waits for ever, and tells when it started and whether it was cancelled."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.cancelled = False

    async def body(self, _args: Echo, _ctx: ToolContext) -> JsonValue:
        self.started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        return None


async def test_a_body_over_its_time_is_cancelled_and_tool_timeout() -> None:
    waiting, runtime = Waiting(), ToolRuntime()
    runtime.register(echo_tool(execute=waiting.body, timeout_s=0.01))
    refused = failure(await runtime.execute(call()))
    assert (refused.code, refused.retryable) == ("TOOL_TIMEOUT", False)
    assert refused.message == "echo: no result within 0.01 s; it may have taken effect"
    assert waiting.cancelled


@pytest.mark.parametrize(
    "annotations", [ToolAnnotations(read_only=True, destructive=False), ToolAnnotations(idempotent=True)]
)
async def test_a_timeout_may_be_retried_where_a_repeat_is_harmless(annotations: ToolAnnotations) -> None:
    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=Waiting().body, timeout_s=0.01, annotations=annotations))
    assert failure(await runtime.execute(call())).retryable is True


async def test_a_body_within_its_time_is_untouched() -> None:
    runtime = ToolRuntime()
    runtime.register(echo_tool(timeout_s=60))
    success(await runtime.execute(call()))


async def test_a_wrapper_sees_the_timeout() -> None:
    codes: list[str] = []

    async def trace(invocation: Invocation, proceed: Proceed) -> JsonValue | ToolResult:
        try:
            return await proceed()
        except ToolError as error:
            codes.append(error.code)
            raise

    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=Waiting().body, timeout_s=0.01))
    runtime.add_wrapper(trace)
    assert failure(await runtime.execute(call())).code == "TOOL_TIMEOUT"
    assert codes == ["TOOL_TIMEOUT"]


async def test_a_call_aborted_before_it_starts_never_runs() -> None:
    waiting, runtime, signal, seen = Waiting(), ToolRuntime(), AbortSignal(), list[str | None]()
    runtime.register(echo_tool(execute=waiting.body))
    runtime.add_observer(lambda observation: seen.append(observation.code))
    assert signal.aborted is False
    signal.abort()
    assert signal.aborted is True
    refused = failure(await runtime.execute(call(), abort=signal))
    assert (refused.code, refused.message) == ("ABORTED", "echo: aborted before it started; nothing was done")
    assert not waiting.started.is_set()
    assert seen == ["ABORTED"]


async def test_a_call_aborted_while_it_runs_is_cancelled_and_comes_back() -> None:
    waiting, runtime, signal = Waiting(), ToolRuntime(), AbortSignal()
    runtime.register(echo_tool(execute=waiting.body))
    results: list[ToolResult] = []

    async def run() -> None:
        results.append(await runtime.execute(call(), abort=signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await waiting.started.wait()
        signal.abort()
    refused = failure(results[0])
    assert (refused.code, refused.message) == ("ABORTED", "echo: aborted while it ran; it may have taken effect")
    assert waiting.cancelled


async def test_observers_hear_of_a_call_that_was_cancelled_from_around_it() -> None:
    waiting, runtime, seen = Waiting(), ToolRuntime(), list[tuple[str, str | None]]()
    runtime.register(echo_tool(execute=waiting.body))
    runtime.add_observer(lambda observation: seen.append((observation.name, observation.code)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.execute, call())
        await waiting.started.wait()
        assert seen == []
        tasks.cancel_scope.cancel()
    assert seen == [("echo", "ABORTED")]


async def test_a_call_waiting_for_approval_can_be_aborted() -> None:
    asked, runtime, signal, results = anyio.Event(), ToolRuntime(), AbortSignal(), list[ToolResult]()
    runtime.register(echo_tool())

    async def gate(invocation: Invocation) -> Decision:
        asked.set()
        await anyio.sleep_forever()
        return Allow()

    async def run() -> None:
        results.append(await runtime.execute(call(), abort=signal))

    runtime.add_gate(gate)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await asked.wait()
        signal.abort()
    assert failure(results[0]).code == "ABORTED"


async def test_a_body_that_finishes_in_spite_of_an_abort_keeps_its_result() -> None:
    started, runtime, signal, results = anyio.Event(), ToolRuntime(), AbortSignal(), list[ToolResult]()

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        with anyio.CancelScope(shield=True):
            started.set()
            await aborted.wait()
        return {"text": "committed"}

    aborted = anyio.Event()
    runtime.register(echo_tool(execute=body))

    async def run() -> None:
        results.append(await runtime.execute(call(), abort=signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        signal.abort()
        aborted.set()
    assert success(results[0]).value == {"text": "committed"}


async def test_an_abort_reaches_nested_calls_and_only_the_outer_call_is_aborted() -> None:
    waiting, runtime, signal, results = Waiting(), ToolRuntime(), AbortSignal(), list[ToolResult]()

    async def outer(args: Echo, ctx: ToolContext) -> ToolResult:
        return await ctx.call("inner", {})

    runtime.register(echo_tool("outer", execute=outer))
    runtime.register(echo_tool("inner", execute=waiting.body))

    async def run() -> None:
        results.append(await runtime.execute(call("outer"), abort=signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await waiting.started.wait()
        signal.abort()
    assert failure(results[0]).message.startswith("outer: aborted")
    assert waiting.cancelled


async def test_one_signal_aborts_every_call_it_was_given_to() -> None:
    first, second, runtime, signal, results = Waiting(), Waiting(), ToolRuntime(), AbortSignal(), list[ToolResult]()
    runtime.register(echo_tool("a", execute=first.body))
    runtime.register(echo_tool("b", execute=second.body))

    async def run(name: str) -> None:
        results.append(await runtime.execute(call(name), abort=signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "a")
        tasks.start_soon(run, "b")
        await first.started.wait()
        await second.started.wait()
        signal.abort()
        signal.abort()
    assert [failure(result).code for result in results] == ["ABORTED", "ABORTED"]


async def test_cancellation_from_around_wins_over_an_abort() -> None:
    waiting, runtime, signal, results = Waiting(), ToolRuntime(), AbortSignal(), list[ToolResult]()
    runtime.register(echo_tool(execute=waiting.body))

    async def run() -> None:
        results.append(await runtime.execute(call(), abort=signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await waiting.started.wait()
        tasks.cancel_scope.cancel()
    assert waiting.cancelled
    assert results == []
