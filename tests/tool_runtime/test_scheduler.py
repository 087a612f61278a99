"""The order of the calls of one turn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from tests.support.waiting import WAIT_S
from tests.tool_runtime.toolkit import Echo, call, echo_tool, failure, show, success
from tool_runtime import AbortSignal, Tool, ToolCall, ToolContext, ToolResult, ToolRuntime
from tool_runtime.scheduler import ALONE, Alone, Keyed, Lane, Shared, may_overlap, run_in_lanes

lanes = st.one_of(st.just(Shared()), st.just(ALONE), st.sampled_from("abc").map(Keyed))


@dataclass
class Trace:
    """Runs items and records which were running when each one started."""

    lanes: list[Lane]
    steps: list[int]
    started: list[int] = field(default_factory=list[int])
    finished: list[int] = field(default_factory=list[int])
    running: set[int] = field(default_factory=set[int])
    overlaps: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    most: int = 0

    async def run(self, index: int) -> int:
        self.started.append(index)
        self.overlaps += [(other, index) for other in self.running]
        self.running.add(index)
        self.most = max(self.most, len(self.running))
        for _ in range(self.steps[index]):
            await anyio.lowlevel.checkpoint()
        self.running.remove(index)
        self.finished.append(index)
        return -index


async def traced(chosen: list[tuple[Lane, int]], overlap_max: int) -> tuple[Trace, list[int]]:
    trace = Trace([lane for lane, _ in chosen], [steps for _, steps in chosen])
    results = await run_in_lanes(range(len(chosen)), trace.lanes.__getitem__, trace.run, overlap_max=overlap_max)
    return trace, results


def overlap_in_a_turn(one: Lane, other: Lane) -> bool:
    match one, other:
        case Shared(), Shared():
            return True
        case Keyed(key), Keyed(other_key):
            return key != other_key
        case _:
            return False


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(lanes, st.integers(0, 4)), max_size=14), st.integers(1, 5))
def test_only_what_may_overlap_overlaps_and_results_keep_model_order(
    backend: str, chosen: list[tuple[Lane, int]], overlap_max: int
) -> None:
    trace, results = anyio.run(traced, chosen, overlap_max, backend=backend)
    assert results == [-index for index in range(len(chosen))]
    assert trace.most <= overlap_max
    for one, other in trace.overlaps:
        assert overlap_in_a_turn(trace.lanes[one], trace.lanes[other])
    for one, other in conflicting_pairs(trace.lanes):
        assert trace.finished.index(one) < trace.finished.index(other)
        assert trace.started.index(one) < trace.started.index(other)


def conflicting_pairs(chosen: list[Lane]) -> Iterator[tuple[int, int]]:
    """Yield pairs whose order counts: both of one key, or of different kinds, or with one that runs alone."""
    for other in range(len(chosen)):
        yield from ((one, other) for one in range(other) if not overlap_in_a_turn(chosen[one], chosen[other]))


@pytest.mark.anyio
async def test_the_lane_of_a_call_is_asked_only_when_its_group_starts() -> None:
    done: list[int] = []

    def lane_of(index: int) -> Lane:
        return Shared() if len(done) == index else ALONE

    async def run(index: int) -> int:
        done.append(index)
        return index

    assert await run_in_lanes(range(4), lane_of, run, overlap_max=10) == [0, 1, 2, 3]
    assert done == [0, 1, 2, 3]
    assert isinstance(lane_of(0), Alone)


@pytest.mark.anyio
async def test_a_turn_without_calls_has_no_results() -> None:
    assert await ToolRuntime().run_turn([]) == []


@pytest.mark.parametrize("overlap_max", [0, -1])
def test_the_overlap_must_be_positive(overlap_max: int) -> None:
    with pytest.raises(ValueError, match="overlap_max must be at least 1"):
        ToolRuntime(overlap_max=overlap_max)


class Meeting:
    """Bodies that wait until a given number of them run at once."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.running = 0
        self.most = 0
        self.texts: list[str] = []
        self.complete = anyio.Event()

    async def body(self, args: Echo, _ctx: ToolContext) -> JsonValue:
        self.texts.append(args.text)
        self.running += 1
        self.most = max(self.most, self.running)
        if self.running == self.expected:
            self.complete.set()
        await self.complete.wait()
        await anyio.lowlevel.checkpoint()
        self.running -= 1
        return {"text": args.text}


