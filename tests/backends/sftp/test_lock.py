"""The lock of a target: dead owners, slow owners, living owners."""

import errno
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import anyio
import pytest
from asyncssh import SFTPName, SFTPServer

from backends.sftp import _lock, _publish
from backends.sftp._client import SftpClient
from backends.sftp._lock import HeldLock, lock_box
from backends.sftp._resolve import split
from fs_core.errors import PermissionDenied, StaleVersion, Unavailable
from fs_core.paths import staged_name
from fs_core.types import Always, IfVersion, WriteReceipt
from tests.support.sftp_faults import SOON_S, FaultyServer, be_patient
from tests.support.sftp_servers import SftpHarness, target_of
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

_OWNER = staged_name("0123456789abcdef")
_POLL_MAX_S = 0.25
"""How long a waiter pauses at most."""


def _lock_up(harness: SftpHarness, *names: str) -> str:
    """Lock `a` as another client would, and return the lock's name."""
    harness.put("a", b"old")
    name = lock_box(split(str(harness.directory / "a"))).rpartition("/")[2]
    harness.mkdir(name)
    for inside in names:
        harness.put(f"{name}/{inside}", b"unpublished")
    return name


@dataclass
class _Clock:
    """The time that clients see while they wait for a lock. It passes as they pause, with what happens meanwhile."""

    now_s: float = 1000.0
    meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, delay_s: float) -> None:
        self.now_s += delay_s
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """Leases that run out when they should, however long the machine takes."""
    clock = _Clock()
    monkeypatch.setattr(_lock, "time", clock)
    monkeypatch.setattr(_publish, "time", clock)
    return clock


async def test_the_lock_of_a_dead_owner_is_broken_after_its_lease_and_not_before(
    sftp_harness: SftpHarness, clock: _Clock
) -> None:
    name = _lock_up(sftp_harness, _OWNER)
    locked: list[bool] = []
    clock.meanwhile = lambda: locked.append(sftp_harness.names(name) == [_OWNER])
    backend = await sftp_harness.open_sftp(lock_lease_s=5.0)
    started_s = clock.now_s
    await backend.write(await target_of(backend, "a"), b"new", condition=Always())
    waited_s = clock.now_s - started_s
    await backend.aclose()
    assert 5.0 <= waited_s < 5.0 + _POLL_MAX_S
    assert all(locked)
    assert sftp_harness.get("a") == b"new"
    assert sftp_harness.names() == ["a"]


async def test_spellings_that_may_be_one_file_share_a_lock() -> None:
    assert lock_box(("d", "Straße.txt")) == lock_box(("d", "STRASSE.TXT"))
    assert lock_box(("d", "e\u0301")) == lock_box(("d", "\u00e9"))
    assert lock_box(("d", "a")) != lock_box(("d", "b"))
    assert lock_box(("d", "a")) != lock_box(("D", "a"))


async def test_a_lock_left_empty_is_taken_at_once(sftp_harness: SftpHarness) -> None:
    _lock_up(sftp_harness)
    backend = await sftp_harness.open_sftp(lock_lease_s=60)
    await backend.write(await target_of(backend, "a"), b"new", condition=Always())
    await backend.aclose()
    assert sftp_harness.get("a") == b"new"
    assert sftp_harness.names() == ["a"]


async def test_an_owner_that_shows_life_is_never_robbed(sftp_harness: SftpHarness, clock: _Clock) -> None:
    name = _lock_up(sftp_harness, staged_name(f"{0:016x}"))
    box = sftp_harness.directory / name
    signs = count(1)

    def live() -> None:
        (inside,) = box.iterdir()
        inside.rename(box / staged_name(f"{next(signs):016x}"))

    clock.meanwhile = live
    backend = await sftp_harness.open_sftp(lock_lease_s=1.0)
    started_s = clock.now_s
    with pytest.raises(Unavailable, match=name) as refused:
        await backend.write(await target_of(backend, "a"), b"new", condition=Always())
    waited_s = clock.now_s - started_s
    await backend.aclose()
    assert refused.value.retryable
    assert 4.0 <= waited_s < 4.0 + _POLL_MAX_S
    assert sftp_harness.get("a") == b"old"
    assert len(list(box.iterdir())) == 1
    assert sftp_harness.names() == [name, "a"]


@contextmanager
def _slow_publisher(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[threading.Event, threading.Event]]:
    """Hold the first owner right before it publishes, until it is told to go on."""
    arrived, go_on = threading.Event(), threading.Event()
    publish = HeldLock.publish

    def slow(held: HeldLock, client: SftpClient, target: str) -> None:
        if not arrived.is_set():
            arrived.set()
            go_on.wait(WAIT_S)
        publish(held, client, target)

    monkeypatch.setattr(HeldLock, "publish", slow)
    yield arrived, go_on
    go_on.set()


async def test_a_slow_owner_whose_lock_was_broken_cannot_publish(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch, clock: _Clock
) -> None:
    sftp_harness.put("a", b"0")
    slow, fast = await sftp_harness.open_sftp(lock_lease_s=1.0), await sftp_harness.open_sftp(lock_lease_s=1.0)
    target = await target_of(slow, "a")
    seen = (await slow.read(target)).version
    refusals: list[Unavailable] = []
    receipts: list[WriteReceipt] = []

    async def write_slowly() -> None:
        with pytest.raises(Unavailable) as refused:
            await slow.write(target, b"slow", condition=IfVersion(seen))
        refusals.append(refused.value)

    with _slow_publisher(monkeypatch) as (arrived, go_on):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_slowly)
            await anyio.to_thread.run_sync(arrived.wait)
            started_s = clock.now_s
            receipts.append(await fast.write(target, b"fast", condition=IfVersion(seen)))
            assert clock.now_s - started_s >= 1.0
            go_on.set()
    (refusal,) = refusals
    assert refusal.retryable
    assert "nothing was written" in refusal.reason
    assert sftp_harness.get("a") == b"fast"
    assert sftp_harness.names() == ["a"]
    with pytest.raises(StaleVersion):
        await slow.write(target, b"slow", condition=IfVersion(seen))
    await fast.write(target, b"again", condition=IfVersion(receipts[0].version))
    await slow.aclose()
    await fast.aclose()


