"""The tool: every nested call is a call like any other, and results and failures are shown to the model."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

from progressive.code.runtime import FailureKind
from progressive.code.sdk import checker_text
from progressive.disclosure import Disclosure
from progressive.protocol import Mode
from tests.progressive.code.programs import Bench, answering, bench, is_healthy, tool
from tests.support.waiting import WAIT_S
from tool_runtime import (
    AbortSignal,
    Deny,
    Invocation,
    JsonObject,
    MediaBlock,
    Observation,
    TextBlock,
    ToolCall,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolResult,
    ToolRuntime,
    ToolSchema,
    ToolSuccess,
)
from tool_runtime.hooks import Allow, Decision

pytestmark = pytest.mark.anyio

CODE_OF_FAILURE = """\
try:
    return await tools[{name!r}]({arguments})
except ToolCallError as e:
    return [e.tool, e.code, e.message]
"""


def caught(name: str, arguments: str = "{}") -> str:
    return CODE_OF_FAILURE.format(name=name, arguments=arguments)


async def test_the_result_is_what_was_printed_and_returned() -> None:
    async with bench(answering("read")) as made:
        result = await made.run('print("one")\nprint("two")\nreturn await tools.read({"path": "a"})')
    assert result == ToolSuccess(
        {"output": "one\ntwo\n", "value": {"path": "a"}},
        (TextBlock('Printed:\none\ntwo\n\nReturned:\n{"path":"a"}'),),
    )


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("return 1", "Returned:\n1"),
        ("return 'a\\nb'", 'Returned:\n"a\\nb"'),
        ("", "Returned nothing."),
        ("print('a')", "Printed:\na\n\nReturned nothing."),
        ("print()\nreturn []", "Returned:\n[]"),
        (
            "tools.read({})\nreturn 1",
            "Returned:\n1\n\nNote: 1 tool call was never awaited, and did not run",
        ),
        (
            "tools.read({})\ntools.read({})",
            "Returned nothing.\n\nNote: 2 tool calls were never awaited, and did not run",
        ),
    ],
)
async def test_results_are_shown_as_text(code: str, shown: str) -> None:
    async with bench(answering("read")) as made:
        assert (await made.run(code)).text == shown


async def test_a_failure_says_what_the_program_had_printed() -> None:
    async with bench() as made:
        failure = await made.failure('print("step 1")\nprint("step 2")\n1 / 0')
    assert failure == ToolFailure(
        FailureKind.EXCEPTION,
        "line 3, `1 / 0`: ZeroDivisionError: division by zero\n\nPrinted before:\nstep 1\nstep 2",
    )


async def test_of_much_that_was_printed_the_end_is_shown() -> None:
    async with bench() as made:
        failure = await made.failure('for number in range(10_000):\n    print(number)\nraise ValueError("no")')
    head, _, printed = failure.message.partition("\n\nPrinted before (the last 4000 characters):\n")
    assert head == 'line 3, `raise ValueError("no")`: ValueError: no'
    assert len(printed) == 4_000
    assert printed.endswith("9998\n9999")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("raise ValueError", FailureKind.EXCEPTION),
        ("x = (", FailureKind.SYNTAX_ERROR),
        ("while True: pass", FailureKind.TIMEOUT),
        ("return {1}", FailureKind.INVALID_OUTPUT),
        ("print('x' * 2000)", FailureKind.OUTPUT_LIMIT),
        ("kept = 'a' * 10**9", FailureKind.MEMORY_LIMIT),
        ("for _ in range(3): await tools.read({})", FailureKind.CALLS_LIMIT),
    ],
)
async def test_each_kind_of_failure_has_its_code(code: str, kind: FailureKind) -> None:
    timeout_s = 0.5 if kind is FailureKind.TIMEOUT else 60.0
    async with bench(answering("read"), timeout_s=timeout_s, output_bytes_max=1_000, calls_max=2) as made:
        assert (await made.failure(code)).code == kind
        assert await is_healthy(made.code)


async def test_nested_calls_take_the_whole_pipeline_with_parent_scope_and_owner() -> None:
    seen: list[tuple[str, str | None, object, object]] = []
    runtime = ToolRuntime()
    scope = runtime.scope()

    def observed(observation: Observation) -> None:
        seen.append((observation.call_id, observation.parent_id, observation.scope, observation.owner))

    runtime.add_observer(observed)
    async with bench(answering("read"), runtime=runtime) as made:
        await made.value("await tools.read({})\nawait tools.read({})", scope=scope, owner="me")
    assert seen == [("c1.1", "c1", scope, "me"), ("c1.2", "c1", scope, "me"), ("c1", None, scope, "me")]


async def test_a_program_sees_the_tools_of_its_scope() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    runtime.register(answering("inner", answer="inside"), scope)
    async with bench(answering("outer"), runtime=runtime) as made:
        runtime.restrict(scope, allow=[])
        assert await made.value("return await tools.inner({})", scope=scope) == "inside"
        assert (await made.value(caught("outer"), scope=scope))[1] == "UNKNOWN_TOOL"
        assert (await made.value(caught("inner")))[1] == "UNKNOWN_TOOL"


async def test_a_denied_call_is_an_exception_with_that_code() -> None:
    async def gate(invocation: Invocation) -> Decision:
        return Deny("not today") if invocation.tool.name == "write" else Allow()

    runtime = ToolRuntime()
    runtime.add_gate(gate)
    async with bench(answering("write"), runtime=runtime) as made:
        assert await made.value(caught("write")) == ["write", "DENIED", "write: not today"]


async def test_a_guard_refuses_a_nested_call() -> None:
    runtime = ToolRuntime()
    runtime.add_guard(lambda invocation: "guarded" if invocation.tool.name == "write" else None)
    async with bench(answering("write"), runtime=runtime) as made:
        assert await made.value(caught("write")) == ["write", "DENIED", "write: guarded"]


async def test_what_a_tool_raises_is_its_code_and_message() -> None:
    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        raise ToolError("NO_SUCH_FILE", "a.txt is not there")

    async with bench(tool("read", execute)) as made:
        assert await made.value(caught("read")) == ["read", "NO_SUCH_FILE", "a.txt is not there"]


async def test_a_call_that_times_out_is_an_exception_with_that_code() -> None:
    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        await anyio.sleep_forever()
        return None

    async with bench(tool("slow", execute, timeout_s=0.05)) as made:
        assert (await made.value(caught("slow")))[:2] == ["slow", "TOOL_TIMEOUT"]


@pytest.mark.parametrize("arguments", ["None", "5", "[1]", '"x"', '{"path": 1}', "{}", '{"path": float("nan")}'])
async def test_wrong_arguments_are_refused_as_from_anyone(arguments: str) -> None:
    parameters: JsonObject = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    async with bench(answering("read", parameters=parameters)) as made:
        assert (await made.value(caught("read", arguments)))[:2] == ["read", "INVALID_ARGS"]


@pytest.mark.parametrize("name", ["run_code", "relay"])
async def test_a_program_starts_no_other(name: str) -> None:
    async def relay(_arguments: JsonObject, context: ToolContext) -> JsonValue | ToolResult:
        return await context.call("run_code", {"code": "return 1", "description": "inner"})

    # One process: the inner program would wait for it forever.
    async with bench(tool("relay", relay), workers_max=1) as made:
        failed = await made.value(caught(name, '{"code": "return 1", "description": "inner"}'))
        assert failed == [name, "DENIED", "run_code: a program cannot start another; put both into one"]
        assert await made.value("return 2") == 2


async def test_programs_of_two_callers_run_at_once() -> None:
    arrived: list[str] = []
    both = anyio.Event()

    async def execute(_arguments: JsonObject, context: ToolContext) -> JsonValue:
        arrived.append(context.call_id)
        if len(arrived) == 2:
            both.set()
        await both.wait()
        return None

    async with bench(tool("meet", execute), workers_max=2) as made, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(made.value, "await tools.meet({})")
    assert len(arrived) == 2


class Crowd:
    """A tool that knows how many of its calls run at once."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0

    async def execute(self, arguments: JsonObject, _context: ToolContext) -> JsonValue:
        self.running += 1
        self.most = max(self.most, self.running)
        await anyio.wait_all_tasks_blocked()
        self.running -= 1
        return arguments


