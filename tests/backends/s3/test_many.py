"""Many directories and many files of one call, side by side."""

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from backends.s3 import S3Backend
from backends.s3._bodies import AskedBody
from fs_core.errors import ErrorCode, FsError, NotFound, PermissionDenied, Unavailable
from fs_core.types import Level, Target
from tests.support.s3_proxy import Answer, Drop, FaultProxy, Hold
from tests.support.s3_servers import S3Harness, S3Server, target_of
from tests.support.simulated_bucket import NumberedKeys, SimulatedBucket, simulated_backend
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@pytest.fixture
def server(moto_server: S3Server) -> S3Server:
    return moto_server


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.s3._client._FIRST_PAUSE_S", 0.001)


async def targets_of(backend: S3Backend, *paths: str) -> list[Target]:
    return [await target_of(backend, path) for path in paths]


def ignore(_: int, data: bytes) -> None:
    assert data


async def arrived(holds: list[Hold]) -> None:
    for hold in holds:
        await hold.has_arrived()


# -- directories -----------------------------------------------------------------------------------------------------


async def test_directories_are_asked_for_side_by_side_in_bounded_number(harness: S3Harness, proxy: FaultProxy) -> None:
    through = S3Harness(replace(harness.server, endpoint_url=proxy.endpoint_url), harness.bucket, harness.prefix)
    backend = await through.open_with(concurrency_max=3)
    for number in range(7):
        harness.put(f"d{number}/f{number}", b"x")
    directories = await targets_of(backend, *(f"d{number}" for number in range(7)))
    proxy.counts()
    holds = [Hold() for _ in range(3)]
    proxy.inject("LIST", *holds)
    levels: list[Level | FsError] = []

    async def work() -> None:
        levels.extend(await backend.list_many(directories, entries_max=10, with_sizes=True))

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await arrived(holds)
        await anyio.wait_all_tasks_blocked()
        assert proxy.counts() == {"LIST": 3}
        for hold in holds:
            hold.release.set()
    await backend.aclose()
    assert [list(one.files) for one in levels if isinstance(one, Level)] == [[f"f{number}"] for number in range(7)]
    assert proxy.counts() == {"LIST": 4}


async def test_a_directory_that_is_refused_stands_at_its_place(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("d/f", b"x")
    proxy.inject("LIST", Answer(403, "AccessDenied"))
    (refused,) = await proxied.list_many(await targets_of(proxied, "d"), entries_max=10, with_sizes=False)
    assert isinstance(refused, PermissionDenied)
    level, missing = await proxied.list_many(await targets_of(proxied, "d", "gone"), entries_max=10, with_sizes=False)
    assert isinstance(level, Level)
    assert isinstance(missing, NotFound)


async def test_a_store_that_cannot_be_asked_ends_all_listings(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, short_pauses: None
) -> None:
    harness.put("d/f", b"x")
    proxy.inject("LIST", *[Answer(503, "SlowDown")] * 9)
    with pytest.raises(Unavailable, match="fewer requests"):
        await proxied.list_many(await targets_of(proxied, *["d"] * 3), entries_max=10, with_sizes=False)


@pytest.mark.parametrize(("entries_max", "pages"), [(10, 1), (999, 1), (2500, 3), (9999, 3)])
async def test_a_large_directory_is_listed_as_far_as_is_asked(entries_max: int, pages: int) -> None:
    bucket = SimulatedBucket([f"p/{number:04d}" for number in range(2500)])
    backend = simulated_backend(bucket, "s3://b/p")
    (level,) = await backend.list_many(await targets_of(backend, "."), entries_max=entries_max, with_sizes=True)
    assert isinstance(level, Level)
    assert list(level.files) == [f"{number:04d}" for number in range(min(2500, entries_max))]
    assert level.is_complete is (entries_max >= 2500)
    assert bucket.counts == {"LIST": pages}


async def test_directories_of_a_million_keys_are_folded() -> None:
    bucket = SimulatedBucket(NumberedKeys(1_000_000, prefix="p"))
    backend = simulated_backend(bucket, "s3://b/p")
    (level,) = await backend.list_many(await targets_of(backend, "."), entries_max=5000, with_sizes=False)
    assert isinstance(level, Level)
    assert level.directories == [f"d{number:04d}" for number in range(1000)]
    assert bucket.counts == {"LIST": 1}


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size_bytes_max", "held"), [(MIB, 5), (10 * MIB, 3), (64 * MIB, 1)])
async def test_files_are_read_side_by_side_as_far_as_what_they_may_have_can_be_held(
    harness: S3Harness, proxy: FaultProxy, size_bytes_max: int, held: int
) -> None:
    through = S3Harness(replace(harness.server, endpoint_url=proxy.endpoint_url), harness.bucket, harness.prefix)
    backend = await through.open_with(concurrency_max=5)
    for number in range(7):
        harness.put(f"f{number}", b"%d" % number)
    files = await targets_of(backend, *(f"f{number}" for number in range(7)))
    proxy.counts()
    holds = [Hold() for _ in range(held)]
    proxy.inject("GET", *holds)
    fed: dict[int, bytes] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: backend.read_many(files, fed.__setitem__, size_bytes_max=size_bytes_max))
        await arrived(holds)
        await anyio.wait_all_tasks_blocked()
        assert proxy.counts() == {"GET": held}
        for hold in holds:
            hold.release.set()
    await backend.aclose()
    assert fed == {number: b"%d" % number for number in range(7)}
    assert proxy.counts() == {"GET": 7 - held}


