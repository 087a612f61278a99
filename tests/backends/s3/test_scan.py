"""Whole objects: fed to a sink in parts, or read with one request."""

import asyncio
import math
import random
import threading
from collections.abc import Callable

import anyio
import pytest

from backends.s3 import S3Backend
from fs_core.digest import content_digest
from fs_core.errors import NotFound, NotRegularFile, StaleVersion, TooLarge, Unavailable
from fs_core.types import Target
from tests.support.s3_limits import TimeLimits
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
    """Scans ask for this many bytes at a time, so that a few hundred KiB are many parts; no store is fast."""
    monkeypatch.setattr("backends.s3._scan.PART_BYTES", 1 << 16)
    monkeypatch.setattr("backends.s3._scan._FAST_WITHIN_S", -1.0)
    return 1 << 16


@pytest.fixture
def streamed(small_parts: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """As `small_parts`, but every store is fast: what is behind the first part is streamed, four parts a request."""
    monkeypatch.setattr("backends.s3._scan._FAST_WITHIN_S", math.inf)
    monkeypatch.setattr("backends.s3._scan._STREAM_BYTES", 4 * small_parts)
    return small_parts


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


async def test_what_is_behind_the_first_part_of_a_fast_store_is_streamed(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, streamed: int
) -> None:
    data = random.Random(10).randbytes(6 * streamed)
    harness.put("f", data)
    content = bytearray()
    scanned = await proxied.scan(await target_of(proxied, "f"), content.extend)
    assert proxy.ranges() == ["bytes=0-65535", "bytes=65536-327679", "bytes=327680-589823"]
    assert proxy.headers["GET"]["if-match"] == f'"{scanned.version.token}"'
    assert (content, scanned.version.digest) == (data, content_digest(data))


def passing() -> Hold:
    """Return what meets a request and lets it pass."""
    hold = Hold()
    hold.release.set()
    return hold


def filling(content: bytearray, size_bytes: int, full: threading.Event) -> Callable[[bytes | bytearray], None]:
    """Return a sink that adds to `content` and tells when that has so many bytes."""

    def add(piece: bytes | bytearray) -> None:
        content.extend(piece)
        if len(content) >= size_bytes:
            full.set()

    return add


async def test_broken_stream_goes_on_where_it_ended(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, streamed: int
) -> None:
    data = random.Random(11).randbytes(3 * streamed)
    harness.put("f", data)
    taken = threading.Event()
    proxy.inject("GET", passing(), Cut(after_bytes=streamed, taken=taken), Answer(503, "SlowDown"))
    content = bytearray()
    await proxied.scan(await target_of(proxied, "f"), filling(content, 2 * streamed, taken))
    assert content == data
    assert proxy.ranges()[2:] == ["bytes=131072-327679"] * 2


async def test_change_before_the_stream_is_stale(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, streamed: int
) -> None:
    harness.put("f", bytes(2 * streamed))
    fed: list[int] = []

    def change_at_the_end_of_the_first_part(piece: bytes | bytearray) -> None:
        fed.append(len(piece))
        if sum(fed) == streamed:
            harness.put("f", bytes(2 * streamed + 1))

    with pytest.raises(StaleVersion):
        await proxied.scan(await target_of(proxied, "f"), change_at_the_end_of_the_first_part)
    assert sum(fed) == streamed
    assert proxy.counts()["GET"] == 2


async def test_stream_that_does_not_come_is_given_up(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, limits: TimeLimits, streamed: int
) -> None:
    harness.put("f", bytes(3 * streamed))
    target = await target_of(proxied, "f")
    hold = Hold()
    proxy.inject("GET", passing(), hold)
    async with anyio.create_task_group() as group:
        group.start_soon(limits.run_out_at, hold)
        with anyio.fail_after(15), pytest.raises(Unavailable, match="did not answer in time"):
            await proxied.scan(target, lambda _: None)
    assert proxy.counts() == {"GET": 2}


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
    taken = threading.Event()
    proxy.inject("GET", Cut(after_bytes=200_000, taken=taken))
    content = bytearray()
    await proxied.scan(await target_of(proxied, "f"), filling(content, 200_000, taken))
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


async def test_error_of_the_sink_ends_a_stream_as_it_is_and_is_no_broken_connection(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, streamed: int
) -> None:
    harness.put("f", bytes(3 * streamed))
    target = await target_of(proxied, "f")
    fed: list[int] = []

    def full_behind_the_first_part(piece: bytes | bytearray) -> None:
        if sum(fed) == streamed:
            raise full from reason
        fed.append(len(piece))

    full, reason = ConnectionResetError("of the sink"), SinkIsFull()
    before = len(asyncio.all_tasks())
    with pytest.raises(ConnectionResetError) as raised:
        await proxied.scan(target, full_behind_the_first_part)
    assert raised.value is full
    assert full.__cause__ is reason
    assert len(asyncio.all_tasks()) == before
    assert proxy.counts() == {"GET": 2}
    assert (await proxied.scan(target, bytearray().extend)).size_bytes == 3 * streamed


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
            await hold.has_arrived()
            group.cancel_scope.cancel()
    assert len(asyncio.all_tasks()) == before
    assert (await proxied.scan(target, bytearray().extend)).size_bytes == 6 * small_parts


async def scan_and_cancel(backend: S3Backend, target: Target, *, after_bytes: int) -> None:
    """Scan until so many bytes have been fed; the scope ends the scan where it waits next."""
    fed_bytes = 0

    def feed(piece: bytes | bytearray) -> None:
        nonlocal fed_bytes
        fed_bytes += len(piece)
        if fed_bytes >= after_bytes:
            scope.cancel()

    with anyio.CancelScope() as scope:
        await backend.scan(target, feed)


async def test_cancelled_stream_leaves_neither_task_nor_connection(harness: S3Harness, streamed: int) -> None:
    backend = await harness.open_with(concurrency_max=1)
    harness.put("f", bytes(6 * streamed))
    target = await target_of(backend, "f")
    before = len(asyncio.all_tasks())
    try:
        for _ in range(3):  # more than there are connections
            await scan_and_cancel(backend, target, after_bytes=2 * streamed)
        assert len(asyncio.all_tasks()) == before
        with anyio.fail_after(20):
            assert (await backend.scan(target, lambda _: None)).size_bytes == 6 * streamed
    finally:
        await backend.aclose()


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