def always(_arguments: JsonObject) -> bool:
    return True


def by_rest(arguments: Any) -> str:
    return str(arguments["number"] % 3)


GATHER = """\
import asyncio
return await asyncio.gather(*[tools.work({"number": number}) for number in range(12)])
"""


async def test_calls_that_are_safe_overlap_up_to_a_bound() -> None:
    crowd = Crowd()
    async with bench(tool("work", crowd.execute, concurrency_safe=always), overlap_max=4) as made:
        assert await made.value(GATHER) == [{"number": number} for number in range(12)]
    assert crowd.most == 4


async def test_calls_that_are_not_safe_run_one_by_one() -> None:
    crowd = Crowd()
    async with bench(tool("work", crowd.execute)) as made:
        assert await made.value(GATHER) == [{"number": number} for number in range(12)]
    assert crowd.most == 1


async def test_calls_with_different_keys_overlap() -> None:
    crowd = Crowd()
    async with bench(tool("work", crowd.execute, concurrency_key=by_rest)) as made:
        await made.value(GATHER)
    assert crowd.most == 3


async def test_overlapping_takes_the_time_of_one_round() -> None:
    here, all_here = 0, anyio.Event()

    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        nonlocal here
        here += 1
        if here == 10:
            all_here.set()
        await all_here.wait()
        return None

    # Each call waits in the middle for all others: one after another they would never end.
    async with bench(tool("wait", execute, concurrency_safe=always)) as made:
        gather = "import asyncio\nreturn await asyncio.gather(*[tools.wait({}) for _ in range(10)])"
        assert await made.value(gather) == [None] * 10


