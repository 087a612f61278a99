"""Whole objects: fed to a sink in parts, or read with one request."""

import asyncio
import random

import anyio
import anyio.to_thread
import pytest

from backends.s3 import S3Backend
from fs_core.digest import content_digest
from fs_core.errors import NotFound, NotRegularFile, StaleVersion, TooLarge
from tests.support.s3_proxy import Answer, Cut, Drop, FaultProxy, Hold
from tests.support.s3_servers import S3Harness, S3Server, target_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(seaweedfs_server: S3Server) -> S3Server:
    return seaweedfs_server


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.s3._client._FIRST_PAUSE_S", 0.001)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    """Scans ask for this many bytes at a time, so that a few hundred KiB are many parts."""
    monkeypatch.setattr("backends.s3._scan.PART_BYTES", 1 << 16)
    return 1 << 16


async def test_scan_costs_one_get_per_part_of_one_version(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, small_parts: int
) -> None:
    data = random.Random(7).randbytes(6 * small_parts + 4)
    harness.put("big", data)
    harness.put("small", b"s")
    pieces: list[bytes] = []
    scanned = await proxied.scan(await target_of(proxied, "big"), lambda piece: pieces.append(bytes(piece)))
    assert proxy.counts() == {"GET": 7}
    assert b"".join(pieces) == data
    assert scanned.version.digest == content_digest(data)
    await proxied.scan(await target_of(proxied, "small"), lambda piece: pieces.append(bytes(piece)))
    assert proxy.counts() == {"GET": 1}


async def test_pieces_of_a_scan_are_small(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("f", bytes(1 << 20))
    sizes: list[int] = []
    await backend.scan(await target_of(backend, "f"), lambda piece: sizes.append(len(piece)))
    assert sum(sizes) == 1 << 20
    assert max(sizes) <= 1 << 18


async def test_empty_file_is_scanned_and_read_whole(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("empty", b"")
    target = await target_of(proxied, "empty")
    whole = await proxied.read_whole(target, size_bytes_max=0)
    assert proxy.counts() == {"GET": 1}
    pieces: list[bytes] = []
    scanned = await proxied.scan(target, lambda piece: pieces.append(bytes(piece)))
    assert pieces == []
    assert proxy.counts() == {"GET": 1, "HEAD": 1}
    assert (scanned.size_bytes, scanned.version) == (0, whole.version)


@pytest.mark.parametrize("fault", [Answer(503, "SlowDown"), Drop(forward=True)])
async def test_scan_outlives_passing_faults_of_several_parts(
    proxied: S3Backend,
    proxy: FaultProxy,
    harness: S3Harness,
    small_parts: int,
    fault: Answer | Drop,
) -> None:
    data = random.Random(8).randbytes(4 * small_parts)
    harness.put("f", data)
    proxy.inject("GET", fault, fault)
    content = bytearray()
    await proxied.scan(await target_of(proxied, "f"), content.extend)
    assert content == data
    assert proxy.counts() == {"GET": 6}


async def test_scan_goes_on_where_a_broken_answer_ended(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    data = random.Random(9).randbytes(300_000)
    harness.put("f", data)
    proxy.inject("GET", Cut(after_bytes=200_000))
    content = bytearray()
    await proxied.scan(await target_of(proxied, "f"), content.extend)
    assert content == data
    first, second = proxy.ranges()
    assert first == "bytes=0-8388607"
    assert second == "bytes=200000-8388607"
    assert proxy.headers["GET"]["if-match"]


async def test_change_during_a_scan_is_stale_and_ends_the_other_requests(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, small_parts: int
) -> None:
    harness.put("f", bytes(5 * small_parts))
    target = await target_of(proxied, "f")

    def change_at_the_first_piece(piece: bytes | bytearray) -> None:
        if len(fed) == 0:
            harness.put("f", bytes(5 * small_parts + 1))
        fed.append(len(piece))

    fed: list[int] = []
    with pytest.raises(StaleVersion):
        await proxied.scan(target, change_at_the_first_piece)
    assert sum(fed) <= 3 * small_parts
    assert (await proxied.read_whole(target, size_bytes_max=1 << 20)).size_bytes == 5 * small_parts + 1


class SinkIsFull(Exception):
    pass


async def test_error_of_the_sink_ends_a_scan_as_it_is(proxied: S3Backend, harness: S3Harness, small_parts: int) -> None:
    harness.put("f", bytes(6 * small_parts))
    target = await target_of(proxied, "f")

    def full(_: bytes | bytearray) -> None:
        raise SinkIsFull

    before = len(asyncio.all_tasks())
    with pytest.raises(SinkIsFull):
        await proxied.scan(target, full)
    assert len(asyncio.all_tasks()) == before
    assert (await proxied.scan(target, bytearray().extend)).size_bytes == 6 * small_parts


async def test_cancelled_scan_leaves_neither_task_nor_connection(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, small_parts: int
) -> None:
    harness.put("f", bytes(6 * small_parts))
    target = await target_of(proxied, "f")
    before = len(asyncio.all_tasks())
    for _ in range(3):
        hold = Hold()
        proxy.inject("GET", hold)
        async with anyio.create_task_group() as group:
            group.start_soon(proxied.scan, target, bytearray().extend)
            await anyio.to_thread.run_sync(hold.arrived.wait, 5)
            group.cancel_scope.cancel()
    assert len(asyncio.all_tasks()) == before
    assert (await proxied.scan(target, bytearray().extend)).size_bytes == 6 * small_parts


async def test_more_scans_than_slots_and_connections_all_end(harness: S3Harness, small_parts: int) -> None:
    backend = await harness.open_with(concurrency_max=2)
    harness.put("f", bytes(5 * small_parts))
    target = await target_of(backend, "f")
    sizes: list[int] = []

    async def scan() -> None:
        sizes.append((await backend.scan(target, lambda _: None)).size_bytes)

    try:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(6):
                    group.start_soon(scan)
    finally:
        await backend.aclose()
    assert sizes == [5 * small_parts] * 6


async def test_file_too_large_to_hold_is_refused_before_its_content_is_read(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", b"1234")
    target = await target_of(proxied, "f")
    with pytest.raises(TooLarge, match="4 bytes; at most 3"):
        await proxied.read_whole(target, size_bytes_max=3)
    whole = await proxied.read_whole(target, size_bytes_max=4)
    assert proxy.counts() == {"GET": 2}
    assert (whole.data, whole.is_whole, whole.version.digest) == (b"1234", True, content_digest(b"1234"))


async def test_whole_read_of_what_is_no_file_is_refused(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("d/f", b"")
    for path in ("d", "."):
        with pytest.raises(NotRegularFile):
            await backend.read_whole(await target_of(backend, path), size_bytes_max=1)
    with pytest.raises(NotFound):
        await backend.read_whole(await target_of(backend, "nothing"), size_bytes_max=1)
