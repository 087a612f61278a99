"""The tools of one agent, called from whatever thread and event loop."""

import importlib
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import cast

import anyio
import pytest
from anyio import to_thread

from fs_core.errors import FsError
from seamfs.config import Settings
from seamfs.extras import MissingExtraError
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.workspace import open_workspace
from tests.support.waiting import WAIT_S
from tool_runtime import JsonObject, TextBlock, Tool, ToolCall, ToolContext, ToolFailure, ToolSuccess

pytestmark = pytest.mark.anyio

NOTHING: JsonObject = {}
READ: JsonObject = {"file_path": "a.txt"}


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "asyncio")


def text_tool(name: str, execute: Callable[[JsonObject, ToolContext], Awaitable[str]]) -> Tool[JsonObject]:
    return Tool[JsonObject](
        name=name,
        description=name,
        parameters={"type": "object"},
        output={"type": "string"},
        execute=execute,
        render=lambda _, value: [TextBlock(str(value))],
    )


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], indirect=True)
async def test_sessions_do_not_share_what_was_read_unless_they_are_one(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root), settings=Settings()) as workspace:
        session = workspace.session("ann")
        tools, twin = AgentTools(workspace, session=session), AgentTools(workspace, session=session)
        assert isinstance(await tools.call("read", READ), ToolSuccess)
        change: JsonObject = {"file_path": "a.txt", "content": "two\n"}
        stranger = await tools.for_new_session().call("write", change)
        assert isinstance(stranger, ToolFailure)
        assert stranger.code == "FS_NOT_OBSERVED"
        assert isinstance(await twin.call("write", change), ToolSuccess)


async def test_a_scope_narrows_the_tools_of_an_agent(root: Path) -> None:
    async with open_workspace(str(root), settings=Settings()) as workspace:
        scope = workspace.tools.scope()
        workspace.tools.restrict(scope, allow=["read"])
        tools = AgentTools(workspace).in_scope(scope)
        assert [schema.name for schema in tools.schemas()] == ["read"]
        assert [schema.name for schema in tools.for_new_session().schemas()] == ["read"]
        [refused] = await tools.run_turn([ToolCall("write", {"file_path": "a.txt", "content": ""}, id="c1")])
        assert isinstance(refused, ToolFailure)
        assert refused.code == "UNKNOWN_TOOL"


async def test_calls_that_come_one_by_one_keep_the_order_of_a_turn(root: Path) -> None:
    async with open_workspace(str(root), settings=Settings()) as workspace:
        tools, texts = AgentTools(workspace), dict[int, str]()

        async def call(number: int, name: str, arguments: JsonObject) -> None:
            texts[number] = (await tools.call(name, arguments)).text

        write: JsonObject = {"file_path": "a.txt", "content": "one\n"}
        edit: JsonObject = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
        async with anyio.create_task_group() as turn:
            turn.start_soon(call, 0, "write", write)
            turn.start_soon(call, 1, "edit", edit)
            turn.start_soon(call, 2, "read", READ)
    assert "1: two" in texts[2]


async def test_on_its_own_loop_nothing_waits_for_the_loop(root: Path) -> None:
    async with open_workspace(str(root), settings=Settings()) as workspace:
        tools = AgentTools(workspace)
        with pytest.raises(RuntimeError, match="this thread runs the event loop of the workspace"):
            tools.call_sync("read", READ)
        with pytest.raises(RuntimeError, match="open them with open_agent_tools"):
            await to_thread.run_sync(tools.call_sync, "read", READ)
        with pytest.raises(RuntimeError, match="open them with open_agent_tools"):
            await to_thread.run_sync(anyio.run, tools.call, "read", READ)


def test_outside_any_loop_the_right_way_is_named(root: Path) -> None:
    line = "no event loop is running here; open the tools of an agent with open_agent_tools"
    with open_agent_tools(str(root), settings=Settings()) as tools, pytest.raises(RuntimeError, match=line):
        AgentTools(tools.workspace)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], indirect=True)
async def test_a_workspace_in_a_thread_serves_any_loop(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    with open_agent_tools(str(root), settings=Settings()) as tools:
        results = [tools.call_sync("read", READ), await tools.call("read", READ)]
        results += await tools.run_turn([ToolCall("read", READ, id="c1")])
        results += tools.run_turn_sync([ToolCall("read", READ, id="c1")])
        threads = {await tools.run(this_thread), tools.run_sync(this_thread)}
    assert len({result.text for result in results}) == 1
    assert len(threads) == 1
    assert threads.isdisjoint({threading.get_ident()})


async def this_thread() -> int:
    return threading.get_ident()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], indirect=True)
async def test_cancelling_a_call_ends_it_in_the_thread_of_the_workspace(root: Path) -> None:
    started, ended = threading.Event(), threading.Event()

    async def wait(_arguments: JsonObject, _context: ToolContext) -> str:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    with open_agent_tools(str(root), settings=Settings()) as tools:
        tools.workspace.tools.register(text_tool("wait", wait))
        async with anyio.create_task_group() as group:
            group.start_soon(tools.call, "wait", NOTHING)
            await to_thread.run_sync(started.wait)
            group.cancel_scope.cancel()
        assert ended.is_set()
        assert isinstance(await tools.call("write", {"file_path": "a.txt", "content": ""}), ToolSuccess)


def test_a_call_that_runs_when_the_block_is_left_by_an_error_is_ended_too(root: Path) -> None:
    started, ended = threading.Event(), threading.Event()

    async def wait(_arguments: JsonObject, _context: ToolContext) -> str:
        started.set()
        await anyio.sleep_forever()
        return ""

    def call(tools: AgentTools) -> None:
        try:
            tools.call_sync("wait", NOTHING)
        except CancelledError:
            ended.set()

    def leave_while_it_runs() -> None:
        with open_agent_tools(str(root), settings=Settings()) as tools:
            tools.workspace.tools.register(text_tool("wait", wait))
            threading.Thread(target=call, args=[tools]).start()
            started.wait()
            raise KeyError

    with pytest.raises(KeyError):
        leave_while_it_runs()
    assert ended.wait(timeout=WAIT_S)


async def test_after_the_block_every_call_says_that_it_is_closed(root: Path) -> None:
    with open_agent_tools(str(root), settings=Settings()) as tools:
        pass
    with pytest.raises(RuntimeError, match="the workspace is closed; keep the block of open_agent_tools open"):
        tools.call_sync("read", READ)
    with pytest.raises(RuntimeError, match="the workspace is closed; keep the block of open_agent_tools open"):
        await tools.call("read", READ)


def test_a_store_that_cannot_be_opened_is_told_as_ever(root: Path) -> None:
    with pytest.raises(FsError, match="no such directory"), open_agent_tools(str(root / "x"), settings=Settings()):
        pass


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("anthropic", "anthropic", "anthropic"),
        ("deepagents", "deepagents", "deepagents"),
        ("langchain", "langchain_core", "langchain"),
        ("openai", "openai", "openai"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_without_its_package_an_adapter_names_the_extra(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"seamfs.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    for loaded in [package, *sys.modules]:
        if loaded == package or loaded.startswith(f"{package}."):
            monkeypatch.setitem(cast("dict[str, object]", sys.modules), loaded, None)
    line = rf" needs {package}, not installed here: pip install 'seamfs\[{extra}\]'$"
    with pytest.raises(MissingExtraError, match=line) as caught:
        importlib.import_module(module)
    assert isinstance(caught.value, ImportError)
