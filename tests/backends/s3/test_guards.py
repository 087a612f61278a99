import secrets
import threading
from collections.abc import Mapping

import anyio
import pytest

from backends.s3 import S3Backend
from backends.s3._client import S3Client, Stored
from backends.s3._lru import Lru
from backends.s3._probe import Guards
from fs_core.errors import PermissionDenied, StaleVersion, Unavailable, Unsupported
from fs_core.paths import staged_name
from fs_core.protocol import Guard
from fs_core.types import Always, IfAbsent, IfVersion, NoteKind
from tests.support.s3_proxy import Answer, FaultProxy, Hold
from tests.support.s3_servers import S3Harness, S3Server, target_of
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


async def test_of_32_concurrent_creators_exactly_one_wins(seaweedfs_server: S3Server) -> None:
    harness = seaweedfs_server.harness()
    backends = [await harness.open() for _ in range(4)]
    await backends[0].probe()
    winners: list[int] = []
    refused: list[int] = []

    async def create(number: int) -> None:
        backend = backends[number % len(backends)]
        try:
            await backend.write(await target_of(backend, "f"), str(number).encode(), condition=IfAbsent())
            winners.append(number)
        except StaleVersion:
            refused.append(number)

    async with anyio.create_task_group() as group:
        for number in range(32):
            group.start_soon(create, number)
    for backend in backends:
        await backend.aclose()
    assert len(winners) == 1
    assert len(refused) == 31
    assert harness.get("f") == str(winners[0]).encode()


async def test_counter_of_8_tasks_ends_exact(seaweedfs_server: S3Server) -> None:
    harness = seaweedfs_server.harness()
    harness.put("counter", b"0")
    backends = [await harness.open() for _ in range(2)]

    async def count(backend: S3Backend) -> None:
        target = await target_of(backend, "counter")
        for _ in range(25):
            while True:
                snapshot = await backend.read(target)
                try:
                    await backend.write(
                        target, str(int(snapshot.data) + 1).encode(), condition=IfVersion(snapshot.version)
                    )
                except StaleVersion:
                    continue
                break

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(count, backends[number % 2])
    for backend in backends:
        await backend.aclose()
    assert harness.get("counter") == b"200"


async def test_always_under_contention_keeps_created_exact(seaweedfs_server: S3Server) -> None:
    harness = seaweedfs_server.harness()
    backend = await harness.open()
    created: list[bool] = []

    async def write(number: int) -> None:
        receipt = await backend.write(await target_of(backend, "f"), str(number).encode(), condition=Always())
        created.append(receipt.created)

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(write, number)
    await backend.aclose()
    assert sorted(created) == [False] * 11 + [True]


async def test_probe_finds_native_guards_and_leaves_nothing(proxied: S3Backend, harness: S3Harness) -> None:
    report = await proxied.probe()
    assert all(check.passed for check in report.checks)
    assert len(report.checks) == 4
    assert (report.guards.create, report.guards.replace) == (Guard.NATIVE, Guard.NATIVE)
    assert report.is_cleaned_up
    assert report.guards.is_etag_quoted
    assert harness.names() == []


