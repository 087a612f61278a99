"""The MCP server: what is offered, what a model is shown, who has seen what. In memory, with the official client."""

from typing import Any

import anyio
import pytest
from mcp import Client, types
from mcp.types import CallToolResult

from fs_core.search.bounds import Looked, SearchBounds, Watch
from fs_core.search.outcomes import Globbed
from fs_core.session import FileSession
from fs_core.testing.memory import MemoryBackend, MemoryStore
from seamfs import mcp_server
from seamfs.config import Settings
from seamfs.mcp_server import build_server
from seamfs.workspace import Workspace
from tests.seamfs.gated import GatedBackend
from tests.seamfs.mounted import HARMLESS, OWN
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", b"one\ntwo\n")
    return store


def workspace_on(store: MemoryStore, *, read_only: bool = False, settings: Settings | None = None) -> Workspace:
    return Workspace(MemoryBackend(store, name="w"), settings=settings or Settings(), read_only=read_only)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def meta_of(result: CallToolResult) -> dict[str, Any]:
    assert result.meta is not None
    return dict(result.meta)


async def test_tools_are_offered_with_schema_hints_and_a_wish_to_be_loaded(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(tools) == OWN
    tools = {name: tools[name] for name in ("read", "write", "edit")}
    for tool in tools.values():
        assert tool.meta == {"anthropic/alwaysLoad": True}
        assert tool.input_schema["type"] == "object"
        assert "file_path" in tool.input_schema["properties"]
        assert tool.output_schema is None
    hints = {
        name: (hint.read_only_hint, hint.destructive_hint, hint.idempotent_hint, hint.open_world_hint)
        for name, tool in tools.items()
        if (hint := tool.annotations) is not None
    }
    assert hints == {
        "read": (True, False, True, False),
        "write": (False, True, True, False),
        "edit": (False, True, False, False),
    }


async def test_the_root_is_told_once_with_the_rule_and_not_without_one(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        told = client.instructions
    assert told is not None
    assert told.count("memory://w") == 1
    assert "call read before write or edit" in told
    unguarded = mcp_server.instructions(workspace_on(store, settings=Settings(policy="none")))
    assert "read before" not in unguarded
    assert "not changed" in mcp_server.instructions(workspace_on(store, read_only=True))


async def test_success_is_text_with_the_value_beside_it(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        result = await client.call_tool("read", {"file_path": "a.txt", "limit": 1})
    assert not result.is_error
    assert "1: one\n" in text_of(result)
    assert result.structured_content is None
    value = meta_of(result)["seamfs/value"]
    assert value["lines"] == [{"number": 1, "text": "one"}]
    assert value["next_offset"] == 2


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_refusal_is_an_error_result_that_starts_with_the_code(store: MemoryStore, mode: str) -> None:
    async with Client(build_server(workspace_on(store)), mode=mode) as client:
        result = await client.call_tool("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "1"})
    assert result.is_error
    assert text_of(result).startswith("FS_NOT_OBSERVED: a.txt: ")
    error = meta_of(result)["seamfs/error"]
    assert error["code"] == "FS_NOT_OBSERVED"
    assert text_of(result) == f"{error['code']}: {error['message']}"
    assert error["retryable"] is False


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("remove", {}, "UNKNOWN_TOOL"),
        ("read", {}, "INVALID_ARGS"),
        ("read", {"file_path": "a.txt", "offset": 0}, "INVALID_ARGS"),
        ("read", {"file_path": "../a"}, "FS_SANDBOX_DENIED"),
    ],
)
async def test_a_wrong_call_is_told_to_the_model(
    store: MemoryStore, name: str, arguments: dict[str, Any], code: str
) -> None:
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert text_of(result).startswith(f"{code}: ")


async def test_structured_adds_schema_and_value_for_hosts_that_read_them(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store), structured=True), mode="legacy") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("read", {"file_path": "a.txt"})
        refused = await client.call_tool("read", {"file_path": "missing"})
    schema = tools["read"].output_schema
    assert schema is not None
    assert "total_lines" in schema["properties"]
    assert result.structured_content == meta_of(result)["seamfs/value"]
    assert refused.structured_content is None


