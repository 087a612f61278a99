"""Servers that keep what was read in a state file, killed and started again, with the official client."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.seamfs.processes import TIMEOUT_S, command, environment, http_server, run
from tests.support.processes import children

pytestmark = pytest.mark.anyio

EDIT = {"old_string": "one", "new_string": "two"}
FILES = ("a.txt", "b.txt", "c.txt")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@asynccontextmanager
async def stdio_client(root: Path, *arguments: str) -> AsyncGenerator[Client]:
    first, *others = command("serve", str(root), *arguments)
    async with Client(StdioServerParameters(command=first, args=others, env=environment())) as client:
        yield client


@asynccontextmanager
async def http_client(url: str, name: str | None, *, mode: str = "legacy") -> AsyncGenerator[Client]:
    headers = {} if name is None else {"seamfs-session": name}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def code_of(result: CallToolResult) -> str | None:
    assert result.meta is not None
    error = result.meta.get("seamfs/error")
    return None if error is None else str(error["code"])


async def read_all(client: Client) -> None:
    for name in FILES:
        assert code_of(await client.call_tool("read", {"file_path": name})) is None


async def edits(client: Client) -> list[str | None]:
    """Edit every file and return the codes."""
    results = [await client.call_tool("edit", {**EDIT, "file_path": name}) for name in FILES]
    return [code_of(result) for result in results]


def make_files(root: Path) -> None:
    for name in FILES:
        (root / name).write_text("one\n")


def change_files(root: Path) -> None:
    """Leave the first as it is, touch the second, replace the third."""
    _, touched, replaced = FILES
    os.utime(root / touched, (1, 1))
    (root / touched).chmod(0o600)
    (root / "new").write_text("one\n2\n")
    (root / "new").replace(root / replaced)


AFTERWARDS = [None, None, "FS_STALE_VERSION"]


async def test_over_stdio_a_session_goes_on_after_a_kill_and_what_changed_meanwhile_is_stale(
    root: Path, state: Path
) -> None:
    make_files(root)
    before = children()
    async with stdio_client(root, "--state", str(state)) as client:
        await read_all(client)
        (server,) = children() - before
        os.kill(server, signal.SIGKILL)
    change_files(root)
    async with stdio_client(root, "--state", str(state)) as client:
        assert await edits(client) == AFTERWARDS
    assert [(root / name).read_text() for name in FILES] == ["two\n", "two\n", "one\n2\n"]


async def test_over_stdio_another_session_and_another_root_have_seen_nothing_and_a_live_one_is_not_shared(
    root: Path, state: Path
) -> None:
    other = root.parent / "other"
    other.mkdir()
    make_files(root)
    make_files(other)
    async with stdio_client(root, "--state", str(state)) as client:
        await read_all(client)
        # While the first one is there.
        async with stdio_client(root, "--state", str(state), "--session", "second") as second:
            assert await edits(second) == ["FS_NOT_OBSERVED"] * 3
        async with stdio_client(other, "--state", str(state)) as elsewhere:
            assert await edits(elsewhere) == ["FS_NOT_OBSERVED"] * 3
        refused = run("serve", str(root), "--state", str(state))
    assert refused.returncode == 1
    assert refused.stdout == b""
    assert refused.stderr.decode() == (
        f"FS_UNAVAILABLE: {state}: session stdio is in use by another running seamfs; give this one another name "
        "with --session, or end the other\n"
    )


async def test_over_http_a_named_session_goes_on_after_reconnects_and_a_kill(root: Path, state: Path) -> None:
    make_files(root)
    with http_server(str(root), "--state", str(state)) as server:
        for name in ("ann", None):
            async with http_client(server.url, name) as client:
                await read_all(client)
        # The newest revision has no sessions of its own: the name is enough.
        async with http_client(server.url, "ann", mode="auto") as client:
            assert client.protocol_version == "2026-07-28"
            assert await edits(client) == [None] * 3
            assert await edits(client) == ["FS_EDIT_NOT_FOUND"] * 3
        server.process.kill()
    for name in FILES:
        (root / name).write_bytes((root / name).read_bytes())
    (root / FILES[2]).write_text("one, and more\n")
    back = {"old_string": "two", "new_string": "one"}
    with http_server(str(root), "--state", str(state)) as server:
        for name, expected in (
            ("bob", ["FS_NOT_OBSERVED"] * 3),
            (None, ["FS_NOT_OBSERVED"] * 3),
            ("ann", AFTERWARDS),
        ):
            async with http_client(server.url, name) as client:
                results = [await client.call_tool("edit", {**back, "file_path": file}) for file in FILES]
                assert [code_of(result) for result in results] == expected


async def test_over_http_a_name_that_a_session_cannot_have_is_refused(root: Path) -> None:
    with http_server(str(root)) as server, pytest.raises(ExceptionGroup) as caught:
        async with http_client(server.url, "a b") as client:
            await client.list_tools()
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseException", error.exceptions[0])
    assert isinstance(error, MCPError)
    assert "header seamfs-session: the name of a session is 1 to 64 of" in error.message
