"""What stands in an answer beside the text, and how often it is gone through."""

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import methods
from pydantic import JsonValue

from fs_core.testing.memory import MemoryBackend, MemoryStore
from seamfs.config import Settings
from seamfs.mcp_server import build_server
from seamfs.workspace import Workspace
from tool_runtime import JsonObject, TextBlock, Tool, ToolContext

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace() -> Workspace:
    store = MemoryStore()
    for name in "abcdef":
        store.put(f"{name}.txt", f"{name}\n".encode())
    return Workspace(MemoryBackend(store), settings=Settings())


def value_tool(value: JsonValue) -> Tool[JsonObject]:
    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        return value

    return Tool[JsonObject](
        name="value",
        description="Returns the same at each call.",
        parameters={"type": "object"},
        output={},
        execute=execute,
        render=lambda _, _value: [TextBlock("shown")],
    )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("structured", [False, True])
async def test_the_library_does_not_go_through_the_value(
    workspace: Workspace, mode: str, monkeypatch: pytest.MonkeyPatch, *, structured: bool
) -> None:
    seen: list[Any] = []
    serialize = methods.serialize_server_result

    def watched(method: str, version: str, data: dict[str, Any], **options: Any) -> dict[str, Any]:
        if method == "tools/call":
            seen.append((data["_meta"], data.get("structuredContent")))
        return serialize(method, version, data, **options)

    async with Client(build_server(workspace, structured=structured), mode=mode) as client:
        await client.list_tools()
        with monkeypatch.context() as patched:
            patched.setattr(methods, "serialize_server_result", watched)
            result = await client.call_tool("read", {"file_path": "a.txt"})
    value = (result.meta or {})["seamfs/value"]
    assert value["lines"] == [{"number": 1, "text": "a"}]
    assert result.structured_content == (value if structured else None)
    # The first one is what our side sends; the client looks at what has come once more.
    assert seen[0] == ({"seamfs/value": {}}, {} if structured else None)


@pytest.mark.parametrize("value", [None, 3, "text", [1, {"a": None}], {}, {"a": [None]}])
@pytest.mark.parametrize("structured", [False, True])
async def test_a_value_of_any_type_arrives_and_an_object_as_structured_content_too(
    workspace: Workspace, value: JsonValue, *, structured: bool
) -> None:
    workspace.tools.register(value_tool(value))
    async with Client(build_server(workspace, structured=structured), mode="legacy") as client:
        result = await client.call_tool("value", {})
    assert result.meta == {"seamfs/value": value}
    assert result.structured_content == (value if structured and isinstance(value, dict) else None)


async def test_each_of_many_calls_at_once_gets_its_own_value(workspace: Workspace) -> None:
    found: dict[str, Any] = {}
    async with Client(build_server(workspace), mode="legacy") as client:

        async def read(name: str) -> None:
            result = await client.call_tool("read", {"file_path": name})
            found[name] = (result.meta or {})["seamfs/value"]["path"]

        async with anyio.create_task_group() as tasks:
            for name in "abcdef":
                tasks.start_soon(read, f"{name}.txt")
    assert found == {name: name for name in found}
    assert len(found) == 6