async def test_aborting_a_program_cancels_its_calls() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return None

    signal = AbortSignal()
    results: list[ToolResult] = []
    async with bench(tool("stuck", execute)) as made:

        async def run() -> None:
            call = ToolCall("run_code", {"code": "await tools.stuck({})", "description": "x"}, id="c1")
            results.append(await made.runtime.execute(call, abort=signal))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await begun.wait()
            signal.abort()
        assert await made.value("return 1") == 1
    assert ended.is_set()
    assert isinstance(results[0], ToolFailure)
    assert results[0].code == "ABORTED"


async def test_a_program_gets_the_value_of_a_result_and_no_pictures() -> None:
    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue | ToolResult:
        return ToolSuccess({"width": 3}, (TextBlock("a picture"), MediaBlock("image", "AAAA", "image/png")))

    async with bench(tool("draw", execute)) as made:
        result = await made.run("return await tools.draw({})")
    assert result == ToolSuccess({"output": "", "value": {"width": 3}}, (TextBlock('Returned:\n{"width":3}'),))


@pytest.mark.parametrize("code", ["\ud800", "x = '\udfff'"])
async def test_a_program_with_a_lone_surrogate_is_refused(code: str) -> None:
    async with bench() as made:
        assert (await made.failure(code)).code == "INVALID_ARGS"


async def test_the_definition_depends_on_the_settings_alone() -> None:
    async with bench(answering("read")) as one, bench() as other:
        assert schema_of(one) == schema_of(other)


def schema_of(made: Bench) -> Any:
    return next(schema for schema in made.runtime.schemas() if schema.name == "run_code")


async def test_discovery_works_inside_programs() -> None:
    async with bench(answering("convert_currency", answer=4)) as made:
        surface_of = Disclosure(made.runtime).surface
        assert [schema.name for schema in surface_of(mode=Mode.CODE).tools] == ["run_code"]
        found = await made.value(
            'found = await tools.search_tools({"query": "currency"})\n'
            'name = found["matches"][0]["name"]\n'
            'described = await tools.describe_tools({"names": [name]})\n'
            'return [name, described["language"], await tools[name]({})]'
        )
    assert found == ["convert_currency", "python", 4]


