"""An S3 service that means harm: what it sends is bounded, checked against what was asked, and never quoted."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from anyio import to_thread
from pydantic import SecretStr

from backends.options import S3Options
from backends.s3 import S3Backend, open_s3
from fs_core.errors import FsError, Unavailable
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.paths import parse_path
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.types import Target
from tests.security.memory import memory_bounded
from tests.security.servers.hostile_s3 import BUCKET, ENDLESS_MAX, HostileS3, hostile_s3

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def endpoint() -> Generator[str]:
    with hostile_s3() as url:
        yield url


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no pauses between attempts."""
    monkeypatch.setattr("backends.s3._client._FIRST_PAUSE_S", 0.001)


@asynccontextmanager
async def opened(endpoint: str) -> AsyncGenerator[S3Backend]:
    options = S3Options(
        endpoint_url=endpoint,
        region="us-east-1",
        access_key_id="id",
        secret_access_key=SecretStr("secret"),
        request_timeout_s=60,
    )
    backend = await open_s3(f"s3://{BUCKET}", options)
    try:
        with anyio.fail_after(60):
            yield backend
    finally:
        await backend.aclose()


async def at(backend: S3Backend, path: str) -> Target:
    return await backend.resolve(parse_path(path, backend.root))


@pytest.mark.parametrize("scene", ["endless", "same-token"])
async def test_a_listing_without_an_end_is_cut_after_a_bounded_number_of_pages(endpoint: str, scene: str) -> None:
    async with opened(endpoint) as backend:
        HostileS3.listings = 0
        with memory_bounded(bytes_max=32 * MIB):
            listing = await backend.list(await at(backend, scene), limit=1_000)
    assert len(listing.entries) == 1_000
    assert not listing.is_complete
    assert HostileS3.listings <= 17


@pytest.mark.parametrize("scene", ["million", "names"])
async def test_a_page_of_a_listing_without_an_end_is_cut_off(endpoint: str, scene: str) -> None:
    async with opened(endpoint) as backend:
        with memory_bounded(bytes_max=32 * MIB), pytest.raises(Unavailable, match="connection to the store broke"):
            await backend.list(await at(backend, scene), limit=1_000)


async def test_entities_in_a_listing_are_not_expanded(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        with memory_bounded(bytes_max=16 * MIB), pytest.raises(FsError) as caught:
            await backend.list(await at(backend, "entities"), limit=1_000)
    assert "root:" not in repr(caught.value)


async def test_keys_from_elsewhere_are_no_entries_and_odd_ones_are_marked(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        listing = await backend.list(await at(backend, "odd"), limit=1_000)
    names = {entry.name: entry.addressable for entry in listing.entries}
    assert names == {
        "\0": False,
        "esc\x1b[2J\nforged": True,
        "plain": True,
        "\u202e": True,
        "\ufffd": True,
    }


async def test_torn_entries_of_a_listing_are_left_out(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        listing = await backend.list(await at(backend, "torn"), limit=1_000)
    assert [(entry.name, entry.size_bytes) for entry in listing.entries] == [("a", None)]


async def test_names_of_a_hostile_store_are_offered_quoted(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        files = BackedFileSystem(backend)
        with pytest.raises(FsError) as caught:
            await FileSession(files, policy=Unguarded()).read("odd/plan", Window())
    assert str(caught.value).isprintable()


async def test_an_answer_that_is_not_what_was_asked_for_is_refused(endpoint: str) -> None:
    expected = {
        "other-range": "FS_IO_ERROR",
        "no-such-range": "FS_IO_ERROR",
        "short-range": "FS_IO_ERROR",
        "no-length": "FS_IO_ERROR",
        "lying-length": "FS_UNAVAILABLE",
        "endless-error": "FS_UNAVAILABLE",
        "error-text": "FS_IO_ERROR",
    }
    refused: dict[str, str] = {}
    async with opened(endpoint) as backend:
        for key in expected:
            target = await at(backend, key)
            with memory_bounded(bytes_max=16 * MIB), pytest.raises(FsError) as caught:
                await backend.read(target, offset=10, limit=1_000_000)
            refused[key] = caught.value.code
            assert str(caught.value).isprintable()
            assert "forged" not in str(caught.value)
    assert refused == expected


async def test_of_a_body_without_an_end_only_the_part_that_was_asked_for_is_held(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        for key in ("endless-range", "no-range"):
            target = await at(backend, key)
            with memory_bounded(bytes_max=16 * MIB):
                snapshot = await backend.read(target, offset=10, limit=100_000)
            assert snapshot.data == bytes(100_000), key
            assert snapshot.size_bytes == 1 << 40, key


async def test_a_compressed_object_is_read_as_it_is(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        target = await at(backend, "squeezed")
        with memory_bounded(bytes_max=16 * MIB):
            snapshot = await backend.read(target, limit=MIB)
    assert snapshot.data.startswith(b"\x1f\x8b")
    assert snapshot.size_bytes < MIB


async def test_a_redirect_is_not_followed(endpoint: str) -> None:
    with hostile_s3() as inside:
        HostileS3.redirect_to = inside.replace("127.0.0.1", "localhost") + f"/{BUCKET}/odd-etag?"
        async with opened(endpoint) as backend:
            with pytest.raises(Unavailable, match="another region"):
                await backend.read(await at(backend, "redirect"), limit=10)


async def test_a_header_that_is_no_text_is_a_fault_and_leaves_no_connection(endpoint: str) -> None:
    async with opened(endpoint) as backend:
        target = await at(backend, "odd-etag")
        with pytest.raises(Unavailable):
            await backend.read(target, limit=10)
        # Every answer without an end has ended, since its connection was closed.
        for _ in range(ENDLESS_MAX):
            assert await to_thread.run_sync(partial(HostileS3.endless.acquire, timeout=20))
    for _ in range(ENDLESS_MAX):
        HostileS3.endless.release()