def turn(*texts: str, name: str = "echo") -> list[ToolCall]:
    return [call(name, call_id=f"c{index}", text=text) for index, text in enumerate(texts)]


def texts(results: list[ToolResult]) -> list[JsonValue]:
    values = [success(result).value for result in results]
    return [value["text"] for value in values if isinstance(value, dict)]


@pytest.mark.anyio
async def test_ten_safe_calls_overlap_and_no_more_by_default() -> None:
    meeting, runtime = Meeting(10), ToolRuntime()
    runtime.register(echo_tool(execute=meeting.body, concurrency_safe=lambda _args: True))
    wanted = [str(number) for number in range(25)]
    with anyio.fail_after(WAIT_S):
        results = await runtime.run_turn(turn(*wanted))
    assert texts(results) == wanted
    assert meeting.most == 10


@pytest.mark.anyio
async def test_writes_to_different_targets_overlap_and_those_to_one_keep_model_order() -> None:
    meeting, runtime = Meeting(2), ToolRuntime()
    runtime.register(echo_tool(execute=meeting.body, concurrency_key=lambda args: args.text[0]))
    with anyio.fail_after(WAIT_S):
        results = await runtime.run_turn(turn("a1", "b1", "a2", "a3"))
    assert texts(results) == ["a1", "b1", "a2", "a3"]
    assert meeting.most == 2
    assert [text for text in meeting.texts if text.startswith("a")] == ["a1", "a2", "a3"]


@pytest.mark.anyio
async def test_an_unsafe_call_runs_alone_between_safe_ones() -> None:
    log: list[str] = []

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        log.append(f"+{args.text}")
        await anyio.lowlevel.checkpoint()
        log.append(f"-{args.text}")
        return {"text": args.text}

    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=body, concurrency_safe=lambda args: args.text.startswith("s")))
    results = await runtime.run_turn(turn("s1", "s2", "w", "s3"))
    assert texts(results) == ["s1", "s2", "w", "s3"]
    assert set(log[:4]) == {"+s1", "-s1", "+s2", "-s2"}
    assert log[4:] == ["+w", "-w", "+s3", "-s3"]


@pytest.mark.anyio
async def test_a_refused_call_gets_its_place_and_spoils_no_other() -> None:
    runtime = ToolRuntime()
    runtime.register(echo_tool(concurrency_safe=lambda _args: True))
    calls = [call(text="a"), call(times="x"), call("nope"), call(text="\ud800"), call(text="b")]
    results = await runtime.run_turn(calls)
    assert [failure(result).code for result in results[1:4]] == ["INVALID_ARGS", "UNKNOWN_TOOL", "INVALID_ARGS"]
    assert texts([results[0], results[4]]) == ["a", "b"]


@pytest.mark.anyio
async def test_a_tool_registered_by_an_earlier_call_of_the_turn_is_known() -> None:
    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        ctx.runtime.register(echo_tool("late"), ctx.scope)
        return {"text": "registered"}

    runtime = ToolRuntime()
    runtime.register(echo_tool("early", execute=body))
    results = await runtime.run_turn([call("early"), call("late", text="x")])
    assert texts(results) == ["registered", "x"]


@pytest.mark.anyio
async def test_the_arguments_of_a_whole_turn_are_copied_before_the_first_call_runs() -> None:
    later: dict[str, JsonValue] = {"text": "before"}

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        later["text"] = "after"
        return {"text": args.text}

    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=body))
    assert texts(await runtime.run_turn([call(text="x"), ToolCall("echo", later, "c2")])) == ["x", "before"]


@pytest.mark.anyio
async def test_a_tool_that_fails_to_say_what_may_overlap_runs_alone(caplog: pytest.LogCaptureFixture) -> None:
    def broken(args: Echo) -> bool:
        raise ValueError("broken")

    runtime = ToolRuntime()
    runtime.register(echo_tool(concurrency_safe=broken))
    assert texts(await runtime.run_turn(turn("a", "b"))) == ["a", "b"]
    assert "tool echo failed to say what may overlap with call c0" in caplog.text


