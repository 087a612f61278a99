"""What becomes of a write whose connection breaks, whose server freezes, or whose caller gives up."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import ClassVar, Final

import anyio
import asyncssh
import pytest
from asyncssh import SFTPServer

from backends.sftp import SftpBackend, _pool
from backends.sftp._client import SftpClient
from backends.sftp._connection import Connection
from fs_core.errors import OutcomeUnknown, StaleVersion, Unavailable
from fs_core.paths import is_staged_name
from fs_core.types import Always, IfAbsent, IfVersion, WriteCondition, WriteReceipt
from tests.support.nth_await import Steps, cancelled_at_step
from tests.support.sftp_faults import SOON_S, FaultyServer, be_patient, impatient
from tests.support.sftp_servers import SftpHarness, SftpServer, target_of
from tests.support.tcp_proxy import tcp_proxy
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

Step = Callable[[SFTPServer], None]

_FLIGHTS: Final = Steps(SftpClient, ("_transmit",), is_after=True)


def _cut(server: SFTPServer) -> None:
    server.connection.abort()


class _Breaking(SFTPServer):
    """Does something right before, or right after, the request that publishes."""

    before: Step | None = None
    after: Step | None = None

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        self._publish(newpath, lambda: SFTPServer.posix_rename(self, oldpath, newpath))

    def link(self, oldpath: bytes, newpath: bytes) -> None:
        self._publish(newpath, lambda: SFTPServer.link(self, oldpath, newpath))

    def _publish(self, newpath: bytes, request: Callable[[], object]) -> None:
        cls = type(self)
        if newpath.endswith(b".lock"):
            request()
            return
        before, cls.before = cls.before, None
        after, cls.after = cls.after, None
        if before is not None:
            before(self)
            raise asyncssh.SFTPConnectionLost("cut")
        request()
        if after is not None:
            after(self)


@pytest.fixture
def breaking() -> type[_Breaking]:
    class Handler(_Breaking):
        pass

    return Handler


async def _write(harness: SftpHarness, backend: SftpBackend, kind: str) -> WriteReceipt:
    """Create or replace `d/a`."""
    target = await target_of(backend, "d/a")
    condition: WriteCondition = IfAbsent()
    if kind == "replace":
        harness.put("d/a", b"old")
        condition = IfVersion((await backend.read(target)).version)
    return await backend.write(target, b"new", condition=condition)


@pytest.mark.parametrize("kind", ["create", "replace"])
async def test_a_lost_answer_to_a_publication_that_happened_is_a_success(
    faulty_server: FaultyServer, breaking: type[_Breaking], kind: str
) -> None:
    breaking.after = _cut
    with faulty_server(breaking) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        receipt = await _write(harness, backend, kind)
        target = await target_of(backend, "d/a")
        again = await backend.write(target, b"next", condition=IfVersion(receipt.version))
        await backend.aclose()
    assert receipt.created == (kind == "create")
    assert not again.created
    assert harness.get("d/a") == b"next"
    assert harness.names("d") == ["a"]


@pytest.mark.parametrize("kind", ["create", "replace"])
async def test_a_connection_lost_before_the_publication_is_unavailable_and_changes_nothing(
    faulty_server: FaultyServer, breaking: type[_Breaking], kind: str
) -> None:
    breaking.before = _cut
    with faulty_server(breaking) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        with pytest.raises(Unavailable, match="nothing was written") as refused:
            await _write(harness, backend, kind)
        await backend.aclose()
    assert refused.value.retryable
    assert harness.get("d/a") == (None if kind == "create" else b"old")
    assert harness.names() == ([] if kind == "create" else ["d"])
    assert harness.names("d") == ([] if kind == "create" else ["a"])


async def test_a_lost_answer_is_a_success_even_if_another_client_has_replaced_the_file_since(
    faulty_server: FaultyServer, breaking: type[_Breaking]
) -> None:
    def replace_and_cut(server: SFTPServer) -> None:
        harness.put("d/a", b"theirs")
        _cut(server)

    breaking.after = replace_and_cut
    with faulty_server(breaking) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        receipt = await _write(harness, backend, "replace")
        with pytest.raises(StaleVersion):
            await backend.write(await target_of(backend, "d/a"), b"x", condition=IfVersion(receipt.version))
        await backend.aclose()
    assert harness.get("d/a") == b"theirs"


async def test_a_creation_that_someone_may_have_replaced_since_is_unknown(
    faulty_server: FaultyServer, breaking: type[_Breaking]
) -> None:
    def replace_and_cut(server: SFTPServer) -> None:
        harness.put("d/a", b"theirs")
        _cut(server)

    breaking.after = replace_and_cut
    with faulty_server(breaking) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        with pytest.raises(OutcomeUnknown):
            await _write(harness, backend, "create")
        await backend.aclose()
    assert harness.get("d/a") == b"theirs"
    assert harness.names("d") == ["a"]


async def test_a_publication_whose_server_cannot_be_asked_is_unknown(
    faulty_server: FaultyServer, breaking: type[_Breaking]
) -> None:
    with faulty_server(breaking) as server, tcp_proxy(server.port) as proxy, ExitStack() as limits:
        harness = server.harness()
        backend = await harness.open_through(proxy.port)

        def fall_silent(_: SFTPServer) -> None:
            limits.enter_context(impatient(backend, timeout_s=0.5))
            proxy.freeze()
            proxy.cut()

        breaking.after = fall_silent
        started_s = time.monotonic()
        with pytest.raises(OutcomeUnknown) as refused:
            await _write(harness, backend, "replace")
        assert time.monotonic() - started_s < SOON_S
        assert "\n" not in str(refused.value)
        proxy.cut()
        await backend.aclose()
    assert harness.get("d/a") == b"new"


async def test_a_connection_that_rested_and_is_dead_is_replaced_before_a_write(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write is not repeated over another connection."""
    monkeypatch.setattr(_pool, "_CHECK_AFTER_IDLE_S", 0.0)
    monkeypatch.setattr(Connection, "is_alive", True)  # that it ended has not been seen yet
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        proxy.cut()
        await backend.write(target, b"new", condition=IfAbsent())
        await backend.aclose()
    assert sftp_harness.get("a") == b"new"
    assert proxy.accepted == 2


