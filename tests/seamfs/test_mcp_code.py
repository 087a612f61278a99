"""Code mode and Both over MCP: what is offered, what is refused, and that a program is bound as its session is."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult
from pydantic import JsonValue

from fs_core.testing.memory import MemoryStore
from seamfs import mcp_server
from tests.seamfs.gated import GatedBackend
from tests.seamfs.mounted import OWN, meta_of, stand, text_of
from tests.support.waiting import until
from tool_runtime import Allow, Decision, Deny, Invocation, ToolCall
from tool_runtime.scheduler import ALONE

pytestmark = pytest.mark.anyio

BOTH = sorted(["describe_tools", "run_code", "search_tools", *OWN])
LISTED = {"code": ["run_code"], "both": BOTH}
EDIT = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", b"one\n")
    return store


async def run(client: Client, *lines: str) -> CallToolResult:
    return await client.call_tool("run_code", {"code": "\n".join(lines), "description": "Does what a test wants."})


def returned(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return meta_of(result)["seamfs/value"]["value"]


def call(name: str, /, **arguments: Any) -> str:
    return f"await tools[{name!r}]({arguments!r})"


@pytest.mark.parametrize("mode", ["code", "both"])
async def test_each_mode_declares_its_tools_with_a_wish_to_be_loaded_and_tells_its_protocol(
    store: MemoryStore, mode: str
) -> None:
    async with stand(store=store, mode=mode) as opened, Client(opened.server, mode="legacy") as client:
        listed = (await client.list_tools()).tools
        told = client.instructions or ""
    assert [tool.name for tool in listed] == LISTED[mode]
    assert all(tool.meta == {"anthropic/alwaysLoad": True} for tool in listed)
    (run_code,) = [tool for tool in listed if tool.name == "run_code"]
    # The declarations of what needs no search.
    for name in ("search_tools", "describe_tools", "read", "write", "edit"):
        assert f'"{name}"' in (run_code.description or "") or f" {name}(" in (run_code.description or "")
    assert "invoke_tool" not in (run_code.description or "")
    assert "mcp__box__" not in (run_code.description or "")
    assert told.startswith("Files below memory://w.")
    assert 'await tools["exact-name"](arguments)' in told
    assert ("only `run_code` is called directly" in told) is (mode == "code")
    assert "invoke_tool" not in told


@pytest.mark.parametrize(
    ("mounts", "read_only", "hints"),
    [
        # May it only read, destroy, be repeated, reach beyond this system?
        ({}, True, (True, False, True, False)),
        ({}, False, (False, True, False, False)),
        ({"gone": {"command": ["no-such-program"]}}, True, (False, True, False, True)),
    ],
    ids=["read-only files", "files", "mounted servers"],
)
async def test_what_a_program_may_do_is_hinted_at_its_worst(
    mounts: dict[str, Any], read_only: bool, hints: tuple[bool, ...]
) -> None:
    async with (
        stand(mounts=mounts, read_only=read_only, mode="code") as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        (tool,) = (await client.list_tools()).tools
    told = tool.annotations
    assert told is not None
    assert (told.read_only_hint, told.destructive_hint, told.idempotent_hint, told.open_world_hint) == hints


@pytest.mark.parametrize("name", ["read", "search_tools", "mcp__box__shout", "invoke_tool", "nope"])
async def test_in_code_mode_a_direct_call_of_anything_else_is_refused_with_a_hint_and_observed(
    store: MemoryStore, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="seamfs")
    observed: list[tuple[str, str | None]] = []
    async with stand(store=store, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        opened.workspace.tools.add_observer(lambda seen: observed.append((seen.name, seen.code)))
        refused = await client.call_tool(name, {"file_path": "a.txt"})
    assert text_of(refused) == (
        f"UNKNOWN_TOOL: {name}: only run_code is called directly; "
        'inside its program: await tools["exact-name"](arguments)'
    )
    assert meta_of(refused)["seamfs/error"]["code"] == "UNKNOWN_TOOL"
    assert observed == [(name, "UNKNOWN_TOOL")]
    (logged,) = [record.__dict__["fields"] for record in caplog.records if record.name == "seamfs.mcp_server"]
    assert (logged["tool"], logged["code"]) == (name, "UNKNOWN_TOOL")


async def test_in_both_modes_a_tool_is_called_either_way(store: MemoryStore) -> None:
    async with stand(store=store, mode="both") as opened, Client(opened.server, mode="legacy") as client:
        direct = await client.call_tool("mcp__box__add", {"left": 1, "right": 2})
        total = await run(client, f"return {call('mcp__box__add', left=1, right=2)}")
    assert json.loads(text_of(direct)) == returned(total) == {"total": 3}


async def test_a_program_finds_what_it_reads_and_changes(store: MemoryStore) -> None:
    store.put("b.txt", b"none\n")
    async with stand(store=store, mounts={}, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        done = await run(
            client,
            f"found = {call('grep', pattern='^one')}",
            "path = found['files'][0]['path']",
            'await tools["read"]({"file_path": path})',
            'await tools["edit"]({"file_path": path, "old_string": "one", "new_string": "1"})',
            f"entries = ({call('list_dir')})['entries']",
            f"return [found['matches'], path, entries, ({call('glob', pattern='b*')})['paths']]",
        )
    matches, path, entries, paths = returned(done)
    assert (matches, path, paths) == (1, "a.txt", ["b.txt"])
    assert [(entry["path"], entry["size"]) for entry in entries] == [("a.txt", 2), ("b.txt", 5)]


@pytest.mark.parametrize("mode", ["code", "both"])
async def test_a_mounted_tool_is_found_described_and_called_from_programs(store: MemoryStore, mode: str) -> None:
    async with stand(store=store, mode=mode) as opened, Client(opened.server, mode="legacy") as client:
        found = await run(client, f"return {call('search_tools', query='sum of two numbers', limit=1)}")
        (match,) = returned(found)["matches"]
        described = returned(await run(client, f"return {call('describe_tools', names=[match['name']])}"))
        total = await run(client, f"return {call(match['name'], left=2, right=3)}")
    assert match["name"] == "mcp__box__add"
    assert described["language"] == "python"
    assert "mcp__box__add" in described["sdk"]
    assert returned(total) == {"total": 5}


@pytest.mark.parametrize("mode", ["code", "both"])
async def test_the_prefix_stays_the_same_bytes_while_a_server_adds_and_removes_tools(
    store: MemoryStore, mode: str
) -> None:
    async with stand(store=store, mode=mode) as opened, Client(opened.server, mode="legacy") as client:
        tools = opened.workspace.tools

        async def prefix() -> tuple[str, str | None]:
            async with Client(opened.server, mode="legacy") as other:
                return (await other.list_tools()).model_dump_json(), other.instructions

        before = await prefix()
        returned(await run(client, call("mcp__box__grow", name="sing")))
        await until(lambda: tools.get("mcp__box__sing") is not None)
        grown = await prefix()
        sung = returned(await run(client, f"return {call('mcp__box__sing')}"))
        returned(await run(client, call("mcp__box__shrink", name="sing")))
        await until(lambda: tools.get("mcp__box__sing") is None)
        shrunk = await prefix()
        gone = await run(client, call("mcp__box__sing"))
    assert before == grown == shrunk
    assert sung == "sing"
    assert gone.is_error
    assert "UNKNOWN_TOOL" in text_of(gone)


async def test_what_a_gate_denies_is_denied_inside_a_program_too_and_the_program_may_go_on(store: MemoryStore) -> None:
    asked: list[tuple[str, bool]] = []

    async def gate(invocation: Invocation) -> Decision:
        asked.append((invocation.tool.name, invocation.parent_id is None))
        return Deny("not today") if invocation.tool.name == "mcp__box__shout" else Allow()

    async with stand(store=store, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        opened.workspace.tools.add_gate(gate)
        uncaught = await run(client, call("mcp__box__shout", text="hey"))
        caught = await run(
            client,
            "try:",
            f"    {call('mcp__box__shout', text='hey')}",
            "except ToolCallError as error:",
            "    return [error.tool, error.code, error.message]",
        )
    assert uncaught.is_error
    assert "DENIED" in text_of(uncaught)
    assert returned(caught) == ["mcp__box__shout", "DENIED", "mcp__box__shout: not today"]
    assert asked == [("run_code", True), ("mcp__box__shout", False)] * 2


async def test_a_program_that_a_guard_denies_does_not_run(store: MemoryStore) -> None:
    async with stand(store=store, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        opened.workspace.tools.add_guard(lambda seen: "no programs" if seen.tool.name == "run_code" else None)
        denied = await run(client, call("write", file_path="b.txt", content="x"))
    assert text_of(denied) == "DENIED: run_code: no programs"
    assert "b.txt" not in store.files


async def test_what_one_session_has_read_another_sessions_program_may_not_change(store: MemoryStore) -> None:
    async with (
        stand(store=store, mode="both") as opened,
        Client(opened.server, mode="legacy") as reader,
        Client(opened.server, mode="legacy") as other,
    ):
        await reader.call_tool("read", {"file_path": "a.txt"})
        refused = await run(other, call("edit", **EDIT))
        # Read directly, edited in a program.
        edited = await run(reader, call("edit", **EDIT))
    assert "FS_NOT_OBSERVED" in text_of(refused)
    assert not edited.is_error
    assert store.files["a.txt"].data == b"two\n"


async def test_programs_of_two_sessions_run_at_once(store: MemoryStore) -> None:
    backend = GatedBackend("write", store)
    async with (
        stand(backend=backend, mounts={}, mode="code") as opened,
        Client(opened.server, mode="legacy") as one,
        Client(opened.server, mode="legacy") as other,
    ):
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, one, call("write", file_path="b.txt", content="1"))
                tasks.start_soon(run, other, call("write", file_path="c.txt", content="2"))
                await until(lambda: backend.held == 2)
                backend.gate.set()
    assert (store.files["b.txt"].data, store.files["c.txt"].data) == (b"1", b"2")


async def test_a_direct_edit_that_comes_after_a_program_waits_for_it(store: MemoryStore) -> None:
    backend = GatedBackend("write", store)
    ended: list[str] = []
    async with stand(backend=backend, mounts={}, mode="both") as opened, Client(opened.server, mode="legacy") as client:

        async def program() -> None:
            returned(await run(client, call("read", file_path="a.txt"), call("edit", **EDIT)))
            ended.append("program")

        async def edit() -> None:
            again = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
            assert not (await client.call_tool("edit", again)).is_error
            ended.append("edit")

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(program)
                await backend.reached.wait()
                tasks.start_soon(edit)
                # What only looks something up waits for nothing.
                assert not (await client.call_tool("search_tools", {})).is_error
                backend.gate.set()
    assert ended == ["program", "edit"]
    assert store.files["a.txt"].data == b"three\n"


async def test_a_cancelled_request_cancels_the_program_and_its_calls_and_nothing_is_written(
    store: MemoryStore,
) -> None:
    backend = GatedBackend("write", store)
    write = call("write", file_path="b.txt", content="no")
    async with stand(backend=backend, mounts={}, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, client, "try:", f"    {write}", "finally:", f"    {write}")
                await backend.reached.wait()
                tasks.cancel_scope.cancel()
            await backend.cancelled.wait()
            backend.gate.set()
            after = await run(client, call("write", file_path="c.txt", content="yes"), "return 1")
    assert returned(after) == 1
    assert backend.held == 2
    assert "b.txt" not in store.files
    assert store.files["c.txt"].data == b"yes"


async def test_a_program_that_lasts_reports_progress_to_a_client_that_asked(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_PERIOD_S", 0.02)
    backend = GatedBackend("scan", store)
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        if len(told) == 2:
            backend.gate.set()

    async with stand(backend=backend, mounts={}, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        arguments = {"code": call("read", file_path="a.txt"), "description": "Reads."}
        with anyio.fail_after(30):
            result = await client.call_tool("run_code", arguments, progress_callback=on_progress)
    assert not result.is_error
    assert told[0] == "run_code: running for 0 s"


async def test_the_calls_of_a_program_are_logged_one_by_one_without_content(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="seamfs")
    async with (
        stand(store=store, mounts={}, mode="code") as opened,
        Client(opened.server, mode="legacy") as idle,
        Client(opened.server, mode="legacy") as client,
    ):
        await run(idle, "return None")
        await run(client, call("write", file_path="plan.txt", content="confidential"), call("read", file_path="no.txt"))
    logged = [
        (record.message, *(record.__dict__["fields"][key] for key in ("session", "tool", "code")))
        for record in caplog.records
        if record.name == "seamfs.mcp_server"
    ]
    # Each connection is a server of its own here, and tells of its own calls alone.
    assert logged == [
        ("call", "s1", "run_code", None),
        ("nested call", "s1", "write", None),
        ("nested call", "s1", "read", "FS_NOT_FOUND"),
        ("call", "s1", "run_code", "PROGRAM_EXCEPTION"),
    ]
    assert "confidential" not in str([record.__dict__ for record in caplog.records if record.name.startswith("seamfs")])


async def test_an_eager_tool_of_a_server_is_declared_to_programs(store: MemoryStore) -> None:
    async with (
        stand(store=store, mode="code", eager_tools=["mcp__box__add"]) as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        (tool,) = (await client.list_tools()).tools
    assert "mcp__box__add" in (tool.description or "")
    assert "mcp__box__shout" not in (tool.description or "")


async def test_programs_of_one_session_overlap_with_nothing_that_keeps_its_place(store: MemoryStore) -> None:
    arguments: dict[str, JsonValue] = {"code": "return 1", "description": "Counts."}
    async with stand(store=store, mounts={}, mode="code") as opened:
        assert opened.workspace.tools.lane(ToolCall("run_code", arguments, id="1")) == ALONE


async def test_structured_content_matches_the_schema_that_is_announced(store: MemoryStore) -> None:
    async with (
        stand(store=store, structured=True, mode="code") as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        (tool,) = (await client.list_tools()).tools
        # The client checks it.
        result = await run(client, "print('hey')", "return {'a': [1, None]}")
    assert tool.output_schema is not None
    assert result.structured_content == meta_of(result)["seamfs/value"]
    assert returned(result) == {"a": [1, None]}
    assert "hey" in text_of(result)


async def test_read_only_holds_inside_programs(store: MemoryStore) -> None:
    async with (
        stand(store=store, read_only=True, mode="code") as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        (tool,) = (await client.list_tools()).tools
        read = await run(client, f"return ({call('read', file_path='a.txt')})['total_lines']")
        written = await run(client, call("write", file_path="b.txt", content="x"))
    assert returned(read) == 1
    assert "UNKNOWN_TOOL" in text_of(written)
    assert '"write"' not in (tool.description or "")


async def test_a_program_over_a_server_that_crashes_is_told_and_others_run_on(store: MemoryStore) -> None:
    async with stand(store=store, mode="code") as opened, Client(opened.server, mode="legacy") as client:
        crashed = await run(client, call("mcp__box__crash"))
        read = await run(client, f"return ({call('read', file_path='a.txt')})['total_lines']")
    assert "TOOL_UNAVAILABLE" in text_of(crashed)
    assert returned(read) == 1


async def test_a_program_that_calls_a_server_that_is_not_connected_is_told_why(store: MemoryStore) -> None:
    mounts = {"dead": {"command": ["false"]}}
    async with (
        stand(store=store, mounts=mounts, mode="code") as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        failed = await run(client, call("mcp__dead__echo"))
    assert "UNKNOWN_TOOL: there is no tool 'mcp__dead__echo' now: the server dead is not connected" in text_of(failed)


@pytest.mark.parametrize("mode", ["code", "both"])
async def test_the_block_takes_run_code_away_again(store: MemoryStore, mode: str) -> None:
    async with stand(store=store, mode=mode) as opened:
        assert opened.workspace.tools.get("run_code") is not None
    assert [tool.name for tool in opened.workspace.tools.schemas()] == OWN
