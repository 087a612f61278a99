"""A program over real stores: one call reads a plan, edits three files at once, and returns a summary."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult

from fs_core.protocol import Backend
from fs_core.testing.delegating import DelegatingBackend, Primitive
from fs_core.testing.harness import StoreHarness
from tests.seamfs.mounted import meta_of, stand, text_of

pytestmark = pytest.mark.anyio

NAMES = ("a.py", "b/c.py", "b/ü d.py")
WAIT_S = 30

T = TypeVar("T")

READ = """
import asyncio

plan = await tools["read"]({"file_path": "plan.txt"})
old, new, *names = [line["text"] for line in plan["lines"]]
pages = await asyncio.gather(*[tools["read"]({"file_path": name}) for name in names])
"""
AT_ONCE = """
edits = await asyncio.gather(
    *[tools.edit({"file_path": name, "old_string": old, "new_string": new}) for name in names]
)
"""
SUMMARY = """
print(f"{len(names)} files")
return {
    "edited": [edit["path"] for edit in edits],
    "replaced": sum([edit["replacements"] for edit in edits]),
    "lines": sum([page["total_lines"] for page in pages]),
}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["seaweedfs_server", "sshd_server"])
def harness(request: pytest.FixtureRequest) -> StoreHarness:
    """A fresh place on a real server, with a plan in it and three files that it is about."""
    harness: StoreHarness = request.getfixturevalue(request.param).harness()
    for name in NAMES:
        harness.put(name, b"# one\r\ntimeout = 10\r\n")
    plan(harness, "timeout = 10", "timeout = 30")
    return harness


def plan(harness: StoreHarness, old: str, new: str) -> None:
    harness.put("plan.txt", "\n".join([old, new, *NAMES, ""]).encode())


class Meeting(DelegatingBackend):
    """Holds every write back until one of each file is under way."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self._here = 0
        self._all_here = anyio.Event()

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        if primitive == "write":
            self._here += 1
            if self._here == len(NAMES):
                self._all_here.set()
            with anyio.fail_after(WAIT_S):
                await self._all_here.wait()
        return await call()


@asynccontextmanager
async def client_over(
    harness: StoreHarness, *, wrapped: Callable[[Backend], Backend] = DelegatingBackend
) -> AsyncGenerator[Client]:
    backend = wrapped(await harness.open())
    try:
        async with (
            stand(backend=backend, mounts={}, mode="code") as opened,
            Client(opened.server, mode="legacy") as client,
        ):
            yield client
    finally:
        await backend.aclose()


async def run(client: Client, code: str) -> CallToolResult:
    return await client.call_tool("run_code", {"code": code, "description": "Raise the timeout."})


def returned(result: CallToolResult) -> object:
    assert not result.is_error, text_of(result)
    return meta_of(result)["seamfs/value"]["value"]


async def test_one_program_reads_a_plan_edits_three_files_at_once_and_returns_a_summary(harness: StoreHarness) -> None:
    async with client_over(harness) as client:
        result = await run(client, READ + AT_ONCE + SUMMARY)
        again = await run(client, READ + AT_ONCE + SUMMARY)
    assert returned(result) == {"edited": list(NAMES), "replaced": 3, "lines": 6}
    assert "3 files" in text_of(result)
    assert [harness.get(name) for name in NAMES] == [b"# one\r\ntimeout = 30\r\n"] * 3
    assert again.is_error
    assert "FS_EDIT_NOT_FOUND" in text_of(again)


async def test_what_a_program_has_not_read_it_may_not_change_and_what_its_session_has_read_it_may(
    harness: StoreHarness,
) -> None:
    edit = 'return await tools.edit({"file_path": "a.py", "old_string": "10", "new_string": "20"})'
    async with client_over(harness) as client:
        unread = await run(client, edit)
        await run(client, 'await tools.read({"file_path": "a.py"})')
        # Another program of the same session.
        read = await run(client, edit)
    assert unread.is_error
    assert "FS_NOT_OBSERVED" in text_of(unread)
    assert not read.is_error
    assert harness.get("a.py") == b"# one\r\ntimeout = 20\r\n"
    assert harness.get("b/c.py") == b"# one\r\ntimeout = 10\r\n"


async def test_edits_that_are_started_together_take_about_as_long_as_one(harness: StoreHarness) -> None:
    async with client_over(harness, wrapped=Meeting) as client:
        result = await run(client, READ + AT_ONCE + SUMMARY)
    # Each waited in the middle for all others, so none waited for the end of another.
    assert returned(result) == {"edited": list(NAMES), "replaced": 3, "lines": 6}