@pytest.mark.anyio
async def test_an_aborted_call_of_a_turn_comes_back_aborted_alone() -> None:
    started, release = anyio.Event(), anyio.Event()
    signals = {"c1": AbortSignal(), "c2": AbortSignal(), "c0": AbortSignal()}
    results: list[ToolResult] = []

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        if args.text == "stuck":
            started.set()
            await anyio.sleep_forever()
        await release.wait()
        return {"text": args.text}

    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=body, concurrency_safe=lambda args: args.text != "queued"))

    async def run() -> None:
        results.extend(await runtime.run_turn(turn("a", "stuck", "queued", "b"), signals=signals))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        signals["c2"].abort()
        signals["c1"].abort()
        release.set()
    assert texts([results[0], results[3]]) == ["a", "b"]
    assert [failure(result).message for result in results[1:3]] == [
        "echo: aborted while it ran; it may have taken effect",
        "echo: aborted before it started; nothing was done",
    ]


@pytest.mark.anyio
async def test_cancellation_of_a_turn_is_never_swallowed() -> None:
    started, results = anyio.Event(), list[ToolResult]()

    async def body(args: Echo, ctx: ToolContext) -> JsonValue:
        started.set()
        await anyio.sleep_forever()
        return None

    runtime = ToolRuntime()
    runtime.register(echo_tool(execute=body, concurrency_safe=lambda _args: True))

    async def run() -> None:
        results.extend(await runtime.run_turn(turn("a", "b")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await started.wait()
        tasks.cancel_scope.cancel()
    assert results == []


def test_the_lane_of_one_call_can_be_asked_for() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    runtime.register(echo_tool(concurrency_key=lambda args: args.text))
    runtime.register(echo_tool(concurrency_safe=lambda _args: True), scope)
    assert runtime.lane(call(text="a")) == Keyed("a")
    assert runtime.lane(call(text="a"), scope=scope) == Shared()
    assert runtime.lane(call(times="x")) == runtime.lane(call("nope")) == ALONE


class Forward(BaseModel):
    name: str
    arguments: dict[str, JsonValue]


def forwarding() -> Tool[Forward]:
    async def body(args: Forward, ctx: ToolContext) -> ToolResult:
        return await ctx.call(args.name, args.arguments)

    def target(args: Forward) -> tuple[str, Mapping[str, JsonValue]]:
        return args.name, args.arguments

    return Tool(
        name="forward",
        description="Calls a tool by name.",
        parameters=Forward,
        output={},
        execute=body,
        render=show,
        delegates_to=target,
    )


def forward(text: str, *, name: str = "echo") -> ToolCall:
    return call("forward", name=name, arguments={"text": text})


@pytest.mark.anyio
async def test_a_call_that_delegates_is_scheduled_as_its_target_in_its_scope() -> None:
    meeting, runtime = Meeting(3), ToolRuntime()
    scope = runtime.scope()
    runtime.register(echo_tool(execute=meeting.body))
    runtime.register(echo_tool(execute=meeting.body, concurrency_safe=lambda _args: True), scope)
    runtime.register(forwarding())
    with anyio.fail_after(WAIT_S):
        results = await runtime.run_turn([forward("a"), call(text="b"), forward("c")], scope=scope)
    assert texts(results) == ["a", "b", "c"]
    assert meeting.most == 3


@pytest.mark.anyio
async def test_a_call_that_delegates_to_nothing_known_or_to_itself_runs_alone() -> None:
    runtime = ToolRuntime()
    runtime.register(forwarding())
    itself: dict[str, JsonValue] = {"name": "nope", "arguments": {}}
    for _ in range(12):
        itself = {"name": "forward", "arguments": itself}
    results = await runtime.run_turn([forward("a", name="nope"), ToolCall("forward", itself, "c2")])
    assert [failure(result).code for result in results] == ["UNKNOWN_TOOL", "UNKNOWN_TOOL"]


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        (Shared(), Shared(), True),
        (Shared(), Keyed("a"), False),
        (Keyed("a"), Keyed("b"), True),
        (Keyed("a"), Keyed("a"), False),
        (Alone(), Shared(), False),
        (Alone(is_ordered=False), Alone(), True),
        (Keyed("a", is_ordered=False), Shared(), True),
        (Keyed("a", is_ordered=False), Keyed("a", is_ordered=False), True),
    ],
)
def test_calls_that_arrive_one_by_one_overlap_by_lane_if_they_are_ordered(one: Lane, other: Lane, *, may: bool) -> None:
    assert may_overlap(one, other) is may
    assert may_overlap(other, one) is may