async def test_of_a_file_that_is_too_large_only_the_head_of_the_answer_is_taken(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.put("large", bytes(3 * MIB))
    harness.put("small", b"x")
    taken: list[int] = []
    receive = AskedBody.receive

    async def counted(body: AskedBody, sink: Callable[[bytes], object]) -> None:
        taken.append(body.transfer_bytes)
        await receive(body, sink)

    monkeypatch.setattr("backends.s3._bodies.AskedBody.receive", counted)
    refusals = await proxied.read_many(await targets_of(proxied, "large", "small"), ignore, size_bytes_max=MIB)
    assert [one and one.code for one in refusals] == [ErrorCode.TOO_LARGE, None]
    assert taken == [1]
    assert proxy.counts() == {"GET": 2}


async def test_large_contents_are_fed_in_a_thread_and_one_at_a_time(proxied: S3Backend, harness: S3Harness) -> None:
    contents = [bytes([number]) * size for number, size in enumerate((100_000, 10, 100_000, 65_536, 65_537))]
    for number, data in enumerate(contents):
        harness.put(f"f{number}", data)
    files = await targets_of(proxied, *(f"f{number}" for number in range(5)))
    turn, go_on = threading.Lock(), threading.Event()
    fed: dict[int, bytes] = {}
    in_thread: set[int] = set()
    loop_thread = threading.get_ident()

    def sink(index: int, data: bytes) -> None:
        assert turn.acquire(blocking=False)
        if threading.get_ident() != loop_thread:
            in_thread.add(index)
            assert go_on.wait(WAIT_S)
        fed[index] = data
        turn.release()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: proxied.read_many(files, sink, size_bytes_max=MIB))
        await anyio.wait_all_tasks_blocked()
        go_on.set()
    assert [fed[index] for index in range(5)] == contents
    assert in_thread == {0, 2, 4}


@pytest.mark.parametrize("size_bytes", [10, 100_000])
async def test_an_error_of_the_sink_is_no_refusal_of_a_file(
    proxied: S3Backend, harness: S3Harness, size_bytes: int
) -> None:
    for number in range(3):
        harness.put(f"f{number}", bytes(size_bytes))
    fed: list[int] = []

    def sink(index: int, _: bytes) -> None:
        fed.append(index)
        raise NotFound("the sink's own", path="x", operation="read")

    with pytest.raises(NotFound, match="the sink's own"):
        await proxied.read_many(await targets_of(proxied, "f0", "f1", "f2"), sink, size_bytes_max=MIB)
    assert len(fed) == 1


async def test_a_file_that_is_refused_stands_at_its_place_and_a_passing_fault_is_outlived(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, short_pauses: None
) -> None:
    harness.put("f", b"x")
    harness.put("d/g", b"x")
    proxy.inject("GET", Answer(403, "AccessDenied"))
    (refused,) = await proxied.read_many(await targets_of(proxied, "f"), ignore, size_bytes_max=MIB)
    assert isinstance(refused, PermissionDenied)
    proxy.inject("GET", Drop(forward=True), Answer(503, "SlowDown"))
    files = await targets_of(proxied, "gone", "f", "d", ".", "f/below")
    refusals = await proxied.read_many(files, ignore, size_bytes_max=MIB)
    assert [one and one.code for one in refusals] == [
        ErrorCode.NOT_FOUND,
        None,
        ErrorCode.NOT_REGULAR_FILE,
        ErrorCode.NOT_REGULAR_FILE,
        ErrorCode.NOT_FOUND,
    ]


async def test_a_store_that_cannot_be_asked_ends_all_reads(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, short_pauses: None
) -> None:
    harness.put("f", b"x")
    proxy.inject("GET", *[Answer(503, "SlowDown")] * 9)
    with pytest.raises(Unavailable, match="fewer requests"):
        await proxied.read_many(await targets_of(proxied, *["f"] * 3), ignore, size_bytes_max=MIB)


# -- cancellation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["LIST", "GET", "flat"])
async def test_what_is_cancelled_ends_at_once_and_gives_its_slots_and_connections_back(
    harness: S3Harness, proxy: FaultProxy, method: str
) -> None:
    through = S3Harness(replace(harness.server, endpoint_url=proxy.endpoint_url), harness.bucket, harness.prefix)
    backend = await through.open_with(concurrency_max=2)  # and four connections
    for number in range(4):
        harness.put(f"d{number}/f", b"x")
    directories = await targets_of(backend, *(f"d{number}" for number in range(4)))
    files = await targets_of(backend, *(f"d{number}/f" for number in range(4)))
    done: list[int] = []
    cancelled_s: list[float] = []

    async def work() -> None:
        if method == "GET":
            await backend.read_many(files, ignore, size_bytes_max=MIB)
        elif method == "LIST":
            await backend.list_many(directories, entries_max=10, with_sizes=False)
        else:
            await backend.list_below(directories[0])
        done.append(1)

    for _ in range(5):
        holds = [Hold() for _ in range(1 if method == "flat" else 2)]
        proxy.inject("GET" if method == "GET" else "LIST", *holds)
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await arrived(holds)
            group.cancel_scope.cancel()
            cancelled_s.append(time.monotonic())
        assert time.monotonic() - cancelled_s[-1] < 15  # the requests would be held for 20
    assert not done
    await work()
    assert done
    await backend.aclose()
    gc.collect()  # an unclosed connection would warn here, and a warning fails the test
