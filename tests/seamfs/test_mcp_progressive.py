"""The MCP server behind the disclosure layer: what is offered stays, what is mounted is found and called."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, types

from fs_core.testing.memory import MemoryStore
from seamfs.config import BadSettingError
from seamfs.extras import NotReadyError
from tests.seamfs.mounted import (
    HARMLESS,
    OWN,
    STABLE,
    TOOLBOX,
    invoke,
    meta_of,
    stand,
    text_of,
    toolbox_over_http,
)
from tests.support.waiting import until
from tool_runtime import Allow, Decision, Deny, Invocation

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", b"one\n")
    return store


@contextmanager
def over_stdio() -> Generator[dict[str, Any]]:
    yield {"command": TOOLBOX}


@contextmanager
def over_http() -> Generator[dict[str, Any]]:
    with toolbox_over_http() as url:
        yield {"url": url}


async def test_what_is_listed_is_the_surface_with_a_wish_to_be_loaded(store: MemoryStore) -> None:
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        listed = (await client.list_tools()).tools
        surface = opened.layer.disclosure.surface()
        capabilities = client.server_capabilities
    assert [tool.name for tool in listed] == [schema.name for schema in surface.tools] == STABLE
    assert [tool.input_schema for tool in listed] == [schema.parameters for schema in surface.tools]
    assert [tool.description for tool in listed] == [schema.description for schema in surface.tools]
    assert all(tool.meta == {"anthropic/alwaysLoad": True} for tool in listed)
    assert capabilities.tools is not None
    assert not capabilities.tools.list_changed


async def test_the_protocol_is_told_beside_the_root_and_the_rule(store: MemoryStore) -> None:
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        told = client.instructions or ""
    assert told.startswith("Files below memory://w.")
    assert "call read before write or edit" in told
    assert "1. `search_tools` lists" in told
    assert "`invoke_tool`" in told


@pytest.mark.parametrize("mount", [over_stdio, over_http])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_mounted_tool_is_found_described_and_called_through_three_stable_tools(
    store: MemoryStore, mount: Callable[[], AbstractContextManager[dict[str, Any]]], mode: str
) -> None:
    with mount() as table:
        async with stand(store=store, mounts={"box": table}) as opened, Client(opened.server, mode=mode) as client:
            found = await client.call_tool("search_tools", {"query": "sum of two numbers"})
            assert text_of(found).splitlines()[1] == "mcp__box__add: Add two numbers."
            described = await client.call_tool("describe_tools", {"names": ["mcp__box__add"]})
            (tool,) = json.loads(text_of(described))["tools"]
            assert sorted(tool["parameters"]["properties"]) == ["left", "right"]
            result = await invoke(client, "mcp__box__add", left=2, right=3)
    assert not result.is_error
    assert json.loads(text_of(result)) == {"total": 5}
    assert meta_of(result)["seamfs/value"] == {"total": 5}


async def test_a_tool_that_is_known_is_called_by_its_name_without_discovery(store: MemoryStore) -> None:
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        result = await client.call_tool("mcp__box__shout", {"text": "hey"})
        unknown = await client.call_tool("mcp__box__shoot", {"text": "hey"})
    assert text_of(result) == "HEY"
    assert text_of(unknown).startswith("UNKNOWN_TOOL: ")
    assert "mcp__box__shout" in text_of(unknown)


async def test_the_list_stays_the_same_bytes_while_a_server_adds_and_removes_tools(store: MemoryStore) -> None:
    notices: list[object] = []

    async def on_message(message: object) -> None:
        notices.append(message)

    async with (
        stand(store=store) as opened,
        Client(opened.server, mode="legacy", message_handler=on_message) as client,
    ):
        tools = opened.workspace.tools
        before = (await client.list_tools()).model_dump_json()
        await invoke(client, "mcp__box__grow", name="sing")
        await until(lambda: tools.get("mcp__box__sing") is not None)
        grown = (await client.list_tools()).model_dump_json()
        sung = await invoke(client, "mcp__box__sing")
        await invoke(client, "mcp__box__shrink", name="sing")
        await until(lambda: tools.get("mcp__box__sing") is None)
        shrunk = (await client.list_tools()).model_dump_json()
        gone = await invoke(client, "mcp__box__sing")
    assert before == grown == shrunk
    assert text_of(sung) == "sing"
    assert text_of(gone).startswith("UNKNOWN_TOOL: ")
    assert not [notice for notice in notices if isinstance(notice, types.ToolListChangedNotification)]


async def test_what_a_gate_denies_is_denied_through_invoke_tool_too(store: MemoryStore) -> None:
    asked: list[str] = []

    async def gate(invocation: Invocation) -> Decision:
        asked.append(invocation.tool.name)
        return Deny("not today") if invocation.tool.name == "mcp__box__shout" else Allow()

    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        opened.workspace.tools.add_gate(gate)
        direct = await client.call_tool("mcp__box__shout", {"text": "hey"})
        nested = await invoke(client, "mcp__box__shout", text="hey")
    assert text_of(direct) == text_of(nested) == "DENIED: mcp__box__shout: not today"
    assert meta_of(nested)["seamfs/error"]["code"] == "DENIED"
    assert asked == ["mcp__box__shout", "invoke_tool", "mcp__box__shout"]


async def test_files_stay_guarded_beside_the_layer_and_cannot_be_reached_around_it(store: MemoryStore) -> None:
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        around = await invoke(client, "edit", **edit)
        unread = await client.call_tool("edit", edit)
        await client.call_tool("read", {"file_path": "a.txt"})
        edited = await client.call_tool("edit", edit)
    assert text_of(around) == "UNKNOWN_TOOL: 'edit' is already declared: call it by its name"
    assert text_of(unread).startswith("FS_NOT_OBSERVED")
    assert not edited.is_error
    assert store.files["a.txt"].data == b"two\n"


async def test_a_server_that_crashes_costs_its_own_tools_until_it_is_back(store: MemoryStore) -> None:
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        crashed = await invoke(client, "mcp__box__crash")
        read = await client.call_tool("read", {"file_path": "a.txt"})
        listed = [tool.name for tool in (await client.list_tools()).tools]
        (status,) = opened.layer.gateway.status()
        await until(lambda: opened.layer.gateway.status()[0].state == "connected")
        again = await invoke(client, "mcp__box__shout", text="back")
    assert text_of(crashed).startswith("TOOL_UNAVAILABLE: box: the connection ended during the call")
    assert not read.is_error
    assert listed == STABLE
    assert status.name == "box"
    assert text_of(again) == "BACK"


async def test_a_server_that_cannot_start_costs_nothing_but_its_tools(store: MemoryStore) -> None:
    async with (
        stand(store=store, mounts={"gone": {"command": ["no-such-program"]}}) as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        read = await client.call_tool("read", {"file_path": "a.txt"})
        found = await client.call_tool("search_tools", {})
        missing = await invoke(client, "mcp__gone__x")
    assert not read.is_error
    assert text_of(found) == "0 tools (not connected: gone (there is no command 'no-such-program'))"
    assert text_of(missing).startswith("UNKNOWN_TOOL: ")


async def test_what_a_server_that_ended_would_have_is_missed_with_the_reason(store: MemoryStore) -> None:
    mounts = {"box": {"command": TOOLBOX}, "ex": {"command": [sys.executable, "-c", "raise SystemExit(3)"]}}
    why = (
        "there is no tool 'mcp__ex__ok' now: the server ex is not connected: the server ended with exit code 3; it is "
    )
    async with stand(store=store, mounts=mounts) as opened, Client(opened.server, mode="legacy") as client:
        found = await client.call_tool("search_tools", {"query": "add numbers"})
        described = await client.call_tool("describe_tools", {"names": ["mcp__ex__ok"]})
        invoked = await invoke(client, "mcp__ex__ok")
        misspelt = await invoke(client, "mcp__box__shoot", text="hey")
    assert text_of(found).splitlines()[0].endswith("not connected: ex (the server ended with exit code 3))")
    assert "mcp__box__add: Add two numbers." in text_of(found)
    for missing in (described, invoked):
        assert missing.is_error
        assert text_of(missing).startswith(f"UNKNOWN_TOOL: {why}")
    assert "mcp__box__shout" in text_of(misspelt)


@pytest.mark.parametrize("structured", [False, True])
async def test_pictures_pass_and_structured_content_is_an_object_or_absent(
    store: MemoryStore, structured: bool
) -> None:
    eager = ["mcp__box__shout", "mcp__box__add"]
    async with (
        stand(store=store, structured=structured, eager_tools=eager) as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        # The client checks every result against the schema that was announced.
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        picture = await invoke(client, "mcp__box__picture")
        text = await client.call_tool("mcp__box__shout", {"text": "a"})
        nested_text = await invoke(client, "mcp__box__shout", text="a")
        total = await client.call_tool("mcp__box__add", {"left": 1, "right": 1})
        found = await client.call_tool("search_tools", {"query": "picture"})
    (block,) = picture.content
    assert isinstance(block, types.ImageContent)
    assert block.mime_type == "image/png"
    assert picture.structured_content is None
    assert text.structured_content is None
    assert meta_of(text)["seamfs/value"] == "A"
    assert text_of(nested_text).startswith("UNKNOWN_TOOL")
    announced = {name for name, tool in listed.items() if tool.output_schema is not None}
    if structured:
        assert announced == {*OWN, "search_tools", "describe_tools", "mcp__box__add"}
        assert total.structured_content == {"total": 2}
        assert found.structured_content is not None
        assert found.structured_content["matches"][0]["name"] == "mcp__box__picture"
    else:
        assert announced == set()
        assert total.structured_content is None


async def test_a_tool_that_fails_keeps_its_own_words(store: MemoryStore) -> None:
    async with stand(store=store) as opened, Client(opened.server, mode="legacy") as client:
        direct = await client.call_tool("mcp__box__refuse", {})
        nested = await invoke(client, "mcp__box__refuse")
        wrong = await invoke(client, "mcp__box__add", left="x")
    assert direct.is_error
    assert "it went wrong" in text_of(direct)
    assert text_of(nested) == text_of(direct)
    assert text_of(wrong).startswith("INVALID_ARGS: mcp__box__add: ")


async def test_an_eager_tool_of_a_server_is_waited_for_and_declared(store: MemoryStore) -> None:
    async with (
        stand(store=store, eager_tools=["mcp__box__add"]) as opened,
        Client(opened.server, mode="legacy") as client,
    ):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert opened.layer.server_of("mcp__box__add") == "box"
        assert opened.layer.server_of("read") is None
    assert listed == sorted([*STABLE, "mcp__box__add"])


async def test_read_only_declares_what_changes_nothing_and_the_discovery_tools(store: MemoryStore) -> None:
    async with stand(store=store, read_only=True) as opened, Client(opened.server, mode="legacy") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        written = await invoke(client, "write", file_path="b", content="")
    assert listed == sorted(["describe_tools", "invoke_tool", "search_tools", *HARMLESS])
    assert text_of(written).startswith("UNKNOWN_TOOL: ")


@pytest.mark.parametrize(
    ("mounts", "name", "reason"),
    [
        (
            {"gone": {"command": ["no-such-program"]}},
            "mcp__gone__x",
            "mount gone: there is no command 'no-such-program'",
        ),
        ({"box": {"command": TOOLBOX}}, "mcp__box__x", "mount box: the server is connected and has no such tool"),
    ],
)
async def test_an_eager_tool_that_its_server_does_not_have_is_said_with_the_reason(
    mounts: dict[str, Any], name: str, reason: str
) -> None:
    with pytest.raises(NotReadyError) as caught:
        async with stand(mounts=mounts, eager_tools=[name]):
            pytest.fail("it was opened")
    assert str(caught.value).startswith(f"{name} cannot be declared from the start: {reason}")


@pytest.mark.parametrize("name", ["raed", "mcp__other__x", "mcp__box_x", "write"])
async def test_an_eager_name_that_can_never_be_there_is_a_bad_setting(name: str) -> None:
    with pytest.raises(
        BadSettingError, match=rf"there is no tool '{name}'; there are: {', '.join(HARMLESS)}, mcp__box__\.\.\.$"
    ):
        async with stand(read_only=True, eager_tools=[name]):
            pytest.fail("it was opened")


async def test_the_block_leaves_the_tools_as_they_were(store: MemoryStore) -> None:
    async with stand(store=store) as opened:
        assert opened.workspace.tools.get("mcp__box__add") is not None
    assert [tool.name for tool in opened.workspace.tools.schemas()] == OWN


async def test_two_clients_share_the_servers_and_not_what_they_have_read(store: MemoryStore) -> None:
    async with (
        stand(store=store) as opened,
        Client(opened.server, mode="legacy") as reader,
        Client(opened.server, mode="legacy") as other,
    ):
        await reader.call_tool("read", {"file_path": "a.txt"})
        refused = await other.call_tool("write", {"file_path": "a.txt", "content": "x"})
        results: list[str] = []

        async def add(client: Client, left: int) -> None:
            results.append(text_of(await invoke(client, "mcp__box__add", left=left, right=0)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(add, reader, 1)
            tasks.start_soon(add, other, 2)
        assert len(opened.layer.gateway.status()) == 1
    assert text_of(refused).startswith("FS_NOT_OBSERVED")
    assert sorted(json.loads(result)["total"] for result in results) == [1, 2]
