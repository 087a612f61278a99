"""Calls that arrive one by one keep the order of a turn."""

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic import JsonValue

from fs_core.testing.memory import MemoryBackend, MemoryStore
from seamfs.config import Settings
from seamfs.workspace import Workspace
from tests.seamfs.gated import GatedBackend
from tests.support.waiting import WAIT_S
from tool_runtime import (
    JsonObject,
    TextBlock,
    Tool,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    ToolRuntime,
    ToolSuccess,
)
from tool_runtime.call_queue import CallQueue

pytestmark = pytest.mark.anyio


def write(path: str, content: str) -> ToolCall:
    return ToolCall("write", {"file_path": path, "content": content}, id=f"{path}={content}")


def read(path: str) -> ToolCall:
    return ToolCall("read", {"file_path": path}, id=f"read {path}")


class Bench:
    """A queue over a gated store; `done` lists calls in the order they ended."""

    def __init__(self, backend: GatedBackend) -> None:
        workspace = Workspace(backend, settings=Settings())
        self.queue = CallQueue(workspace.tools, owner=workspace.session())
        self.done: list[str] = []
        self.values: dict[str, JsonValue] = {}

    async def run(self, call: ToolCall) -> None:
        result = await self.queue.run(call)
        assert isinstance(result, ToolSuccess), result
        self.values[call.id] = result.value
        self.done.append(call.id)


async def test_two_writes_to_one_file_land_in_the_order_they_came() -> None:
    store = MemoryStore()
    backend = GatedBackend("write", store)
    bench = Bench(backend)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.run, write("a", "first"))
            await backend.reached.wait()
            tasks.start_soon(bench.run, write("./a", "second"))
            await anyio.wait_all_tasks_blocked()
            assert backend.held == 1
            backend.gate.set()
    assert bench.done == ["a=first", "./a=second"]
    assert store.files["a"].data == b"second"


async def test_writes_to_different_files_overlap() -> None:
    backend = GatedBackend("write")
    bench = Bench(backend)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.run, write("a", "1"))
            tasks.start_soon(bench.run, write("b", "2"))
            await anyio.wait_all_tasks_blocked()
            assert backend.held == 2
            backend.gate.set()


async def test_a_read_sees_the_write_that_came_before_it() -> None:
    backend = GatedBackend("write")
    bench = Bench(backend)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.run, write("a", "new\n"))
            await backend.reached.wait()
            tasks.start_soon(bench.run, read("a"))
            await anyio.wait_all_tasks_blocked()
            backend.gate.set()
    value = bench.values["read a"]
    assert isinstance(value, dict)
    assert value["total_lines"] == 1


async def test_a_cancelled_call_lets_those_behind_it_go_on() -> None:
    backend = GatedBackend("write")
    bench = Bench(backend)
    scope = anyio.CancelScope()

    async def run_first() -> None:
        with scope:
            await bench.run(write("a", "first"))

    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_first)
            await backend.reached.wait()
            tasks.start_soon(bench.run, write("a", "second"))
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await backend.cancelled.wait()
            backend.gate.set()
    assert bench.done == ["a=second"]


async def test_a_call_that_hangs_elsewhere_holds_up_no_file() -> None:
    workspace = Workspace(MemoryBackend(MemoryStore()), settings=Settings())
    hanging, release = anyio.Event(), anyio.Event()

    async def hang(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        hanging.set()
        await release.wait()
        return None

    workspace.tools.register(
        Tool[JsonObject](
            name="mcp__srv__hang",
            description="Hangs.",
            parameters={"type": "object"},
            output={},
            execute=hang,
            render=lambda _, _value: [],
            concurrency_key=lambda _: "mcp__srv",
            is_ordered=False,
        )
    )
    queue = CallQueue(workspace.tools, owner=workspace.session())
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, ToolCall("mcp__srv__hang", {}, id="1"))
            await hanging.wait()
            for call in (write("a", "first"), read("a"), write("a", "second")):
                assert isinstance(await queue.run(call), ToolSuccess)
            release.set()


async def test_no_more_calls_run_at_once_than_are_allowed() -> None:
    workspace = Workspace(MemoryBackend(MemoryStore()), settings=Settings())
    running, most, release = 0, 0, anyio.Event()

    async def hold(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await release.wait()
        running -= 1
        return None

    workspace.tools.register(
        Tool[JsonObject](
            name="hold",
            description="Waits.",
            parameters={"type": "object"},
            output={},
            execute=hold,
            render=lambda _, _value: [],
            concurrency_safe=lambda _: True,
        )
    )
    queue = CallQueue(workspace.tools, owner=workspace.session(), overlap_max=3)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            for number in range(7):
                tasks.start_soon(queue.run, ToolCall("hold", {}, id=str(number)))
            await anyio.wait_all_tasks_blocked()
            assert running == 3
            release.set()
    assert (running, most) == (0, 3)


async def test_a_refused_call_is_observed_runs_nothing_and_waits_for_nothing() -> None:
    backend = GatedBackend("write")
    workspace = Workspace(backend, settings=Settings())
    observed: list[tuple[str, str | None]] = []
    refused: list[ToolResult] = []
    workspace.tools.add_observer(lambda observation: observed.append((observation.name, observation.code)))
    queue = CallQueue(
        workspace.tools,
        owner=workspace.session(),
        refuse=lambda name: "only write is called here" if name != "write" else None,
    )
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.run, write("a", "1"))
            await backend.reached.wait()
            refused.append(await queue.run(read("a")))
            backend.gate.set()
    [result] = refused
    assert result == ToolFailure("UNKNOWN_TOOL", "read: only write is called here")
    assert observed == [("read", "UNKNOWN_TOOL"), ("write", None)]


async def test_a_call_that_waits_for_many_does_not_wake_up_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 50
    done: list[JsonValue] = []
    waits = 0

    async def execute(arguments: JsonObject, _context: ToolContext) -> JsonValue:
        await checkpoint()
        done.append(arguments["number"])
        return None

    runtime = ToolRuntime()
    runtime.register(
        Tool[JsonObject](
            name="work",
            description="For tests.",
            parameters={"type": "object"},
            output={},
            execute=execute,
            render=lambda _, value: [TextBlock(str(value))],
        )
    )
    queue = CallQueue(runtime, owner=None)
    event = type(anyio.Event())
    wait = event.wait

    async def counted(self: anyio.Event) -> None:
        nonlocal waits
        waits += 1
        await wait(self)

    monkeypatch.setattr(event, "wait", counted)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            for number in range(calls):
                tasks.start_soon(queue.run, ToolCall("work", {"number": number}, id=str(number)))
    assert sorted(map(str, done)) == sorted(map(str, range(calls)))
    assert waits == calls - 1