async def test_a_frozen_upload_ends_in_time_and_is_cleaned_when_the_server_is_back(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"old")
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        proxy.freeze()
        started_s = time.monotonic()
        with impatient(backend, timeout_s=0.5), pytest.raises(Unavailable):
            await backend.write(target, os.urandom(8 * 1024 * 1024), condition=Always())
        assert time.monotonic() - started_s < SOON_S
        proxy.thaw()
        await backend.aclose()
    assert sftp_harness.get("a") == b"old"


async def test_a_directory_whose_making_was_never_answered_is_not_left_behind(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)

    class Cutting(SFTPServer):
        cuts: ClassVar = [b"new", b"dir"]

        def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
            super().mkdir(path, attrs)
            if self.cuts and path.endswith(self.cuts[0]):
                self.cuts.pop(0)
                _cut(self)

    with faulty_server(Cutting) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        target = await target_of(backend, "new/dir/file")
        for left in (1, 0):
            with pytest.raises(Unavailable):
                await backend.write(target, b"x", condition=IfAbsent())
            assert len(Cutting.cuts) == left
            assert harness.names() == []
        await backend.write(target, b"x", condition=IfAbsent())
        await backend.aclose()
    assert harness.get("new/dir/file") == b"x"


@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.03, 0.06, 0.1, 0.2])
async def test_a_cancelled_upload_leaves_old_or_new_and_nothing_else(
    sftp_harness: SftpHarness, delay_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    sftp_harness.put("a", b"old")
    content = os.urandom(6 * 1024 * 1024)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    new = await target_of(backend, "new/dir/file")
    with anyio.fail_after(2 * SOON_S):
        for where, condition in ((target, Always()), (new, IfAbsent())):
            with anyio.move_on_after(delay_s):
                await backend.write(where, content, condition=condition)
    assert (await backend.read(target)).data in {b"old", content}
    await backend.aclose()
    assert sftp_harness.names() in (["a"], ["a", "new"])
    if sftp_harness.names() == ["a", "new"]:
        assert sftp_harness.get("new/dir/file") == content
        assert sftp_harness.names("new/dir") == ["file"]


@pytest.mark.parametrize("path", ["a", "new/dir/file"])
async def test_a_small_write_cancelled_in_any_flight_cleans_up_over_its_own_connection_and_keeps_it(
    sftp_harness: SftpHarness, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    sftp_harness.put("a", b"old")
    before = sftp_harness.get(path)
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)

        async def write() -> None:
            await backend.write(await target_of(backend, path), b"new", condition=Always())

        flights, was_reached = 1, True  # the first one resolves: a cancelled look costs the connection
        while was_reached:
            flights += 1
            ending = await cancelled_at_step(write, flights, steps=_FLIGHTS)
            was_reached = ending.was_reached
            assert sftp_harness.get(path) == (before if ending.was_cancelled else b"new")
            assert sftp_harness.names() == (["a"] if path == "a" or ending.was_cancelled else ["a", "new"])
            if not ending.was_cancelled:
                break
        await write()
        assert flights > 3
        assert proxy.accepted == 1
        await backend.aclose()


async def test_a_write_to_a_frozen_server_can_be_given_up_within_seconds(sftp_harness: SftpHarness) -> None:
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "new/file")
        proxy.freeze()
        started_s = time.monotonic()
        with anyio.move_on_after(0.05) as scope:
            await backend.write(target, b"new", condition=IfAbsent())
        assert scope.cancelled_caught
        assert time.monotonic() - started_s < SOON_S
        proxy.thaw()
        await backend.aclose()
    assert sftp_harness.names() == []


