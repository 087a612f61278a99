"""When a version is settled, and that no change of a file relies on it."""

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from backends.sftp import SftpBackend, _versions
from backends.sftp._versions import ServerClock, version_of
from backends.sftp._wire import Attributes
from fs_core.errors import StaleVersion
from fs_core.splice import Replacement, Splice
from fs_core.types import IfVersion, Snapshot, Target, Version, WriteReceipt
from tests.support.sftp_servers import SftpHarness, target_of

_HOUR_S = 3600


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _put(file: Path, data: bytes, *, age_s: float) -> None:
    """Write in place, with the modification time that the file would have had if it was done `age_s` ago."""
    file.write_bytes(data)
    then_s = time.time() - age_s
    os.utime(file, (then_s, then_s))


_NOW_S = 1_700_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ServerClock:
    """What is known of the server's clock when ours stands still."""
    monkeypatch.setattr(_versions, "time", SimpleNamespace(time=lambda: float(_NOW_S)))
    return ServerClock()


def _settled(clock: ServerClock, *, age_s: int) -> bool:
    return version_of(Attributes(size_bytes=1, mtime_s=_NOW_S - age_s), now_s=clock.now_s()).settled


@pytest.mark.parametrize(("age_s", "is_settled"), [(-_HOUR_S, False), (0, False), (61, False), (62, True)])
def test_a_version_is_settled_a_minute_after_the_last_change(clock: ServerClock, age_s: int, is_settled: bool) -> None:
    assert _settled(clock, age_s=age_s) is is_settled


def test_a_time_that_is_not_told_settles_nothing() -> None:
    assert not version_of(Attributes(size_bytes=1), now_s=time.time()).settled


def test_what_an_upload_tells_of_a_clock_far_behind_is_kept(clock: ServerClock) -> None:
    clock.learn(_NOW_S - 300)
    clock.learn(_NOW_S)
    clock.learn(None)
    assert not _settled(clock, age_s=301)
    assert _settled(clock, age_s=302)


def test_a_clock_that_is_right_or_ahead_shortens_no_wait(clock: ServerClock) -> None:
    clock.learn(_NOW_S + _HOUR_S)
    assert not _settled(clock, age_s=61)


@pytest.mark.anyio
async def test_reads_scans_and_looks_agree_on_what_is_settled(sftp_harness: SftpHarness) -> None:
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    told: list[list[bool]] = []
    for age_s in (_HOUR_S, 0):
        _put(sftp_harness.directory / "a", b"one", age_s=age_s)
        info = await backend.stat(target)
        assert info is not None
        assert info.version is not None
        read = await backend.read(target, limit=1)
        whole = await backend.read_whole(target, size_bytes_max=3)
        scanned = await backend.scan(target, bytearray().extend)
        told.append([version.settled for version in (info.version, read.version, whole.version, scanned.version)])
    receipt = await backend.write(target, b"two", condition=IfVersion(scanned.version))
    await backend.aclose()
    assert told == [[True] * 4, [False] * 4]
    assert not receipt.version.settled


async def _write(backend: SftpBackend, target: Target, seen: Snapshot) -> WriteReceipt:
    return await backend.write(target, b"new", condition=IfVersion(seen.version))


async def _patch(backend: SftpBackend, target: Target, seen: Snapshot) -> WriteReceipt:
    return await backend.patch(target, Splice(seen.data, (Replacement(0, 1, b"x"),)), condition=IfVersion(seen.version))


@pytest.mark.anyio
@pytest.mark.parametrize("change", [_write, _patch])
async def test_a_change_compares_contents_however_settled_the_version_is(
    sftp_harness: SftpHarness, change: Callable[[SftpBackend, Target, Snapshot], Awaitable[WriteReceipt]]
) -> None:
    file = sftp_harness.directory / "a"
    _put(file, b"one", age_s=_HOUR_S)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    times_ns = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_bytes(b"two")
    os.utime(file, ns=times_ns)
    info = await backend.stat(target)
    with pytest.raises(StaleVersion):
        await change(backend, target, seen)
    await backend.aclose()
    assert info is not None
    assert info.version == seen.version
    assert seen.version.settled
    assert file.read_bytes() == b"two"


@pytest.mark.anyio
async def test_a_part_is_of_the_pinned_version_or_stale(sftp_harness: SftpHarness) -> None:
    file = sftp_harness.directory / "a"
    _put(file, b"0123456789", age_s=2 * _HOUR_S)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen: Version = (await backend.scan(target, bytearray().extend)).version
    part = await backend.read(target, offset=3, limit=4, pinned=seen)
    _put(file, b"9876543210", age_s=_HOUR_S)
    with pytest.raises(StaleVersion):
        await backend.read(target, offset=3, limit=4, pinned=seen)
    await backend.aclose()
    assert (part.data, part.version, part.version.settled) == (b"3456", seen, True)
