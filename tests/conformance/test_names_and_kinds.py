"""Odd names, special files and huge lines, through the tools on every store."""

import os
import socket
import stat
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import anyio
import pytest

from backends.local import open_local
from backends.options import LocalOptions
from fs_core.errors import quote_path
from fs_core.testing.conformance import ODD_NAMES
from fs_core.testing.harness import DirectoryHarness, StoreHarness
from tests.cases.stores import STORES, new_root
from tests.support.store_stage import PROMPT_S
from tests.support.tool_agent import ToolAgent, shown
from tool_runtime import ToolFailure, ToolResult, ToolSuccess

pytestmark = pytest.mark.anyio

_DIRECTORIES: Final = ("local", "sshd")
_OTHER_PROCESSES: Final = ("memory", "local", "seaweedfs", "sshd")
"""Stores that hold no copy of a file in this process beside what the library itself holds."""

_LONGEST: Final = "\u4e2d" * 85
"""A name of 255 bytes."""

_NAMES: Final = (
    *ODD_NAMES,
    _LONGEST,
    "two\nlines.txt",
    "tab\tand\x1b[31mescape",
    "turned\u202eround.txt",
    "\u1f76.txt",
    "\u1f70.txt",
    "dot.",
    "..leading",
    "100%.txt",
    "%2e%2e",
    "&amp;.txt",
    "a|b<c>d:e*f",
)

_NOT_SERVED: Final = frozenset({("moto", "two\nlines.txt")})
"""The routes of moto's server match no key with a newline."""


def _stores(*stores: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "store", [pytest.param(store, marks=pytest.mark.xdist_group(store)) for store in stores]
    )


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def harness(store: str, request: pytest.FixtureRequest) -> StoreHarness:
    return new_root(".", store, request).workspace


@pytest.fixture
async def agent(harness: StoreHarness) -> AsyncGenerator[ToolAgent]:
    backend = await harness.open()
    yield ToolAgent(backend)
    await backend.aclose()


def _value(result: ToolResult) -> dict[str, Any]:
    assert isinstance(result, ToolSuccess), result
    return cast("dict[str, Any]", result.value)


def _failure(result: ToolResult) -> ToolFailure:
    assert isinstance(result, ToolFailure), result
    return result


# -- names ---------------------------------------------------------------------------------------------------------


@_stores(*STORES)
async def test_a_name_is_created_edited_and_read_as_it_is(store: str, harness: StoreHarness, agent: ToolAgent) -> None:
    names = [name for name in _NAMES if (store, name) not in _NOT_SERVED]
    for number, name in enumerate(names):
        path = f"d/{name}"
        assert _value(await agent.call("write", file_path=path, content=f"{number} old\n"))["path"] == path
        _value(await agent.call("edit", file_path=path, old_string="old", new_string="new"))
    for number, name in enumerate(names):
        page = await agent.call("read", file_path=f"d/{name}")
        assert [line["text"] for line in _value(page)["lines"]] == [f"{number} new"]
        assert shown(page).splitlines()[0] == f"<path>{quote_path(f'd/{name}')}</path>"
        assert harness.get(f"d/{name}") == f"{number} new\n".encode()
    assert harness.names("d") == sorted(names)


@_stores(*STORES)
async def test_composed_and_decomposed_names_are_two_files_and_each_is_near_the_other(
    harness: StoreHarness, agent: ToolAgent
) -> None:
    harness.put("d/caf\u00e9.txt", b"composed\n")
    missing = _failure(await agent.call("read", file_path="d/cafe\u0301.txt"))
    assert missing.code == "FS_NOT_FOUND"
    assert "Similar names there: caf\u00e9.txt." in missing.message
    _value(await agent.call("write", file_path="d/cafe\u0301.txt", content="decomposed\n"))
    assert harness.get("d/caf\u00e9.txt") == b"composed\n"
    assert harness.get("d/cafe\u0301.txt") == b"decomposed\n"


@_stores(*STORES)
async def test_near_names_are_few_and_can_be_sent_back(harness: StoreHarness, agent: ToolAgent) -> None:
    for name in ("report 1.txt", "report 2.txt", "report#3.txt", "report%204.txt", "other"):
        harness.put(f"d/{name}", b"x\n")
    missing = _failure(await agent.call("read", file_path="d/report%201.txt"))
    offered = missing.message.rpartition("Similar names there: ")[2].rstrip(".").split(", ")
    assert len(offered) == 3
    for name in offered:
        _value(await agent.call("read", file_path=f"d/{name}"))


@_stores("memory", "local", "embedded-sftp", "sshd")
async def test_a_name_of_256_bytes_is_an_invalid_path(harness: StoreHarness, agent: ToolAgent) -> None:
    harness.mkdir("d")
    for refused in (
        await agent.call("write", file_path=f"d/{_LONGEST}x", content="x"),
        await agent.call("read", file_path=f"d/{_LONGEST}x"),
    ):
        assert _failure(refused).code == "FS_INVALID_PATH"
    assert harness.names("d") == []


# -- special files -------------------------------------------------------------------------------------------------


