"""The server over streamable HTTP, as a process, with the official client and with raw requests."""

import signal
import socket
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from starlette.requests import Request

from fs_core.page import Window
from fs_core.testing.memory import MemoryBackend, MemoryStore
from seamfs.cli import main
from seamfs.config import Settings
from seamfs.mcp_agents import Agents, Context
from seamfs.workspace import Workspace
from tests.seamfs.mounted import HARMLESS
from tests.seamfs.processes import TIMEOUT_S, HttpServer, http_server
from tool_runtime import ToolCall, ToolFailure, ToolSuccess

pytestmark = pytest.mark.anyio

TOKEN = "0123456789abcdef-token"
EDIT = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
HEADERS = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, HttpServer]]:
    """One server for the tests that leave it as it was."""
    directory = tmp_path_factory.mktemp("served")
    with http_server(str(directory)) as server:
        yield directory, server


async def test_every_client_session_is_an_owner_of_its_own(served: tuple[Path, HttpServer]) -> None:
    directory, server = served
    (directory / "a.txt").write_text("one\n")
    async with Client(server.url) as reader, Client(server.url) as other:
        # The client tried the newest revision first, and was told of those that have sessions.
        assert reader.protocol_version == "2025-11-25"
        await reader.call_tool("read", {"file_path": "a.txt"})
        refused = await other.call_tool("edit", EDIT)
        assert (directory / "a.txt").read_text() == "one\n"
        accepted = await reader.call_tool("edit", EDIT)
    assert "FS_NOT_OBSERVED" in str(refused.content)
    assert not accepted.is_error
    assert (directory / "a.txt").read_text() == "two\n"


async def test_the_newest_revision_is_refused_with_the_reason_where_sessions_matter(
    served: tuple[Path, HttpServer],
) -> None:
    _, server = served
    with pytest.raises(ExceptionGroup) as caught:
        async with Client(server.url, mode="2026-07-28") as client:
            await client.call_tool("read", {"file_path": "a.txt"})
    error = _innermost(caught.value)
    assert isinstance(error, MCPError)
    assert error.code == -32022
    assert error.data["supported"][-1] == "2025-11-25"
    assert "use the initialize handshake" in error.message


async def test_the_newest_revision_is_served_where_nothing_is_remembered(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    with http_server(str(root), "--read-only") as server:
        async with Client(server.url) as client:
            assert client.protocol_version == "2026-07-28"
            assert [tool.name for tool in (await client.list_tools()).tools] == HARMLESS
            assert not (await client.call_tool("read", {"file_path": "a.txt"})).is_error


async def test_a_token_is_required_of_every_request_when_there_is_one(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    with http_server(str(root), "--token-env", "SEAMFS_ACCESS", variables={"SEAMFS_ACCESS": TOKEN}) as server:
        assert server.log["token"] is True
        async with httpx2.AsyncClient(headers=HEADERS, timeout=TIMEOUT_S) as http:
            for sent in (None, "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer caf\u00e9"):
                headers = [] if sent is None else [(b"Authorization", sent.encode())]
                answer = await http.post(server.url, json=INITIALIZE, headers=headers)
                assert answer.status_code == 401, sent
                assert answer.headers["www-authenticate"] == "Bearer"
                assert TOKEN not in answer.text
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"bearer {TOKEN}"}, timeout=TIMEOUT_S) as http,
            Client(streamable_http_client(server.url, http_client=http), mode="legacy") as client,
        ):
            assert not (await client.call_tool("read", {"file_path": "a.txt"})).is_error
        server.process.send_signal(signal.SIGTERM)
        _, logged = server.process.communicate(timeout=TIMEOUT_S)
    assert server.process.returncode == 143
    assert TOKEN not in logged


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1234"}, 200),
    ],
)
async def test_a_page_of_another_site_does_not_get_in(
    served: tuple[Path, HttpServer], headers: dict[str, str], status: int
) -> None:
    async with httpx2.AsyncClient(headers=HEADERS, timeout=TIMEOUT_S) as http:
        assert (await http.post(served[1].url, json=INITIALIZE, headers=headers)).status_code == status


async def test_a_request_above_the_limit_is_refused_and_an_interrupt_is_quiet(root: Path) -> None:
    with http_server(str(root), variables={"SEAMFS_HTTP__REQUEST_SIZE_BYTES_MAX": "1000"}) as server:
        async with httpx2.AsyncClient(headers=HEADERS, timeout=TIMEOUT_S) as http:
            assert (await http.post(server.url, json={"x": "y" * 1000})).status_code == 413
            assert (await http.post(server.url, content=_without_length())).status_code == 413
            assert (await http.post(server.url, content=b"[" * 1000)).status_code == 400
            assert (await http.post(server.url, json=INITIALIZE)).status_code == 200
        server.process.send_signal(signal.SIGINT)
        _, logged = server.process.communicate(timeout=TIMEOUT_S)
    assert server.process.returncode == 130
    assert "Traceback" not in logged