def forget_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has found out about stores."""
    monkeypatch.setattr("backends.s3.backend.known_guards", Lru[tuple[str, str], Guards](entries_max=4))


async def test_probe_runs_once_before_the_first_write(
    harness: S3Harness, proxied: S3Backend, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_guards(monkeypatch)
    assert proxied.capabilities.create is Guard.NATIVE
    await proxied.write(await target_of(proxied, "f"), b"", condition=IfAbsent())
    assert proxy.counts() == {"PUT": 5 + 1, "DELETE": 1, "LIST": 1 + 1}
    await proxied.write(await target_of(proxied, "g"), b"", condition=IfAbsent())
    assert proxy.counts() == {"PUT": 1, "LIST": 1}
    assert harness.names() == ["f", "g"]


async def test_store_that_refuses_quoted_etags_is_served_unquoted(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", b"one")
    # Creates twice, plain put, wrong and right in quotes; the store below answers the rest.
    refusal = Answer(412, "PreconditionFailed")
    proxy.inject("PUT", Answer(200, headers={"ETag": '"x"'}), refusal, Answer(200, headers={"ETag": '"x"'}), refusal)
    proxy.inject("PUT", refusal)
    proxy.inject("PUT", Answer(200, headers={"ETag": '"y"'}), refusal, Answer(200, headers={"ETag": '"z"'}))
    report = await proxied.probe()
    assert [check.passed for check in report.checks] == [True, True, True, False, True, True]
    assert not report.guards.is_etag_quoted
    assert report.guards.if_match("e") == "e"
    assert report.guards.replace is Guard.NATIVE


async def test_probe_that_cannot_ask_says_so_and_is_not_remembered(
    proxied: S3Backend, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_guards(monkeypatch)
    proxy.inject("PUT", Answer(403, "AccessDenied"))
    with pytest.raises(PermissionDenied):
        await proxied.probe()
    proxy.inject("PUT", Answer(503, "SlowDown"))
    with pytest.raises(Unavailable):
        await proxied.write(await target_of(proxied, "f"), b"", condition=IfAbsent())
    proxy.inject("DELETE", Answer(403, "AccessDenied"))
    assert not (await proxied.probe()).is_cleaned_up


@pytest.mark.parametrize("place", [0, 4], ids=["create", "replace"])
async def test_request_that_was_sent_twice_condemns_no_store(proxied: S3Backend, proxy: FaultProxy, place: int) -> None:
    refusal_of_the_copy = Answer(412, "PreconditionFailed", forward=True)
    as_they_are = [Hold(release=released()) for _ in range(place)]
    proxy.inject("PUT", *as_they_are, refusal_of_the_copy)
    report = await proxied.probe()
    assert (report.guards.create, report.guards.replace) == (Guard.NATIVE, Guard.NATIVE)
    assert report.is_cleaned_up


async def test_conflict_during_a_probe_is_no_proof_that_a_condition_is_honoured(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    proxy.inject("PUT", Hold(release=released()), Answer(409, "ConditionalRequestConflict"))
    with pytest.raises(Unavailable):
        await proxied.probe()
    assert harness.names() == []


async def test_scratch_object_of_a_dead_process_is_removed_by_a_later_probe_and_a_recent_one_is_not(
    proxied: S3Backend, harness: S3Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftover = staged_name("0" * 16)
    harness.put(leftover, b"")
    await proxied.probe()
    assert harness.names() == [leftover]
    monkeypatch.setattr("backends.s3._probe._SCRATCH_REQUESTS_MAX", 0)
    with anyio.fail_after(WAIT_S):
        while harness.names():  # the store's clock may tick in seconds
            await proxied.probe()
    harness.put("kept", b"")
    await proxied.probe()
    assert harness.names() == ["kept"]


def released() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


async def test_probe_that_is_cancelled_removes_its_scratch_object(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    hold = Hold()
    proxy.inject("PUT", hold)
    async with anyio.create_task_group() as group:
        group.start_soon(proxied.probe)
        await hold.has_arrived()
        assert len(harness.names()) == 1
        group.cancel_scope.cancel()
        hold.release.set()
    assert harness.names() == []


async def test_store_that_ignores_conditions_is_refused(rclone_server: S3Server) -> None:
    harness = rclone_server.harness()
    harness.put("f", b"theirs")
    backend = await harness.open()
    try:
        target = await target_of(backend, "f")
        version = (await backend.read(target)).version
        for path, condition in (("f", IfVersion(version)), ("f", IfAbsent()), ("new", IfAbsent())):
            with pytest.raises(Unsupported, match="allow_unsafe_writes"):
                await backend.write(await target_of(backend, path), b"mine", condition=condition)
        assert backend.capabilities.create is Guard.NONE
        report = await backend.probe()
        assert [check.passed for check in report.checks if "refused" in check.name] == [False, False, False]
        assert report.is_cleaned_up
    finally:
        await backend.aclose()
    assert harness.get("f") == b"theirs"
    assert harness.names() == ["f"]


async def test_store_that_ignores_conditions_can_be_allowed_and_every_receipt_says_so(rclone_server: S3Server) -> None:
    harness = rclone_server.harness()
    backend = await harness.open_with(allow_unsafe_writes=True)
    try:
        target = await target_of(backend, "f")
        receipts = [await backend.write(target, b"one", condition=IfAbsent())]
        receipts.append(await backend.write(target, b"two", condition=IfVersion(receipts[0].version)))
        receipts.append(await backend.write(target, b"three", condition=Always()))
        assert [[note.kind for note in receipt.notes] for receipt in receipts] == [[NoteKind.UNSAFE_WRITE]] * 3
        assert [receipt.created for receipt in receipts] == [True, False, False]
        harness.put("f", b"theirs " + secrets.token_bytes(4))
        with pytest.raises(StaleVersion):
            await backend.write(target, b"mine", condition=IfVersion(receipts[2].version))
        with pytest.raises(StaleVersion):
            await backend.write(target, b"mine", condition=IfAbsent())
    finally:
        await backend.aclose()


async def test_a_request_of_a_probe_that_is_cancelled_has_ended_before_its_object_is_removed(
    backend: S3Backend, harness: S3Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, delete = S3Client.put, S3Client.delete
    is_sent, goes_on = anyio.Event(), anyio.Event()
    steps: list[str] = []

    async def slow_put(client: S3Client, key: str, data: bytes, *, parameters: Mapping[str, object]) -> Stored:
        steps.append("put")
        is_sent.set()
        await goes_on.wait()
        stored = await put(client, key, data, parameters=parameters)
        steps.append("is there")
        return stored

    async def told_delete(client: S3Client, key: str, *, version_id: str = "") -> None:
        steps.append("delete")
        await delete(client, key, version_id=version_id)

    monkeypatch.setattr(S3Client, "put", slow_put)
    monkeypatch.setattr(S3Client, "delete", told_delete)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(backend.probe)
        await is_sent.wait()
        tasks.cancel_scope.cancel()
        goes_on.set()
    assert steps == ["put", "is there", "delete"]
    assert harness.names() == []