async def test_a_slow_owner_does_not_take_away_its_successors_lock(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tidying up after a lost lock removes things by the owner's own name only."""
    sftp_harness.put("a", b"0")
    slow = await sftp_harness.open_sftp()
    target = await target_of(slow, "a")
    name = lock_box(split(target.key)).rpartition("/")[2]
    box = sftp_harness.directory / name

    async def write_slowly() -> None:
        with pytest.raises(Unavailable):
            await slow.write(target, b"slow", condition=Always())

    with _slow_publisher(monkeypatch) as (arrived, go_on):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_slowly)
            await anyio.to_thread.run_sync(arrived.wait)
            for file in box.iterdir():
                file.unlink()
            (box / _OWNER).write_bytes(b"the successor's upload")
            go_on.set()
    await slow.aclose()
    assert sftp_harness.get("a") == b"0"
    assert sftp_harness.get(f"{name}/{_OWNER}") == b"the successor's upload"


async def test_an_owner_renews_while_it_compares_a_large_file(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch, clock: _Clock
) -> None:
    content = bytes(range(256)) * 4096 * 10
    sftp_harness.put("a", content)
    backend = await sftp_harness.open_sftp(lock_lease_s=3.0)
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    name = lock_box(split(target.key)).rpartition("/")[2]
    owners: list[list[str]] = []
    renew = HeldLock.renew_if_due

    def renewing(held: HeldLock, client: SftpClient) -> None:
        clock.now_s += 0.5
        renew(held, client)
        owners.append(sftp_harness.names(name))

    monkeypatch.setattr(HeldLock, "renew_if_due", renewing)
    await backend.write(target, b"new", condition=IfVersion(seen.version))
    await backend.aclose()
    assert all(len(owner) == 1 for owner in owners)
    assert len({owner for (owner,) in owners}) > len(owners) // 3
    assert len(owners) > 10, "the file was compared in less time than a lease"
    assert sftp_harness.get("a") == b"new"
    assert sftp_harness.names() == ["a"]


async def test_waiting_for_a_lock_can_be_given_up_at_once(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch, clock: _Clock
) -> None:
    be_patient(monkeypatch)
    name = _lock_up(sftp_harness, _OWNER)
    waiting = threading.Event()
    clock.meanwhile = waiting.set
    backend = await sftp_harness.open_sftp(lock_lease_s=1_000_000)
    target = await target_of(backend, "a")

    async def write() -> None:
        await backend.write(target, b"new", condition=Always())

    with anyio.fail_after(SOON_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.to_thread.run_sync(waiting.wait)
            tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancelled_caught
    await backend.aclose()
    assert sftp_harness.names() == [name, "a"]
    assert sftp_harness.names(name) == [_OWNER]


class _OfAnotherUser(SFTPServer):
    """Keeps this user's hands off the locks of another one."""

    def remove(self, path: bytes) -> None:
        if b".lock/" in path:
            raise PermissionError(errno.EACCES, "Permission denied")
        super().remove(path)


class _InAStickyDirectory(SFTPServer):
    """Lets nobody rename over another user's directory, nor remove it."""

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        if newpath.endswith(b".lock"):
            raise PermissionError(errno.EACCES, "Permission denied")
        super().posix_rename(oldpath, newpath)

    def rmdir(self, path: bytes) -> None:
        if path.endswith(b".lock"):
            raise PermissionError(errno.EACCES, "Permission denied")
        super().rmdir(path)


@pytest.mark.parametrize(("handler", "inside"), [(_OfAnotherUser, (_OWNER,)), (_InAStickyDirectory, ())])
async def test_a_lock_that_another_user_left_is_named(
    faulty_server: FaultyServer, handler: type[SFTPServer], inside: tuple[str, ...]
) -> None:
    with faulty_server(handler) as server:
        harness = server.harness(lock_lease_s=0.1)
        name = _lock_up(harness, *inside)
        backend = await harness.open_sftp()
        with pytest.raises(PermissionDenied) as refused:
            await backend.write(await target_of(backend, "a"), b"new", condition=Always())
        await backend.aclose()
    assert f"{harness.directory.name}/{name}" in refused.value.reason
    assert "removed on the server" in refused.value.reason
    assert harness.get("a") == b"old"
    assert sorted(harness.names()) == sorted(["a", name])


async def test_a_lock_that_nobody_else_may_look_into_is_waited_for(faulty_server: FaultyServer) -> None:
    looks: list[bytes] = []

    class Closed(SFTPServer):
        def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            if not path.endswith(b".lock"):
                return super().scandir(path)
            looks.append(path)
            if len(looks) == 3:
                owner = harness.directory / name
                (owner / _OWNER).unlink()
                owner.rmdir()
            raise PermissionError(errno.EACCES, "Permission denied")

    with faulty_server(Closed) as server:
        harness = server.harness()
        name = _lock_up(harness, _OWNER)
        backend = await harness.open_sftp()
        await backend.write(await target_of(backend, "a"), b"new", condition=Always())
        await backend.aclose()
    assert len(looks) == 3
    assert harness.get("a") == b"new"
    assert harness.names() == ["a"]