async def _without_length() -> AsyncGenerator[bytes]:
    for _ in range(100):
        yield b" " * 100


@pytest.mark.usefixtures("restored_logging")
def test_an_address_others_can_reach_is_refused_without_a_token(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(root), "--http", "0.0.0.0:0"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("seamfs: --http: 0.0.0.0 can be reached from other machines")


@pytest.mark.usefixtures("restored_logging")
def test_a_port_that_is_taken_is_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(root), "--http", f"127.0.0.1:{port}"]) == 2
    assert capsys.readouterr().err == f"seamfs: --http: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseException", error.exceptions[0])
    return error


def _request(session_id: str | None, *, revision: str = "2025-11-25", name: str | None = None) -> Context:
    sent = {"mcp-session-id": session_id, "seamfs-session": name}
    headers = [(key.encode(), value.encode()) for key, value in sent.items() if value is not None]
    return ServerRequestContext[Agents, Any](
        session=cast("ServerSession", None),
        lifespan_context=cast("Agents", None),
        protocol_version=revision,
        method="tools/call",
        request=Request({"type": "http", "headers": headers}),
    )


def test_above_the_bound_the_least_recently_used_session_is_dropped() -> None:
    agents = Agents(Workspace(MemoryBackend(), settings=Settings()), sessions_max=2)
    first, second = agents.of(_request("1")), agents.of(_request("2"))
    assert agents.of(_request("1")) is first
    third = agents.of(_request("3"))
    assert agents.of(_request("3")) is third
    assert agents.of(_request("1")) is first
    assert agents.of(_request("2")) is not second
    assert len({first.label, second.label, third.label}) == 3


def test_requests_of_the_newest_revision_are_owners_each_whatever_session_they_claim() -> None:
    agents = Agents(Workspace(MemoryBackend(), settings=Settings()), sessions_max=2)
    known = agents.of(_request("1"))
    strangers = [agents.of(_request("1", revision="2026-07-28")) for _ in range(2)]
    assert len({known.label, *(stranger.label for stranger in strangers)}) == 3


def test_a_name_is_an_owner_of_its_own_in_every_session_and_without_one() -> None:
    agents = Agents(Workspace(MemoryBackend(), settings=Settings()), sessions_max=9)
    named = agents.of(_request("1", name="ann"))
    assert agents.of(_request("1", name="ann")) is named
    assert agents.of(_request("1")) is not named
    assert agents.of(_request("1", name="bob")) is not named
    alone = agents.of(_request(None, revision="2026-07-28", name="ann"))
    assert agents.of(_request("2", revision="2026-07-28", name="ann")) is alone


@pytest.mark.parametrize("name", ["", "a b", "../ann", "-ann", "a" * 65, "http:ann", "ann\n", "caf\u00e9"])
def test_a_name_that_a_session_cannot_have_is_refused(name: str) -> None:
    agents = Agents(Workspace(MemoryBackend(), settings=Settings()), sessions_max=9)
    with pytest.raises(MCPError, match="header seamfs-session: the name of a session is 1 to 64 of"):
        agents.of(_request("1", name=name))


def test_where_nothing_is_remembered_no_name_is_looked_at() -> None:
    agents = Agents(Workspace(MemoryBackend(), settings=Settings(policy="none")), sessions_max=9)
    assert agents.of(_request("1", name="a b")) is agents.of(_request("1"))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_name_over_http_is_no_session_of_stdio() -> None:
    store = MemoryStore()
    store.put("a.txt", b"one\n")
    workspace = Workspace(MemoryBackend(store), settings=Settings())
    await workspace.session("ann").read("a.txt", Window())
    agents = Agents(workspace, sessions_max=9, stdio_session="ann")
    stdio = agents.of(replace(_request(None), request=None))
    over_http = agents.of(_request("1", name="ann"))
    edit = ToolCall("edit", EDIT, id="1")
    refused, accepted = await over_http.calls.run(edit), await stdio.calls.run(edit)
    assert isinstance(refused, ToolFailure)
    assert refused.code == "FS_NOT_OBSERVED"
    assert isinstance(accepted, ToolSuccess)
