"""The lock of a target: dead owners, slow owners, living owners."""

import errno
import threading
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import anyio
import pytest
from asyncssh import SFTPName, SFTPServer

from backends.sftp._client import SftpClient
from backends.sftp._lock import HeldLock, lock_box
from backends.sftp._resolve import split
from fs_core.errors import PermissionDenied, StaleVersion, Unavailable
from fs_core.paths import staged_name
from fs_core.types import Always, IfVersion, WriteReceipt
from tests.support.sftp_faults import FaultyServer
from tests.support.sftp_servers import SftpHarness, target_of

pytestmark = pytest.mark.anyio

_OWNER = staged_name("0123456789abcdef")


def _lock(harness: SftpHarness, *names: str) -> str:
    """Lock `a` as another client would, and return the lock's name."""
    harness.put("a", b"old")
    name = lock_box(split(str(harness.directory / "a"))).rpartition("/")[2]
    harness.mkdir(name)
    for inside in names:
        harness.put(f"{name}/{inside}", b"unpublished")
    return name


async def test_the_lock_of_a_dead_owner_is_broken_after_its_lease_and_not_before(sftp_harness: SftpHarness) -> None:
    _lock(sftp_harness, _OWNER)
    backend = await sftp_harness.open_sftp(lock_lease_s=0.4)
    started_s = time.monotonic()
    await backend.write(await target_of(backend, "a"), b"new", condition=Always())
    waited_s = time.monotonic() - started_s
    await backend.aclose()
    assert 0.4 <= waited_s < 1.6
    assert sftp_harness.get("a") == b"new"
    assert sftp_harness.names() == ["a"]


async def test_spellings_that_may_be_one_file_share_a_lock() -> None:
    assert lock_box(("d", "Straße.txt")) == lock_box(("d", "STRASSE.TXT"))
    assert lock_box(("d", "e\u0301")) == lock_box(("d", "\u00e9"))
    assert lock_box(("d", "a")) != lock_box(("d", "b"))
    assert lock_box(("d", "a")) != lock_box(("D", "a"))


async def test_a_lock_left_empty_is_taken_at_once(sftp_harness: SftpHarness) -> None:
    _lock(sftp_harness)
    backend = await sftp_harness.open_sftp(lock_lease_s=60)
    await backend.write(await target_of(backend, "a"), b"new", condition=Always())
    await backend.aclose()
    assert sftp_harness.get("a") == b"new"
    assert sftp_harness.names() == ["a"]


async def test_an_owner_that_shows_life_is_never_robbed(sftp_harness: SftpHarness) -> None:
    name = _lock(sftp_harness, staged_name(f"{0:016x}"))
    box = sftp_harness.directory / name
    done = threading.Event()

    def live() -> None:
        number = 0
        while not done.wait(0.05):
            (box / staged_name(f"{number:016x}")).rename(box / staged_name(f"{number + 1:016x}"))
            number += 1

    owner = threading.Thread(target=live)
    owner.start()
    try:
        backend = await sftp_harness.open_sftp(lock_lease_s=0.3)
        started_s = time.monotonic()
        with pytest.raises(Unavailable, match=name) as refused:
            await backend.write(await target_of(backend, "a"), b"new", condition=Always())
        waited_s = time.monotonic() - started_s
        await backend.aclose()
    finally:
        done.set()
        owner.join()
    assert refused.value.retryable
    assert 1.1 < waited_s < 3
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
            go_on.wait(10)
        publish(held, client, target)

    monkeypatch.setattr(HeldLock, "publish", slow)
    yield arrived, go_on
    go_on.set()


async def test_a_slow_owner_whose_lock_was_broken_cannot_publish(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sftp_harness.put("a", b"0")
    slow, fast = await sftp_harness.open_sftp(lock_lease_s=0.3), await sftp_harness.open_sftp(lock_lease_s=0.3)
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
            receipts.append(await fast.write(target, b"fast", condition=IfVersion(seen)))
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


async def test_an_owner_renews_while_it_compares_a_large_file(sftp_harness: SftpHarness) -> None:
    content = bytes(range(256)) * 4096 * 40
    sftp_harness.put("a", content)
    backend = await sftp_harness.open_sftp(lock_lease_s=0.03)
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    name = lock_box(split(target.key)).rpartition("/")[2]
    owners: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            owners.update(sftp_harness.names(name))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with anyio.fail_after(30):
            try:
                await backend.write(target, b"new", condition=IfVersion(seen.version))
            except Unavailable:
                # On a busy machine one packet can take longer than this tiny lease: then nothing is published.
                assert sftp_harness.get("a") == content
            else:
                assert sftp_harness.get("a") == b"new"
    finally:
        done.set()
        watcher.join()
    await backend.aclose()
    assert len(owners) > 1
    assert sftp_harness.names() == ["a"]


async def test_waiting_for_a_lock_can_be_given_up_at_once(sftp_harness: SftpHarness) -> None:
    name = _lock(sftp_harness, _OWNER)
    backend = await sftp_harness.open_sftp(lock_lease_s=60)
    target = await target_of(backend, "a")
    started_s = time.monotonic()
    with anyio.move_on_after(0.3) as scope:
        await backend.write(target, b"new", condition=Always())
    assert scope.cancelled_caught
    assert time.monotonic() - started_s < 6
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
        name = _lock(harness, *inside)
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
        name = _lock(harness, _OWNER)
        backend = await harness.open_sftp()
        await backend.write(await target_of(backend, "a"), b"new", condition=Always())
        await backend.aclose()
    assert len(looks) == 3
    assert harness.get("a") == b"new"
    assert harness.names() == ["a"]
