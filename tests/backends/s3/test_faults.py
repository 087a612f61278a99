import asyncio
import time

import anyio
import anyio.lowlevel
import pytest

from backends.s3 import S3Backend
from backends.s3._errors import Failure, RequestFailed
from fs_core.errors import FsError, OutcomeUnknown, StaleVersion, Unavailable
from fs_core.types import Always, IfAbsent, IfVersion, WriteReceipt
from tests.support.s3_limits import TimeLimits
from tests.support.s3_proxy import Answer, Bodiless, Drop, FaultProxy, Hold
from tests.support.s3_servers import S3Harness, target_of

pytestmark = pytest.mark.anyio

CONFLICT = Answer(409, "ConditionalRequestConflict")


async def test_lost_answer_to_a_create_is_a_success(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    proxy.inject("PUT", Drop(forward=True))
    target = await target_of(proxied, "f")
    receipt = await proxied.write(target, b"mine", condition=IfAbsent())
    assert proxy.counts() == {"LIST": 1, "PUT": 1, "HEAD": 1}
    assert receipt.created
    assert harness.get("f") == b"mine"
    assert (await proxied.read(target)).version == receipt.version


async def test_lost_answer_to_a_replace_is_a_success(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("f", b"one")
    target = await target_of(proxied, "f")
    version = (await proxied.read(target)).version
    proxy.inject("PUT", Drop(forward=True))
    receipt = await proxied.write(target, b"two", condition=IfVersion(version))
    assert proxy.counts() == {"GET": 1, "PUT": 1, "HEAD": 1}
    await proxied.write(target, b"three", condition=IfVersion(receipt.version))
    assert harness.get("f") == b"three"


async def test_an_answer_that_begins_in_the_moment_of_the_time_limit_is_a_timeout(harness: S3Harness) -> None:
    backend = await harness.open()

    async def send(scope: anyio.CancelScope) -> None:
        scope.cancel()  # what the limit does, while the answer is on its way to the one who waits
        scope.deadline += 60
        await anyio.sleep_forever()

    try:
        with pytest.raises(RequestFailed) as failed:
            await backend._client._request(send, attempts=3)  # pyright: ignore[reportPrivateUsage] - no server can time it
    finally:
        await backend.aclose()
    assert failed.value.failure is Failure.TIMEOUT


@pytest.mark.parametrize("answer", [(412, "PreconditionFailed"), (409, "ConditionalRequestConflict")])
async def test_refusal_of_a_copy_of_our_own_request_is_a_success(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, answer: tuple[int, str]
) -> None:
    """A proxy that sends again, as aiohttp would, gets a refusal for the copy."""
    target = await target_of(proxied, "f")
    refusal = Answer(*answer, forward=True)
    proxy.inject("PUT", refusal)
    created = await proxied.write(target, b"mine", condition=IfAbsent())
    assert created.created
    proxy.inject("PUT", refusal)
    replaced = await proxied.write(target, b"mine too", condition=IfVersion(created.version))
    assert proxy.counts() == {"LIST": 1, "PUT": 2, "HEAD": 2}
    assert harness.get("f") == b"mine too"
    with pytest.raises(StaleVersion):
        await proxied.write(target, b"other", condition=IfAbsent())
    assert (await proxied.read(target)).version == replaced.version


async def test_request_that_was_lost_is_sent_again(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    proxy.inject("PUT", Drop(forward=False))
    await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert proxy.counts() == {"LIST": 1, "PUT": 2, "HEAD": 1}
    assert harness.get("f") == b"mine"


@pytest.mark.parametrize(
    "then", [(Drop(forward=False), Drop(forward=False)), (Answer(403, "ExpiredToken"),), (Answer(503), Answer(503))]
)
async def test_what_may_still_be_written_after_its_connection_broke_has_an_unknown_outcome(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, then: tuple[Answer | Drop, ...]
) -> None:
    proxy.inject("PUT", Drop(forward=False), *then)
    with pytest.raises(OutcomeUnknown, match="the connection broke") as caught:
        await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert not caught.value.retryable
    sent = 1 + len(then)
    assert proxy.counts() == {"LIST": 1, "PUT": sent, "HEAD": sent}
    assert harness.names() == []


async def test_gateway_that_lost_its_store_may_have_written(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    proxy.inject("PUT", *[Answer(502)] * 3)
    with pytest.raises(OutcomeUnknown):
        await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert harness.names() == []


async def test_lost_request_and_a_change_by_someone_else_is_stale(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    proxy.inject("PUT", Drop(forward=False, then=lambda: harness.put("f", b"theirs")))
    with pytest.raises(StaleVersion):
        await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert harness.get("f") == b"theirs"


async def test_write_that_was_replaced_before_we_looked_is_a_success(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    """Another client of this library reads our bytes and writes on; its lineage names our write."""
    target = await target_of(proxied, "f")

    def replaced_by_another_client() -> None:
        async def act() -> None:
            other = await harness.open()
            version = (await other.read(target)).version
            await other.write(target, b"theirs on mine", condition=IfVersion(version))
            await other.aclose()

        asyncio.run(act())

    proxy.inject("PUT", Drop(forward=True, then=replaced_by_another_client))
    receipt = await proxied.write(target, b"mine", condition=IfAbsent())
    assert receipt.created
    assert harness.get("f") == b"theirs on mine"
    with pytest.raises(StaleVersion):
        await proxied.write(target, b"mine again", condition=IfVersion(receipt.version))


@pytest.mark.parametrize(
    ("others", "is_applied", "expected"),
    [(7, True, WriteReceipt), (7, False, StaleVersion), (8, True, OutcomeUnknown), (8, False, OutcomeUnknown)],
)
async def test_lost_answer_and_more_writes_since_than_are_remembered_is_unknown(
    proxied: S3Backend,
    proxy: FaultProxy,
    harness: S3Harness,
    *,
    others: int,
    is_applied: bool,
    expected: type[WriteReceipt | FsError],
) -> None:
    target = await target_of(proxied, "f")
    first = await proxied.write(target, b"first", condition=IfAbsent())

    def written_by_another_client() -> None:
        async def act() -> None:
            other = await harness.open()
            version = (await other.read(target)).version
            for number in range(others):
                version = (await other.write(target, b"%d" % number, condition=IfVersion(version))).version
            await other.aclose()

        asyncio.run(act())

    proxy.inject("PUT", Drop(forward=is_applied, then=written_by_another_client))
    outcome: WriteReceipt | FsError
    try:
        outcome = await proxied.write(target, b"mine", condition=IfVersion(first.version))
    except FsError as error:
        outcome = error
    assert isinstance(outcome, expected)


async def test_lost_answer_and_a_store_that_cannot_be_asked_is_unknown(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    proxy.inject("PUT", Drop(forward=True))
    proxy.inject("HEAD", *[Answer(503)] * 3)
    with pytest.raises(OutcomeUnknown, match="read the file") as caught:
        await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert not caught.value.retryable
    assert harness.get("f") == b"mine"


@pytest.mark.parametrize("forward_first", [True, False])
async def test_answer_that_never_comes_is_settled_by_a_look_within_the_time_limit(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, limits: TimeLimits, forward_first: bool
) -> None:
    hold = Hold(forward_first=forward_first)
    proxy.inject("PUT", hold)
    target = await target_of(proxied, "f")
    outcomes: list[WriteReceipt | FsError] = []
    started_s = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(limits.run_out_at, hold)
        try:
            outcomes.append(await proxied.write(target, b"mine", condition=IfAbsent()))
        except FsError as error:
            outcomes.append(error)
    assert time.monotonic() - started_s < 15  # without the limit it is over when the socket gives up, after 20
    [outcome] = outcomes
    assert proxy.counts() == {"LIST": 1, "PUT": 1, "HEAD": 1}
    if forward_first:
        assert isinstance(outcome, WriteReceipt)
        assert harness.get("f") == b"mine"
    else:
        # The request may still be on its way.
        assert isinstance(outcome, OutcomeUnknown)
        assert "read the file" in outcome.reason
        assert harness.get("f") is None


async def test_conflict_is_evaluated_again_and_bounded(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    target = await target_of(proxied, "f")
    proxy.inject("PUT", CONFLICT)
    receipt = await proxied.write(target, b"one", condition=IfAbsent())
    assert proxy.counts() == {"LIST": 1, "PUT": 2, "HEAD": 1}
    proxy.inject("PUT", *[CONFLICT] * 3)
    with pytest.raises(Unavailable) as caught:
        await proxied.write(target, b"two", condition=IfVersion(receipt.version))
    assert caught.value.retryable
    assert proxy.counts() == {"PUT": 3, "HEAD": 3}
    harness.put("g", b"theirs")
    proxy.inject("PUT", CONFLICT)
    with pytest.raises(StaleVersion):
        await proxied.write(await target_of(proxied, "g"), b"mine", condition=IfAbsent())


async def test_server_error_is_settled_by_a_look(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    proxy.inject("PUT", Answer(500, "InternalError"))
    await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
    assert harness.get("f") == b"mine"
    proxy.inject("PUT", *[Answer(503, "SlowDown")] * 3)
    with pytest.raises(Unavailable):
        await proxied.write(await target_of(proxied, "g"), b"mine", condition=IfAbsent())
    assert harness.names() == ["f"]


async def test_unguarded_write_is_settled_too(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("f", b"one")
    proxy.inject("PUT", Drop(forward=True))
    receipt = await proxied.write(await target_of(proxied, "f"), b"two", condition=Always())
    assert not receipt.created
    assert proxy.counts() == {"HEAD": 2, "PUT": 1}


async def test_condition_refused_for_ever_is_bounded(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("f", b"one")
    target = await target_of(proxied, "f")
    version = (await proxied.read(target)).version
    proxy.counts()
    proxy.inject("PUT", *[Answer(412, "PreconditionFailed")] * 4)
    with pytest.raises(StaleVersion, match="changed meanwhile"):
        await proxied.write(target, b"two", condition=IfVersion(version))
    assert proxy.counts() == {"PUT": 4, "HEAD": 4}


@pytest.mark.parametrize("native", [True, False], ids=["task.cancel", "cancel scope"])
async def test_cancelled_while_the_put_is_on_its_way_reports_the_outcome(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, native: bool
) -> None:
    hold = Hold()
    proxy.inject("PUT", hold)
    target = await target_of(proxied, "f")
    receipts: list[WriteReceipt] = []
    later: list[str] = []
    scope = anyio.CancelScope()

    async def work() -> None:
        with scope:
            receipts.append(await proxied.write(target, b"mine", condition=IfAbsent()))
            await anyio.lowlevel.checkpoint()
            later.append("not cancelled")

    task = asyncio.ensure_future(work())
    await hold.has_arrived()
    if native:
        task.cancel()
    else:
        scope.cancel()
    done, _ = await asyncio.wait([task], timeout=0.1)
    assert not done
    hold.release.set()
    await asyncio.wait([task])
    assert task.cancelled() is native
    assert len(receipts) == 1
    assert later == []
    assert harness.get("f") == b"mine"


async def test_cancelled_before_the_put_leaves_nothing(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    hold = Hold()
    proxy.inject("LIST", hold)
    target = await target_of(proxied, "f")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: proxied.write(target, b"mine", condition=IfAbsent()))
        await hold.has_arrived()
        group.cancel_scope.cancel()
    assert "PUT" not in proxy.counts()
    assert harness.names() == []
    await proxied.write(target, b"mine", condition=IfAbsent())
    assert harness.get("f") == b"mine"


@pytest.mark.parametrize("server", ["seaweedfs_server"], indirect=True)
@pytest.mark.parametrize("size_bytes", [44, 200_000])
async def test_a_put_that_breaks_off_before_its_body_makes_no_empty_object(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, size_bytes: int
) -> None:
    """Without a checksum SeaweedFS stores one, with our token in its metadata."""
    data = b"x" * size_bytes
    proxy.inject("PUT", Bodiless())
    created = await proxied.write(await target_of(proxied, "f"), data, condition=IfAbsent())
    assert harness.get("f") == data
    proxy.inject("PUT", Bodiless())
    await proxied.write(await target_of(proxied, "f"), data + b"y", condition=IfVersion(created.version))
    assert harness.get("f") == data + b"y"


async def test_an_object_of_ours_that_is_not_whole_is_no_success(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    def tear() -> None:
        harness.put_with("f", b"mi", Metadata=harness.head("f")["Metadata"])

    proxy.inject("PUT", Drop(forward=True, then=tear))
    with pytest.raises(OutcomeUnknown, match="the store kept 2 of 4 bytes"):
        await proxied.write(await target_of(proxied, "f"), b"mine", condition=IfAbsent())
