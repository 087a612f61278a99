"""Gates, guards, wrappers and observers around a call."""

from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from pydantic import JsonValue

from tests.tool_runtime.toolkit import Echo, call, echo_tool, failure, success
from tool_runtime import (
    Allow,
    Ask,
    Decision,
    Deny,
    Gate,
    Invocation,
    JsonObject,
    Observation,
    Proceed,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolRuntime,
    ToolSuccess,
)

pytestmark = pytest.mark.anyio


def deciding(decision: Decision) -> Gate:
    async def gate(invocation: Invocation) -> Decision:
        return decision

    return gate


def answering(answer: object, asked: list[str]) -> Callable[[Invocation, str], Awaitable[bool]]:
    async def answerer(invocation: Invocation, question: str) -> bool:
        asked.append(question)
        return cast("bool", answer)

    return answerer


class Recorder:
    """A runtime whose tool, gate, guard and wrapper write down when they ran."""

    def __init__(self, runtime: ToolRuntime) -> None:
        self.runtime = runtime
        self.steps: list[str] = []
        runtime.register(echo_tool(execute=self._body))

    async def _body(self, args: Echo, _ctx: ToolContext) -> JsonValue:
        self.steps.append("body")
        return {"text": args.text}


async def test_the_stages_run_in_their_order() -> None:
    recorder = Recorder(ToolRuntime())
    runtime, steps = recorder.runtime, recorder.steps

    async def gate(invocation: Invocation) -> Decision:
        steps.append("gate")
        return Allow()

    def wrapper(name: str) -> Callable[[Invocation, Proceed], Awaitable[JsonValue | ToolResult]]:
        async def wrap(invocation: Invocation, proceed: Proceed) -> JsonValue | ToolResult:
            steps.append(f"{name} in")
            value = await proceed()
            steps.append(f"{name} out")
            return value

        return wrap

    runtime.add_observer(lambda _observation: steps.append("observer"))
    runtime.add_wrapper(wrapper("outer"))
    runtime.add_wrapper(wrapper("inner"))
    runtime.add_guard(lambda _invocation: steps.append("guard"))
    runtime.add_gate(gate)
    success(await runtime.execute(call()))
    assert steps == ["gate", "guard", "outer in", "inner in", "body", "inner out", "outer out", "observer"]


@pytest.mark.parametrize("wrong", [call("nope"), call(times="x")])
async def test_a_call_that_is_refused_earlier_reaches_no_gate(wrong: ToolCall) -> None:
    recorder = Recorder(ToolRuntime())

    async def gate(invocation: Invocation) -> Decision:
        recorder.steps.append("gate")
        return Allow()

    recorder.runtime.add_gate(gate)
    failure(await recorder.runtime.execute(wrong))
    assert recorder.steps == []


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ([Deny("not today")], "echo: not today"),
        ([Allow(), Deny("not today")], "echo: not today"),
        ([Ask("Run it?"), Deny("not today")], "echo: not today"),
        ([Ask("Run it?")], "echo: it needs approval and nobody is there to give it (Run it?)"),
    ],
)
async def test_a_gate_that_does_not_allow_denies_and_the_body_never_runs(
    decisions: list[Decision], message: str
) -> None:
    recorder = Recorder(ToolRuntime())
    for decision in decisions:
        recorder.runtime.add_gate(deciding(decision))
    refused = failure(await recorder.runtime.execute(call()))
    assert (refused.code, refused.message, refused.retryable) == ("DENIED", message, False)
    assert recorder.steps == []


@pytest.mark.parametrize(("answer", "runs"), [(True, True), (False, False), (None, False), ("yes", False)])
async def test_only_a_real_yes_lets_an_asked_call_run(answer: object, *, runs: bool) -> None:
    asked: list[str] = []
    recorder = Recorder(ToolRuntime(answer=answering(answer, asked)))
    recorder.runtime.add_gate(deciding(Ask("Run it?")))
    result = await recorder.runtime.execute(call())
    assert asked == ["Run it?"]
    assert isinstance(result, ToolSuccess) is runs
    if not runs:
        assert failure(result).message == "echo: approval was refused (Run it?)"


async def test_nobody_is_asked_when_another_gate_denies() -> None:
    asked: list[str] = []
    runtime = ToolRuntime(answer=answering(True, asked))
    runtime.register(echo_tool())
    runtime.add_gate(deciding(Ask("Run it?")))
    runtime.add_gate(deciding(Deny("no")))
    assert failure(await runtime.execute(call())).code == "DENIED"
    assert asked == []


async def test_a_gate_that_is_disposed_of_decides_nothing() -> None:
    runtime = ToolRuntime()
    runtime.register(echo_tool())
    dispose = runtime.add_gate(deciding(Deny("no")))
    dispose()
    dispose()
    success(await runtime.execute(call()))


async def test_a_gate_that_raises_denies(caplog: pytest.LogCaptureFixture) -> None:
    async def gate(invocation: Invocation) -> Decision:
        raise ValueError("broken")

    recorder = Recorder(ToolRuntime())
    recorder.runtime.add_gate(gate)
    refused = failure(await recorder.runtime.execute(call()))
    assert (refused.code, refused.message) == ("DENIED", "echo: the approval gate failed")
    assert recorder.steps == []
    assert "approval gate failed in call c1" in caplog.text


async def test_an_answerer_that_raises_denies(caplog: pytest.LogCaptureFixture) -> None:
    async def answerer(invocation: Invocation, question: str) -> bool:
        raise ValueError("broken")

    recorder = Recorder(ToolRuntime(answer=answerer))
    recorder.runtime.add_gate(deciding(Ask("Run it?")))
    refused = failure(await recorder.runtime.execute(call()))
    assert (refused.code, refused.message) == ("DENIED", "echo: asking for approval failed (Run it?)")
    assert recorder.steps == []
    assert "asking for approval failed in call c1" in caplog.text


