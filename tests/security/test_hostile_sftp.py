"""A server that is trusted by its host key and means harm all the same: bounded, refused, and never quoted as it is."""

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

import backends.sftp._list as sftp_list
from backends.sftp import SftpBackend, open_sftp
from backends.sftp._client import SftpClient
from fs_core.errors import FsError, InvalidPath, IoFault, SandboxDenied, StaleVersion, Unavailable
from fs_core.paths import is_staged_name
from tests.security.memory import memory_bounded
from tests.support.sftp_servers import SftpServer, real_server, target_of

pytestmark = pytest.mark.anyio

MIB = 1 << 20
_SCRIPT = Path(__file__).parent / "servers" / "hostile_sftp.py"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Generator[SftpServer]:
    with real_server(tmp_path_factory.mktemp("sftp-hostile"), subsystem=f"{sys.executable} -S -E {_SCRIPT}") as server:
        yield server


@asynccontextmanager
async def opened(server: SftpServer, scene: str) -> AsyncGenerator[SftpBackend]:
    options = server.options(connect_timeout_s=60.0, request_timeout_s=60.0)
    backend = await open_sftp(server.url(Path("/") / scene), options)
    try:
        with anyio.fail_after(50):  # so nothing that is waited for to the limit is refused in time
            yield backend
    finally:
        await backend.aclose()


async def refusal(server: SftpServer, scene: str, name: str) -> FsError:
    """Return the error of looking for a name and reading it."""
    async with opened(server, scene) as backend:
        with memory_bounded(bytes_max=24 * MIB):
            try:
                await backend.read(await target_of(backend, name), limit=MIB)
            except FsError as error:
                return error
    pytest.fail("nothing was refused")


def is_one_plain_line(error: FsError) -> bool:
    return str(error).isprintable() and len(str(error)) < 500


async def test_extensions_are_few_plain_words_whatever_the_server_calls_them(hostile: SftpServer) -> None:
    with memory_bounded(bytes_max=16 * MIB):
        async with opened(hostile, "names") as backend:
            names = backend.extensions
    assert "posix-rename@openssh.com" in names
    assert len(names) <= 64
    assert all(name.isprintable() and " " not in name and len(name) <= 64 for name in names)


async def test_names_that_no_path_can_hold_are_listed_with_a_mark_and_lead_nowhere(hostile: SftpServer) -> None:
    async with opened(hostile, "names") as backend:
        listing = await backend.list(await target_of(backend, "."), limit=100)
    names = {entry.name: entry.addressable for entry in listing.entries}
    assert {".", "..", ""}.isdisjoint(names)
    assert [name for name, addressable in names.items() if not addressable] == ["../up", "\\xff\\xfe", "a/b", "nul\0"]
    assert not any(is_staged_name(name) for name in names)


async def test_a_listing_without_new_names_ends(hostile: SftpServer) -> None:
    async with opened(hostile, "dots") as backend:
        with pytest.raises(IoFault, match="without an end"):
            await backend.list(await target_of(backend, "."), limit=100)


async def test_a_listing_without_an_end_is_cut_in_bounded_memory(
    hostile: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sftp_list, "_ENTRIES_READ_MAX", 8_000)
    async with opened(hostile, "endless") as backend:
        directory = await target_of(backend, ".")
        with memory_bounded(bytes_max=24 * MIB):
            listing = await backend.list(directory, limit=100)
    assert len(listing.entries) == 100
    assert not listing.is_complete


async def test_a_listing_that_drips_is_given_up(hostile: SftpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    require_pace = SftpClient.require_pace

    def require_haste(client: SftpClient, started_s: float, done: int, rate_min_per_s: int) -> None:
        assert rate_min_per_s == sftp_list.LIST_RATE_MIN_NAMES_PER_S
        require_pace(client, started_s - client.request_timeout_s, done, 10**9)

    monkeypatch.setattr(SftpClient, "require_pace", require_haste)
    async with opened(hostile, "endless") as backend:
        directory = await target_of(backend, ".")
        with pytest.raises(Unavailable, match="too slowly"):
            await backend.list(directory, limit=100)


async def test_a_size_that_lies_costs_no_memory(hostile: SftpServer) -> None:
    async with opened(hostile, "lies") as backend:
        target = await target_of(backend, "file")
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(StaleVersion):
            await backend.scan(target, lambda _: None)


async def test_more_bytes_than_asked_for_are_no_content(hostile: SftpServer) -> None:
    async with opened(hostile, "long") as backend:
        target = await target_of(backend, "file")
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(StaleVersion):
            await backend.read(target, limit=5)


async def test_an_endless_text_of_a_status_is_cut_and_made_printable(hostile: SftpServer) -> None:
    error = await refusal(hostile, "status", "any")
    assert isinstance(error, IoFault)
    assert is_one_plain_line(error)
    assert "forged" in str(error)


async def test_an_answer_to_no_request_ends_the_connection(hostile: SftpServer) -> None:
    error = await refusal(hostile, "wrong-number", "file")
    assert isinstance(error, Unavailable)
    assert "a request that was not made" in str(error)


async def test_a_packet_of_four_gigabytes_is_not_waited_for(hostile: SftpServer) -> None:
    error = await refusal(hostile, "huge-packet", "any")
    assert isinstance(error, Unavailable)
    assert is_one_plain_line(error)


async def test_a_huge_handle_is_refused(hostile: SftpServer) -> None:
    async with opened(hostile, "big-handle") as backend:
        target = await target_of(backend, "file")
        with pytest.raises(IoFault, match="a handle of 900000 bytes"):
            await backend.read(target, limit=5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("link", InvalidPath),
        ("link-bytes", InvalidPath),
        ("link-nul", InvalidPath),
        ("link-huge", InvalidPath),
        ("link-out", SandboxDenied),
    ],
)
async def test_hostile_links_end_and_are_refused(hostile: SftpServer, name: str, expected: type[FsError]) -> None:
    error = await refusal(hostile, "leads", name)
    assert isinstance(error, expected)
    assert is_one_plain_line(error)


async def test_a_path_that_the_server_says_is_elsewhere_is_denied(hostile: SftpServer) -> None:
    error = await refusal(hostile, "elsewhere", "file")
    assert isinstance(error, SandboxDenied)