async def test_read_only_offers_what_changes_nothing(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store, read_only=True)), mode="legacy") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == HARMLESS
        result = await client.call_tool("write", {"file_path": "b", "content": ""})
    assert text_of(result).startswith("UNKNOWN_TOOL: ")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_each_connection_is_an_owner_of_its_own(store: MemoryStore, mode: str) -> None:
    server = build_server(workspace_on(store))
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    async with Client(server, mode=mode) as reader, Client(server, mode=mode) as other:
        await reader.call_tool("read", {"file_path": "a.txt"})
        refused = await other.call_tool("edit", edit)
        accepted = await reader.call_tool("edit", edit)
    assert text_of(refused).startswith("FS_NOT_OBSERVED")
    assert not accepted.is_error
    assert store.files["a.txt"].data == b"1\ntwo\n"


async def test_two_edits_sent_at_once_both_land(store: MemoryStore) -> None:
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        await client.call_tool("read", {"file_path": "a.txt"})
        results: list[CallToolResult] = []

        async def edit(old: str, new: str) -> None:
            arguments = {"file_path": "a.txt", "old_string": old, "new_string": new}
            results.append(await client.call_tool("edit", arguments))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edit, "one", "1")
            tasks.start_soon(edit, "two", "2")
    assert [result.is_error for result in results] == [False, False]
    assert store.files["a.txt"].data == b"1\n2\n"


async def test_a_cancelled_request_cancels_the_call_and_nothing_is_written(store: MemoryStore) -> None:
    backend = GatedBackend("write", store)
    workspace = Workspace(backend, settings=Settings())
    async with Client(build_server(workspace), mode="legacy") as client:
        await client.call_tool("read", {"file_path": "a.txt"})
        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "write", {"file_path": "a.txt", "content": "no"})
                await backend.reached.wait()
                # Leaving a request sends notifications/cancelled.
                tasks.cancel_scope.cancel()
            await backend.cancelled.wait()
            backend.gate.set()
            after = await client.call_tool("write", {"file_path": "a.txt", "content": "yes"})
    assert not after.is_error
    assert store.files["a.txt"].data == b"yes"


async def test_a_call_that_lasts_reports_progress_to_a_client_that_asked(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_PERIOD_S", 0.02)
    backend = GatedBackend("scan", store)
    told: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        if len(told) == 2:
            backend.gate.set()

    async with Client(build_server(Workspace(backend, settings=Settings())), mode="legacy") as client:
        with anyio.fail_after(WAIT_S):
            result = await client.call_tool("read", {"file_path": "a.txt"}, progress_callback=on_progress)
    assert not result.is_error
    assert told[0][0] < told[1][0]
    assert told[0][1] == "read: running for 0 s"


async def test_a_search_that_lasts_reports_how_far_it_is(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_PERIOD_S", 0.02)
    told: list[str | None] = []
    enough = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        told.append(message)
        enough.set()

    async def search(session: FileSession, path: str, _pattern: str, *, watch: Watch, bounds: SearchBounds) -> Globbed:
        watch(Looked(directories=1, files=23, found=4))
        await enough.wait()
        return Globbed(start=await session.files.resolve(path), paths=(), total=0)

    monkeypatch.setattr(FileSession, "glob", search)
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        with anyio.fail_after(WAIT_S):
            result = await client.call_tool("glob", {"pattern": "*"}, progress_callback=on_progress)
    assert not result.is_error
    assert told[0] == "glob: running for 0 s, 23 files, 4 found"


async def test_calls_are_logged_without_paths_or_content(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="seamfs")
    async with Client(build_server(workspace_on(store)), mode="legacy") as client:
        await client.call_tool("write", {"file_path": "plan.txt", "content": "confidential"})
        await client.call_tool("read", {"file_path": "missing.txt"})
    fields = [getattr(record, "fields", {}) for record in caplog.records if record.name == "seamfs.mcp_server"]
    assert [(entry["tool"], entry["code"], entry["session"]) for entry in fields] == [
        ("write", None, "s1"),
        ("read", "FS_NOT_FOUND", "s1"),
    ]
    assert not any(word in str(fields) for word in ("plan", "missing", "confidential"))
