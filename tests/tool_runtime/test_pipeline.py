"""One call, from its arguments to its result."""

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest
from pydantic import BaseModel, JsonValue

from tests.tool_runtime.toolkit import Echo, call, echo_tool, failure, success
from tool_runtime import (
    AbortSignal,
    JsonObject,
    MediaBlock,
    RuntimeCode,
    TextBlock,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    ToolRuntime,
    ToolSuccess,
)

pytestmark = pytest.mark.anyio

SHOWN = 'A right call: echo({"text":"hi","times":2})'


def runtime_with(*tools: Tool[Any]) -> ToolRuntime:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    return runtime


def raising(error: Exception) -> Callable[[Echo, ToolContext], Any]:
    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        raise error

    return body


def returning(value: object) -> Callable[[Echo, ToolContext], Any]:
    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        return cast("JsonValue", value)

    return body


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return what was logged here; a thread of an earlier test may have had something to say meanwhile."""
    return [record for record in caplog.records if record.name == "tool_runtime.pipeline"]


async def test_a_right_call_gives_value_and_content() -> None:
    result = await runtime_with(echo_tool()).execute(call(text="ab", times="2"))
    assert result == ToolSuccess({"text": "abab"}, (TextBlock("shown: {'text': 'abab'}"),))


async def test_invalid_args_lists_every_path_and_shows_a_right_call() -> None:
    refused = failure(await runtime_with(echo_tool()).execute(call(text=1, times="1.5", colour="red")))
    assert refused.code == "INVALID_ARGS"
    assert refused.retryable is False
    assert refused.message == (
        'echo: text: must be a valid string, got 1; times: must be a valid integer, got "1.5"; '
        f"colour: unknown key, known: text, times. {SHOWN}"
    )
    assert refused.content == (TextBlock(f"INVALID_ARGS: {refused.message}"),)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"text": "\ud800"}, "text: holds a lone surrogate, which is not Unicode text"),
        ({"times": float("nan")}, "times: nan is not a JSON number"),
        ([1], "arguments must be a JSON object"),
        (None, "arguments must be a JSON object"),
    ],
)
async def test_arguments_that_are_no_json_object_are_invalid_args(arguments: object, reason: str) -> None:
    wrong = ToolCall("echo", cast("JsonObject", arguments), id="c")
    refused = failure(await runtime_with(echo_tool()).execute(wrong))
    assert (refused.code, refused.message) == ("INVALID_ARGS", f"echo: {reason}. {SHOWN}")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"text": "\ud800"}, "NOT_TEXT"),
        ({"text": "\ud800", "times": float("nan")}, "INVALID_ARGS"),
        ({"text": 1}, "INVALID_ARGS"),
    ],
)
async def test_a_tool_may_name_its_own_code_for_text_that_is_not_unicode(arguments: JsonObject, code: str) -> None:
    runtime = runtime_with(dataclasses.replace(echo_tool(), not_unicode_code="NOT_TEXT"))
    assert failure(await runtime.execute(ToolCall("echo", arguments, id="c"))).code == code


async def test_what_a_refusal_repeats_is_bounded() -> None:
    runtime = runtime_with(echo_tool())
    keys: JsonObject = {f"key {number} {'x' * 1000}": 1 for number in range(200)}
    long: JsonObject = {"y" * 100_000: 1}
    wrong = (ToolCall("echo", keys, id="1"), ToolCall("x" * 100_000, {}, id="2"), ToolCall("echo", long, id="3"))
    for each in wrong:
        assert len(failure(await runtime.execute(each)).message) < 10_000


async def test_unknown_tool_suggests_a_near_name() -> None:
    refused = failure(await runtime_with(echo_tool(), echo_tool("write")).execute(call("ecko")))
    assert (refused.code, refused.message) == ("UNKNOWN_TOOL", "there is no tool 'ecko'; did you mean echo?")


async def test_unknown_tool_lists_a_bounded_number_of_names() -> None:
    runtime = runtime_with(*(echo_tool(f"tool{number:02}") for number in range(30)))
    refused = failure(await runtime.execute(call("zzz")))
    assert refused.message.endswith("tool18, tool19, …")
    assert failure(await ToolRuntime().execute(call("zzz"))).message == "there is no tool 'zzz'; there are: none"


async def test_whoever_knows_why_a_tool_is_missing_is_heard_until_taken_away() -> None:
    runtime = runtime_with(echo_tool())
    runtime.add_absence(lambda _: None)
    take_away = runtime.add_absence(lambda name: "its server is gone" if name == "ecko" else None)
    refused = failure(await runtime.execute(call("ecko")))
    assert (refused.code, refused.message) == ("UNKNOWN_TOOL", "there is no tool 'ecko' now: its server is gone")
    assert failure(await runtime.execute(call("zzz"))).message == "there is no tool 'zzz'; there are: echo"
    take_away()
    assert failure(await runtime.execute(call("ecko"))).message == "there is no tool 'ecko'; did you mean echo?"


async def test_an_unknown_tool_is_unknown_whatever_its_arguments() -> None:
    refused = failure(await ToolRuntime().execute(call("zzz", text="\ud800")))
    assert refused.code == "UNKNOWN_TOOL"


async def test_a_name_that_is_not_unicode_is_still_answered_in_unicode() -> None:
    refused = failure(await ToolRuntime().execute(call("\ud800")))
    assert refused.message.encode() == b"there is no tool '\\ud800'; there are: none"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"text": 5}, "text: must be a valid string, got 5"),
        ({}, "text: is required"),
        ({"text": "x", "more": 1}, "more: unknown key, known: text"),
        ({"text": float("nan")}, "text: nan is not a JSON number"),
        ({"text": "\udc80"}, "text: holds a lone surrogate, which is not Unicode text"),
        (object(), "object is not a JSON type"),
        (None, "must be an object, got null"),
    ],
)
async def test_a_value_that_breaks_its_schema_is_invalid_tool_output(
    value: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = failure(await runtime_with(echo_tool(execute=returning(value))).execute(call()))
    assert refused.code == "INVALID_TOOL_OUTPUT"
    assert refused.message == f"echo ran, but its result does not match its output schema: {problem}"
    assert [record.levelno for record in logged(caplog)] == [logging.ERROR]


async def test_invalid_tool_output_names_a_bounded_number_of_problems() -> None:
    class Rows(BaseModel):
        rows: list[int]

    tool = echo_tool(execute=returning({"rows": ["x"] * 1000}), output=Rows)
    refused = failure(await runtime_with(tool).execute(call()))
    assert "rows[4]" in refused.message
    assert "rows[5]" not in refused.message


async def test_integers_of_a_result_get_no_leniency() -> None:
    class Number(BaseModel):
        number: int

    tool = echo_tool(execute=returning({"number": "12"}), output=Number)
    assert failure(await runtime_with(tool).execute(call())).code == "INVALID_TOOL_OUTPUT"


@pytest.mark.parametrize(("value", "ok"), [({"text": "x", "more": 1}, True), ({"text": 5}, False)])
async def test_an_output_schema_without_a_model_is_checked_too(value: JsonValue, *, ok: bool) -> None:
    output: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}}
    result = await runtime_with(echo_tool(execute=returning(value), output=output)).execute(call())
    assert isinstance(result, ToolSuccess) is ok


async def test_the_value_is_detached_from_what_the_tool_returned() -> None:
    kept: JsonObject = {"text": "x"}
    value = success(await runtime_with(echo_tool(execute=returning(kept))).execute(call())).value
    kept["text"] = "changed"
    assert value == {"text": "x"}


async def test_a_tool_error_passes_with_its_own_code() -> None:
    error = ToolError("FS_STALE_VERSION", "a.txt changed: read it again", retryable=True)
    refused = failure(await runtime_with(echo_tool(execute=raising(error))).execute(call()))
    assert (refused.code, refused.message, refused.retryable) == (error.code, error.message, True)
    assert refused.content == (TextBlock("FS_STALE_VERSION: a.txt changed: read it again"),)
    assert str(error) == "FS_STALE_VERSION: a.txt changed: read it again"


async def test_a_tool_error_out_of_a_task_group_keeps_its_code() -> None:
    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        async with anyio.create_task_group() as tasks, anyio.create_task_group() as inner:
            tasks.start_soon(anyio.sleep_forever)
            inner.start_soon(raising(ToolError("FS_BROKEN", "broken")), args, ctx)
        return None

    assert failure(await runtime_with(echo_tool(execute=body)).execute(call())).code == "FS_BROKEN"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\nlines"), "echo failed: ValueError: two lines"),
        (KeyError(), "echo failed: KeyError"),
        (RuntimeError("x" * 1000), "echo failed: RuntimeError: " + "x" * 286),
        (OSError("\ud800"), "echo failed: OSError: \\ud800"),
        (ExceptionGroup("both", [ValueError("a"), ValueError("b")]), None),
        (TimeoutError("its own"), "echo failed: TimeoutError: its own"),
    ],
)
async def test_an_unexpected_exception_is_tool_failed_in_one_line_and_logged(
    error: Exception, message: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    refused = failure(await runtime_with(echo_tool(execute=raising(error))).execute(call()))
    assert refused.code == "TOOL_FAILED"
    assert refused.message == message or message is None
    assert "Traceback" not in refused.message
    assert "\n" not in refused.message
    [record] = logged(caplog)
    assert record.exc_info is not None


async def test_a_render_that_raises_is_tool_failed_and_says_the_tool_ran() -> None:
    def render(args: Any, value: JsonValue) -> list[TextBlock]:
        raise ValueError("no text for this")

    refused = failure(await runtime_with(echo_tool(render=render)).execute(call()))
    assert refused.code == "TOOL_FAILED"
    assert refused.message == "echo ran, but its result could not be rendered: ValueError: no text for this"


async def test_a_tool_that_changes_its_arguments_never_reaches_the_caller() -> None:
    async def body(args: dict[str, JsonValue], ctx: ToolContext) -> JsonValue:
        cast("list[JsonValue]", args["items"]).append("added")
        args.clear()
        return None

    tool = Tool[JsonObject](
        name="mutate", description="", parameters={}, output={}, execute=body, render=lambda _args, _value: []
    )
    arguments: JsonObject = {"items": [1]}
    assert success(await runtime_with(tool).execute(ToolCall("mutate", arguments, id="c"))).content == ()
    assert arguments == {"items": [1]}


async def test_a_caller_that_changes_its_arguments_never_reaches_a_running_tool() -> None:
    started, go_on, arguments = anyio.Event(), anyio.Event(), cast("JsonObject", {"text": "before"})
    results: list[ToolResult] = []

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        started.set()
        await go_on.wait()
        return {"text": args.text}

    runtime = runtime_with(echo_tool(execute=body))

    async def run() -> None:
        results.append(await runtime.execute(ToolCall("echo", arguments, id="c")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        arguments["text"] = "after"
        go_on.set()
    assert success(results[0]).value == {"text": "before"}


async def test_the_body_knows_its_call_scope_runtime_and_owner() -> None:
    contexts: list[ToolContext] = []

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        contexts.append(ctx)
        return {"text": ""}

    runtime, owner = runtime_with(echo_tool(execute=body)), object()
    scope = runtime.scope()
    await runtime.execute(ToolCall("echo", {}, "c9", parent_id="p"), scope=scope, owner=owner)
    [ctx] = contexts
    assert (ctx.call_id, ctx.parent_id, ctx.scope, ctx.runtime) == ("c9", "p", scope, runtime)
    assert ctx.owner is owner


async def test_nested_calls_take_the_whole_pipeline_with_parent_id_scope_and_owner() -> None:
    async def outer(args: Echo, ctx: ToolContext) -> JsonValue:
        texts = [success(await ctx.call("echo", {"text": text})).value for text in ("a", "b")]
        refused = failure(await ctx.call("echo", {"text": 1}))
        return {"text": f"{texts} {refused.code}"}

    runtime, owner = runtime_with(echo_tool("outer", execute=outer), echo_tool()), object()
    scope = runtime.scope()
    seen: list[tuple[str, str, str | None, str | None]] = []

    def observe(observation: Any) -> None:
        assert observation.scope == scope
        assert observation.owner is owner
        seen.append((observation.name, observation.call_id, observation.parent_id, observation.code))

    runtime.add_observer(observe)
    result = success(await runtime.execute(call("outer"), scope=scope, owner=owner))
    assert result.value == {"text": "[{'text': 'a'}, {'text': 'b'}] INVALID_ARGS"}
    assert seen == [
        ("echo", "c1.1", "c1", None),
        ("echo", "c1.2", "c1", None),
        ("echo", "c1.3", "c1", "INVALID_ARGS"),
        ("outer", "c1", None, None),
    ]


async def test_the_result_of_a_nested_call_can_be_handed_on_unchanged() -> None:
    results: list[ToolResult] = []

    async def forward(args: Echo, ctx: ToolContext) -> ToolResult:
        results.append(await ctx.call(args.text, {}))
        return results[-1]

    failing = echo_tool("failing", execute=raising(ToolError("FS_X", "x", retryable=True)))
    runtime = runtime_with(echo_tool("forward", execute=forward, output={}), echo_tool(), failing)
    assert await runtime.execute(call("forward", text="echo")) is results[0]
    assert await runtime.execute(call("forward", text="failing")) is results[1]
    assert [type(result).__name__ for result in results] == ["ToolSuccess", "ToolFailure"]


async def test_a_tool_may_shadow_a_tool_and_call_nothing_but_its_own_scope() -> None:
    runtime = runtime_with(echo_tool())
    scope = runtime.scope()
    runtime.register(echo_tool(execute=returning({"text": "shadow"})), scope)

    async def outer(args: Echo, ctx: ToolContext) -> ToolResult:
        return await ctx.call("echo", {})

    runtime.register(echo_tool("outer", execute=outer))
    assert success(await runtime.execute(call("outer"), scope=scope)).value == {"text": "shadow"}
    assert success(await runtime.execute(call("outer"))).value == {"text": "hello"}


async def test_cancellation_from_around_a_call_is_never_swallowed() -> None:
    started, after = anyio.Event(), False
    runtime = runtime_with(echo_tool(execute=waiting(started)))

    async def run() -> None:
        nonlocal after
        await runtime.execute(call())
        after = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        tasks.cancel_scope.cancel()
    assert after is False


def waiting(started: anyio.Event) -> Callable[[Echo, ToolContext], Any]:
    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        started.set()
        await anyio.sleep_forever()
        return None

    return body


def test_every_code_of_the_runtime_reads_as_its_name() -> None:
    assert [str(code) for code in RuntimeCode] == [code.name for code in RuntimeCode]


def test_media_stand_as_one_line_where_only_text_is_shown() -> None:
    picture = MediaBlock("image", "aGk=", "image/png")
    assert (
        ToolSuccess(None, (TextBlock("before"), picture, TextBlock("after"))).text
        == "before\n[image: image/png]\nafter"
    )


async def test_a_name_of_any_length_and_kind_is_told_in_part_and_in_unicode_wherever_it_is_told() -> None:
    runtime = ToolRuntime()
    closed = runtime.scope()
    runtime.close_scope(closed)
    name = "\ud800" + "x" * 1_000_000
    aborted = AbortSignal()
    aborted.abort()
    results = [
        await runtime.execute(ToolCall(name, {}, id="1")),
        await runtime.execute(ToolCall(name, {}, id="2"), scope=closed),
        await runtime.execute(ToolCall(name, {}, id="3"), abort=aborted),
        *await runtime.run_turn([ToolCall(name, {}, id="4")], refuse=lambda _: "not here"),
    ]
    assert [failure(result).code for result in results] == ["UNKNOWN_TOOL", "UNKNOWN_TOOL", "ABORTED", "UNKNOWN_TOOL"]
    assert all(len(result.text.encode()) < 1_000 for result in results)


async def test_a_turn_may_refuse_names_that_its_tools_still_call() -> None:
    runtime = runtime_with(echo_tool("inner"))

    async def nested(_args: Echo, ctx: ToolContext) -> ToolResult:
        return await ctx.call("inner", {})

    runtime.register(echo_tool("outer", execute=nested))
    calls = [ToolCall(name, {}, id=name) for name in ("inner", "outer")]
    refused, run = await runtime.run_turn(calls, refuse=lambda name: None if name == "outer" else "not here")
    assert failure(refused).message == "inner: not here"
    assert success(run).value == {"text": "hello"}