READ: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.parametrize("call", ["tools.read", 'tools["read"]'])
async def test_types_are_checked_when_asked_and_nothing_runs(call: str) -> None:
    ran: list[str] = []
    async with bench(answering("read", parameters=READ), answering("note"), check_types=True) as made:
        made.runtime.add_observer(lambda observation: ran.append(observation.name))
        failure = await made.failure(f'await tools.note({{}})\nawait {call}({{"path": 5}})')
    assert failure.code == FailureKind.TYPE_ERROR
    assert failure.message.startswith(f'line 2, `await {call}({{"path": 5}})`: ')
    assert ran == ["run_code"]


@pytest.mark.parametrize(
    "code",
    [
        'return await tools.read({"path": "a"})',
        'name = "re" + "ad"\nreturn await tools[name]({"path": "a"})',
        'import asyncio\nreturn (await asyncio.gather(tools.read({"path": "a"})))[0]',
        'try:\n    return await tools.read({"path": "a"})\nexcept ToolCallError as e:\n    return e.code',
    ],
)
async def test_right_programs_pass_the_check(code: str) -> None:
    async with bench(answering("read", parameters=READ), check_types=True) as made:
        assert await made.value(code) == {"path": "a"}


async def test_a_tool_that_a_scope_does_not_see_is_a_type_error() -> None:
    async with bench(answering("read", parameters=READ), check_types=True) as made:
        failure = await made.failure("await tools.reed({})")
    assert failure.code == FailureKind.TYPE_ERROR
    assert "has no attribute `reed`" in failure.message


async def test_checking_costs_the_same_with_many_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [answering(f"tool_{number}", parameters=READ) for number in range(500)]
    declared: list[str] = []

    def declares(tools: Sequence[ToolSchema]) -> str:
        declared.extend(tool.name for tool in tools)
        return checker_text(tools)

    monkeypatch.setattr("progressive.code.tool.checker_text", declares)
    async with bench(*many, answering("read", parameters=READ), check_types=True) as made:
        assert await made.value('return await tools.read({"path": "a"})') == {"path": "a"}
    assert declared == ["read"]


async def took_s(run: Callable[[], Awaitable[object]]) -> float:
    started_s = time.perf_counter()
    await run()
    return time.perf_counter() - started_s


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_warm_program_costs_a_few_milliseconds() -> None:
    async def cold() -> None:
        async with bench(answering("read")) as made:
            await made.value("return 1")

    # The least of several: a machine that does something else adds to all others. No process is started, and no module
    # loaded, which makes it some seven times as quick.
    cold_s = min([await took_s(cold) for _ in range(3)])
    async with bench(answering("read")) as made:
        await made.value("return 1")
        least_s = min([await took_s(lambda: made.value("return 1")) for _ in range(50)])
    assert least_s < cold_s / 3


async def test_the_loop_goes_on_while_a_program_computes() -> None:
    computes, ended = anyio.Event(), anyio.Event()

    async def begin(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        computes.set()
        return None

    async with bench(tool("begin", begin)) as made, anyio.create_task_group() as tasks:

        async def run() -> None:
            await made.run("await tools.begin({})\nwhile True: pass")
            ended.set()

        tasks.start_soon(run)
        await computes.wait()
        # A loop that is held up comes back once, when the time of the program is over.
        for _ in range(20):
            await anyio.sleep(0.005)
            assert not ended.is_set()
        tasks.cancel_scope.cancel()


async def test_a_call_that_is_cut_off_by_the_end_of_its_program_is_observed() -> None:
    seen: list[tuple[str, str | None]] = []

    async def wait(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        begun.set()
        await anyio.sleep_forever()
        return None

    begun = anyio.Event()
    async with bench(tool("wait", wait), timeout_s=0.3) as made:
        made.runtime.add_observer(lambda observation: seen.append((observation.name, observation.code)))
        with anyio.fail_after(WAIT_S):
            while not begun.is_set():  # on a busy machine the time may be over before that
                seen.clear()
                failure = await made.failure("await tools.wait({})")
                assert failure.code == FailureKind.TIMEOUT
    assert seen == [("wait", "ABORTED"), ("run_code", FailureKind.TIMEOUT)]
