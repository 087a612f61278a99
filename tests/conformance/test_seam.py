"""The whole seam over every store: concurrent edits through one workspace, and its cost in requests."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from fs_core.edit import Edit
from fs_core.errors import EditNotFound, NotFound, StaleVersion
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, ObservationStore, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.session import FileSession
from fs_core.testing.harness import StoreHarness
from fs_core.testing.memory import MemoryHarness
from tests.support.local_store import LocalHarness
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer

pytestmark = pytest.mark.anyio

_TASKS = 8
_EDITS = {"memory": 15, "local": 15, "moto": 3, "embedded-sftp": 3, "seaweedfs": 15, "sshd": 15}
"""Of each agent. All eight read before each edit, so each of them is one that seven others are too late for."""
"""The doubles of the servers run in this process, several times as slow, and add little to what the servers show."""


def _memory(request: pytest.FixtureRequest) -> StoreHarness:
    return MemoryHarness()


def _local(request: pytest.FixtureRequest) -> StoreHarness:
    directory: Path = request.getfixturevalue("tmp_path") / "root"
    directory.mkdir()
    return LocalHarness(directory)


def _server(name: str) -> Callable[[pytest.FixtureRequest], StoreHarness]:
    def harness(request: pytest.FixtureRequest) -> StoreHarness:
        server: S3Server | SftpServer = request.getfixturevalue(name)
        return server.harness()

    return harness


_STORES = {
    "memory": _memory,
    "local": _local,
    "moto": _server("moto_server"),
    "seaweedfs": _server("seaweedfs_server"),
    "embedded-sftp": _server("embedded_sftp_server"),
    "sshd": _server("sshd_server"),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=_STORES)
def harness(request: pytest.FixtureRequest) -> StoreHarness:
    return _STORES[request.param](request)


def session(files: BackedFileSystem, store: ObservationStore, owner: str) -> FileSession:
    return FileSession(files, policy=ReadBeforeWrite(owner=OwnerId(owner), store=store))


async def _count_up(agent: FileSession, edits: int) -> None:
    done = 0
    while done < edits:
        text = (await agent.read("counter", Window())).page.lines[0].text
        try:
            await agent.edit("counter", Edit(text, str(int(text) + 1)))
        except (StaleVersion, EditNotFound):
            continue
        done += 1


@pytest.mark.parametrize(
    ("harness", "edits"),
    [pytest.param(store, _EDITS[store], id=store) for store in _STORES],
    indirect=["harness"],
)
async def test_a_counter_edited_by_eight_agents_ends_exact(harness: StoreHarness, edits: int) -> None:
    harness.put("counter", b"0")
    backend = await harness.open()
    files, seen = BackedFileSystem(backend), MemoryObservations()
    try:
        async with anyio.create_task_group() as tasks:
            for number in range(_TASKS):
                tasks.start_soon(_count_up, session(files, seen, f"agent {number}"), edits)
    finally:
        await backend.aclose()
    assert harness.get("counter") == str(_TASKS * edits).encode()
    assert harness.names() == ["counter"]


async def test_parallel_edits_of_one_agent_all_land(harness: StoreHarness) -> None:
    words = ["alpha", "beta", "gamma", "delta"]
    harness.put("words.txt", " ".join(words).encode())
    backend = await harness.open()
    agent = session(BackedFileSystem(backend), MemoryObservations(), "agent")
    try:
        await agent.read("words.txt", Window())
        async with anyio.create_task_group() as tasks:
            for word in words:
                tasks.start_soon(agent.edit, "words.txt", Edit(word, word.upper()))
    finally:
        await backend.aclose()
    assert harness.get("words.txt") == b"ALPHA BETA GAMMA DELTA"


async def test_unguarded_parallel_edits_lose_nothing(harness: StoreHarness) -> None:
    words = ["alpha", "beta", "gamma", "delta"]
    harness.put("words.txt", " ".join(words).encode())
    backends = [await harness.open(), await harness.open()]
    agents = [FileSession(BackedFileSystem(backend), policy=Unguarded()) for backend in backends]
    try:
        async with anyio.create_task_group() as tasks:
            for number, word in enumerate(words):
                tasks.start_soon(agents[number % 2].edit, "words.txt", Edit(word, word.upper()))
    finally:
        for backend in backends:
            await backend.aclose()
    assert harness.get("words.txt") == b"ALPHA BETA GAMMA DELTA"


async def test_a_missing_file_names_what_may_be_meant(harness: StoreHarness) -> None:
    harness.put("d/config.yaml", b"x")
    harness.put("d/unrelated", b"x")
    backend = await harness.open()
    agent = session(BackedFileSystem(backend), MemoryObservations(), "agent")
    try:
        with pytest.raises(NotFound) as missing:
            await agent.read("d/config.yml", Window())
    finally:
        await backend.aclose()
    assert missing.value.near_names == ("config.yaml",)


@pytest.mark.parametrize("mebibytes", [3])
async def test_a_page_from_the_middle_of_a_large_file_is_exact(harness: StoreHarness, mebibytes: int) -> None:
    lines = [f"line {number:07} \u00e9\u4e2d\u6587 {'x' * (number % 50)}" for number in range(mebibytes * 20_000)]
    harness.put("big.txt", "\r\n".join(lines).encode())
    backend = await harness.open()
    agent = session(BackedFileSystem(backend), MemoryObservations(), "agent")
    middle = len(lines) // 2
    try:
        page = (await agent.read("big.txt", Window(first_line=middle, lines_max=3))).page
    finally:
        await backend.aclose()
    assert [line.text for line in page.lines] == lines[middle - 1 : middle + 2]
    assert page.total_lines == len(lines)
    assert page.next_line == middle + 3