def _device(path: Path) -> None:
    """Make a node like `/dev/null`, where that is allowed."""
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def _socket(path: Path) -> None:
    here = path.parent.parent / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(here))
    here.rename(path)


def _link_to_socket(path: Path) -> None:
    _socket(path.with_name("target"))
    path.symlink_to("target")


def _link_to_fifo_of_another_directory(path: Path) -> None:
    os.mkfifo(path.parent.parent / "pipe")
    path.symlink_to("../pipe")


def _may_make_devices() -> bool:
    with TemporaryDirectory() as directory:
        try:
            _device(Path(directory) / "node")
        except PermissionError:
            return False
        return True


def _unchanging(path: Path) -> tuple[int, ...]:
    """Return what nobody who only looks may change; that a link was followed moves its access time."""
    status = path.lstat()
    return (status.st_mode, status.st_dev, status.st_ino, status.st_nlink, status.st_mtime_ns, status.st_ctime_ns)


_KINDS: Final = (
    _socket,
    _link_to_socket,
    _link_to_fifo_of_another_directory,
    *([_device] if _may_make_devices() else []),
)


@_stores(*_DIRECTORIES)
@pytest.mark.parametrize("make", _KINDS)
async def test_a_special_file_is_refused_by_every_tool_at_once(
    harness: StoreHarness, agent: ToolAgent, make: Callable[[Path], None]
) -> None:
    assert isinstance(harness, DirectoryHarness)
    harness.mkdir("d")
    odd = harness.directory / "d" / "odd"
    make(odd)
    before = _unchanging(odd)
    for tool, arguments in (
        ("read", {}),
        ("write", {"content": "x"}),
        ("edit", {"old_string": "a", "new_string": "b"}),
    ):
        with anyio.fail_after(PROMPT_S):
            refused = _failure(await agent.call(tool, file_path="d/odd", **arguments))
        assert refused.code == ("FS_NOT_OBSERVED" if tool == "edit" else "FS_NOT_REGULAR_FILE")
    assert _unchanging(odd) == before
    assert "odd" in shown(await agent.call("read", file_path="d"))


@_stores(*_DIRECTORIES)
@pytest.mark.parametrize("device", ["null", "zero", "stdin", "full"])
async def test_a_link_to_a_device_outside_is_denied(harness: StoreHarness, agent: ToolAgent, device: str) -> None:
    harness.link("odd", f"/dev/{device}")
    for refused in (
        await agent.call("read", file_path="odd"),
        await agent.call("write", file_path="odd", content="x"),
        await agent.call("edit", file_path="odd", old_string="a", new_string="b"),
    ):
        assert _failure(refused).code == "FS_SANDBOX_DENIED"


@asynccontextmanager
async def _own_process() -> AsyncGenerator[ToolAgent]:
    backend = await open_local(Path("/proc/self"), LocalOptions())
    try:
        yield ToolAgent(backend)
    finally:
        await backend.aclose()


async def test_files_of_proc_are_paged_though_they_claim_to_be_empty() -> None:
    async with _own_process() as agent:
        first = _value(await agent.call("read", file_path="status", limit=2))
        last = _value(await agent.call("read", file_path="status", offset=first["total_lines"]))
    assert first["lines"][0]["text"].startswith("Name:")
    assert (first["next_offset"], last["next_offset"]) == (3, None)
    assert first["total_lines"] > 20


async def test_nothing_of_proc_leads_outside_or_is_changed() -> None:
    before = _own_name()
    async with _own_process() as agent:
        outside = [await agent.call("read", file_path=path) for path in ("cwd/a", "exe", "root/etc/hostname", "fd/0")]
        _value(await agent.call("read", file_path="comm"))
        written = [
            await agent.call("write", file_path="comm", content="changed\n"),
            await agent.call("write", file_path="new.txt", content="x"),
        ]
    assert {_failure(result).code for result in outside} == {"FS_SANDBOX_DENIED"}
    assert all(isinstance(result, ToolFailure) for result in written)
    assert _own_name() == before


def _own_name() -> bytes:
    return Path("/proc/self/comm").read_bytes()


# -- huge lines ----------------------------------------------------------------------------------------------------

_HUGE_LINE_CHARS: Final = 60_000_000
_HELD_BYTES_MAX: Final = 32 << 20


@_stores(*_OTHER_PROCESSES)
async def test_a_huge_line_is_paged_in_bounded_memory(harness: StoreHarness, agent: ToolAgent) -> None:
    harness.put("huge.txt", b"x" * _HUGE_LINE_CHARS + b"\nend\n")
    await agent.call("read", file_path="missing")  # everything that a first call loads
    tracemalloc.start()
    try:
        first = _value(await agent.call("read", file_path="huge.txt"))
        second = _value(await agent.call("read", file_path="huge.txt", offset=2))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert first["lines"] == [
        {"number": 1, "text": "x" * 2_000, "length": _HUGE_LINE_CHARS},
        {"number": 2, "text": "end"},
    ]
    assert (second["lines"], second["total_lines"]) == ([{"number": 2, "text": "end"}], 2)
    assert peak_bytes < _HELD_BYTES_MAX