async def test_a_cancellation_after_the_publication_was_sent_reports_its_outcome(
    faulty_server: FaultyServer, breaking: type[_Breaking]
) -> None:
    publishing, go_on = threading.Event(), threading.Event()

    def wait(_: SFTPServer) -> None:
        publishing.set()
        go_on.wait(WAIT_S)

    breaking.after = wait
    receipts: list[WriteReceipt] = []
    with faulty_server(breaking) as server:
        harness = server.harness()
        backend = await harness.open_sftp()

        async def write() -> None:
            receipts.append(await _write(harness, backend, "replace"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.to_thread.run_sync(publishing.wait)
            tasks.cancel_scope.cancel()
            go_on.set()
        await backend.aclose()
    assert len(receipts) == 1
    assert harness.get("d/a") == b"new"
    assert harness.names("d") == ["a"]


async def test_a_connection_cut_at_any_moment_leaves_old_or_new_as_reported(
    sshd_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    harness = sshd_server.harness()
    content = os.urandom(1024 * 1024)
    transmit = SftpClient._transmit  # pyright: ignore[reportPrivateUsage] - nothing else tells what is on its way
    left: set[str] = set()
    last, was_cut = 0, True
    with tcp_proxy(sshd_server.port) as proxy:
        while was_cut:
            last += 1
            harness.put("a", b"old")
            backend = await harness.open_through(proxy.port)
            target = await target_of(backend, "a")
            sent = count(1)

            def cutting(client: SftpClient, data: bytes, *, sent: Iterator[int] = sent, last: int = last) -> None:
                transmit(client, data)
                if next(sent) == last:
                    proxy.cut()

            reason = None
            with monkeypatch.context() as patch:
                patch.setattr(SftpClient, "_transmit", cutting)
                try:
                    await backend.write(target, content, condition=Always())
                except Unavailable as error:
                    reason = error.reason
            await backend.aclose()
            assert harness.get("a") == (content if reason is None else b"old"), (last, reason)
            left.update(harness.names())
            was_cut = next(sent) > last
    assert last > 8
    # What was on its way may reach the server behind the removal; it is hidden, and a later write takes it away.
    left.remove("a")
    assert all(map(is_staged_name, left))
    assert len(left) <= 2, "only a new directory and the lock are made by name"
