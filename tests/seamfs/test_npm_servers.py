"""Servers of other authors, in another language, behind the layer: over stdio and over HTTP."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types

from fs_core.testing.memory import MemoryStore
from seamfs.cli import main
from tests.seamfs.mounted import STABLE, invoke, listening, stand, text_of
from tests.seamfs.processes import command, environment
from tests.support.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("npm")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def first_named(told: str) -> str:
    """Return the name in the first line of a search result after the count."""
    return told.splitlines()[1].split(":")[0]


async def test_both_over_stdio_are_found_described_and_called_through_three_stable_tools(
    npm_servers: Path, root: Path, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "note.txt").write_text("from their server\n")
    mounts = {
        "everything": {"command": [str(npm_servers / "mcp-server-everything"), "stdio"]},
        "files": {"command": [str(npm_servers / "mcp-server-filesystem"), str(served)]},
    }
    store = MemoryStore()
    async with stand(store=store, mounts=mounts) as opened, Client(opened.server, mode="legacy") as client:
        states = [(status.name, status.state) for status in opened.layer.gateway.status()]
        listed = [tool.name for tool in (await client.list_tools()).tools]
        found = text_of(await client.call_tool("search_tools", {"query": "add two numbers, their sum"}))
        described = await client.call_tool("describe_tools", {"names": ["mcp__everything__get-sum"]})
        total = await invoke(client, "mcp__everything__get-sum", a=19, b=23)
        picture = await invoke(client, "mcp__everything__get-tiny-image")
        weather = await invoke(client, "mcp__everything__get-structured-content", location="New York")
        read = await invoke(client, "mcp__files__read_text_file", path=str(served / "note.txt"))
        outside = await invoke(client, "mcp__files__read_text_file", path="/etc/hostname")
        made = await invoke(client, "mcp__files__write_file", path=str(served / "new.txt"), content="theirs")
        ours = await client.call_tool("write", {"file_path": "new.txt", "content": "ours"})
    assert states == [("everything", "connected"), ("files", "connected")]
    assert listed == STABLE
    assert first_named(found) == "mcp__everything__get-sum"
    (tool,) = json.loads(text_of(described))["tools"]
    assert sorted(tool["parameters"]["properties"]) == ["a", "b"]
    assert "42" in text_of(total)
    assert any(isinstance(block, types.ImageContent) for block in picture.content)
    assert "temperature" in text_of(weather)
    assert "from their server" in text_of(read)
    assert outside.is_error
    assert "denied" in text_of(outside)
    assert not made.is_error
    assert (served / "new.txt").read_text() == "theirs"
    assert not ours.is_error
    assert store.files["new.txt"].data == b"ours"


async def test_over_http_with_serve_as_a_process_and_both_in_one_settings_file(
    npm_servers: Path, root: Path, tmp_path: Path
) -> None:
    (root / "a.txt").write_text("one\n")
    port = free_port()
    everything = str(npm_servers / "mcp-server-everything")
    config = tmp_path / "conf.toml"
    config.write_text(
        "[progressive]\nenabled = true\neager_tools = ['mcp__far__echo']\n"
        f"[mounts.far]\nurl = 'http://127.0.0.1:{port}/mcp'\n"
        f"[mounts.files]\ncommand = ['{npm_servers / 'mcp-server-filesystem'}', '{root}']\n"
    )
    first, *rest = command("serve", str(root), "--config", str(config))
    ours = StdioServerParameters(command=first, args=rest, env=environment())
    with listening([everything, "streamableHttp"], port, env={**os.environ, "PORT": str(port)}):
        # An eager tool of a server is waited for, so that the other has been settled too.
        async with Client(ours) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            echoed = await client.call_tool("mcp__far__echo", {"message": "over http"})
            total = await invoke(client, "mcp__far__get-sum", a=2, b=3)
            theirs = await invoke(client, "mcp__files__list_directory", path=str(root))
            read = await client.call_tool("read", {"file_path": "a.txt"})
    assert listed == sorted([*STABLE, "mcp__far__echo"])
    assert "over http" in text_of(echoed)
    assert "5" in text_of(total)
    assert "a.txt" in text_of(theirs)
    assert "1: one" in text_of(read)


@pytest.mark.usefixtures("restored_logging")
def test_the_catalog_of_both_is_shown_and_searched(
    npm_servers: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mounts: dict[str, Any] = {
        "everything": f"{npm_servers / 'mcp-server-everything'} stdio",
        "files": f"{npm_servers / 'mcp-server-filesystem'} {root}",
    }
    config = tmp_path / "conf.toml"
    config.write_text("".join(f"[mounts.{name}]\ncommand = {json.dumps(text)}\n" for name, text in mounts.items()))
    assert main(["tools", "--config", str(config), "--query", "directory tree", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["tools"][0]["name"] == "mcp__files__directory_tree"
    assert [mount["state"] for mount in value["mounts"]] == ["connected", "connected"]