async def test_a_guard_denies_after_every_approval() -> None:
    recorder = Recorder(ToolRuntime(answer=answering(True, [])))
    recorder.runtime.add_gate(deciding(Ask("Run it?")))
    recorder.runtime.add_guard(lambda _invocation: None)
    recorder.runtime.add_guard(lambda invocation: f"{invocation.arguments['text']} is forbidden")
    refused = failure(await recorder.runtime.execute(call(text="this")))
    assert (refused.code, refused.message) == ("DENIED", "echo: this is forbidden")
    assert recorder.steps == []


async def test_a_guard_cannot_be_taken_back() -> None:
    assert ToolRuntime().add_guard(lambda _invocation: None) is None  # pyright: ignore[reportUnknownMemberType] # no disposer is the point


async def test_a_guard_that_raises_denies(caplog: pytest.LogCaptureFixture) -> None:
    def guard(invocation: Invocation) -> str | None:
        raise ValueError("broken")

    recorder = Recorder(ToolRuntime())
    recorder.runtime.add_guard(guard)
    refused = failure(await recorder.runtime.execute(call()))
    assert (refused.code, refused.message) == ("DENIED", "echo: a guard failed")
    assert recorder.steps == []
    assert "guard failed in call c1" in caplog.text


async def test_hooks_see_the_checked_call_and_cannot_change_its_arguments() -> None:
    runtime, owner, seen = ToolRuntime(), object(), list[JsonObject]()
    tool = echo_tool()
    runtime.register(tool)

    async def gate(invocation: Invocation) -> Decision:
        assert (invocation.call_id, invocation.tool, invocation.owner) == ("c1", tool, owner)
        seen.append(invocation.arguments)
        invocation.arguments.clear()
        invocation.arguments["times"] = 99
        return Allow()

    runtime.add_gate(gate)
    runtime.add_guard(lambda invocation: seen.append(invocation.arguments))
    result = success(await runtime.execute(call(text="a", times="2"), owner=owner))
    assert seen == [{"text": "a", "times": 2}] * 2
    assert result.value == {"text": "aa"}


async def test_nested_calls_are_gated_too() -> None:
    async def outer(args: Echo, ctx: ToolContext) -> ToolResult:
        return await ctx.call("echo", {})

    recorder = Recorder(ToolRuntime())
    recorder.runtime.register(echo_tool("outer", execute=outer))
    recorder.runtime.add_guard(lambda invocation: "nested" if invocation.parent_id == "c1" else None)
    refused = failure(await recorder.runtime.execute(call("outer")))
    assert (refused.code, refused.message) == ("DENIED", "echo: nested")
    assert recorder.steps == []


async def test_what_a_wrapper_returns_is_checked_as_the_value() -> None:
    async def wrap(invocation: Invocation, proceed: Proceed) -> JsonValue | ToolResult:
        await proceed()
        return {"text": 5}

    runtime = ToolRuntime()
    runtime.register(echo_tool())
    dispose = runtime.add_wrapper(wrap)
    assert failure(await runtime.execute(call())).code == "INVALID_TOOL_OUTPUT"
    dispose()
    success(await runtime.execute(call()))


async def test_a_wrapper_that_raises_is_tool_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def wrap(invocation: Invocation, proceed: Proceed) -> JsonValue | ToolResult:
        raise ValueError("broken")

    runtime = ToolRuntime()
    runtime.register(echo_tool())
    runtime.add_wrapper(wrap)
    assert failure(await runtime.execute(call())).message == "echo failed: ValueError: broken"


async def test_observers_see_every_result_and_change_none() -> None:
    seen: list[Observation] = []

    def spoil(observation: Observation) -> None:
        seen.append(observation)
        if isinstance(observation.result, ToolSuccess):
            cast("JsonObject", observation.result.value).clear()
        cast("JsonObject", observation.arguments).clear()

    runtime, owner = ToolRuntime(), object()
    runtime.register(echo_tool())
    runtime.add_observer(spoil)
    results = [
        await runtime.execute(wrong, owner=owner) for wrong in (call(times="2"), call("nope", a=1), call(times="x"))
    ]
    assert success(results[0]).value == {"text": "hellohello"}
    assert [observation.result for observation in seen] == results
    assert [observation.code for observation in seen] == [None, "UNKNOWN_TOOL", "INVALID_ARGS"]
    assert [observation.name for observation in seen] == ["echo", "nope", "echo"]
    assert [observation.arguments for observation in seen] == [{"times": "2"}, {"a": 1}, {"times": "x"}]
    assert all(observation.owner is owner and observation.elapsed_s >= 0 for observation in seen)


async def test_an_observer_of_a_call_without_json_arguments_sees_none() -> None:
    seen: list[JsonValue] = []
    runtime = ToolRuntime()
    runtime.add_observer(lambda observation: seen.append(observation.arguments))
    await runtime.execute(call(text=float("nan")))
    assert seen == [None]


async def test_the_faults_of_an_observer_are_contained_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(observation: Observation) -> None:
        raise ValueError("broken")

    seen: list[str] = []
    runtime = ToolRuntime()
    runtime.register(echo_tool())
    dispose = runtime.add_observer(broken)
    runtime.add_observer(lambda observation: seen.append(observation.call_id))
    success(await runtime.execute(call()))
    assert seen == ["c1"]
    assert "result observer failed in call c1" in caplog.text
    dispose()
    caplog.clear()
    success(await runtime.execute(call()))
    assert "observer" not in caplog.text
