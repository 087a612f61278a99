"""Writing: guards, what is kept, what servers lack or refuse, what is left behind."""

# ruff: noqa: ARG002 - the faulty servers below have the signatures of asyncssh

import errno
import os
import time
from pathlib import Path

import anyio
import asyncssh.sftp
import pytest
from asyncssh import SFTPFailure, SFTPServer
from asyncssh.constants import FXF_CREAT

from backends.sftp import SftpBackend
from fs_core.errors import (
    ErrorCode,
    FsError,
    IoFault,
    NoSpace,
    PermissionDenied,
    Reason,
    StaleVersion,
    TooLarge,
    Unsupported,
)
from fs_core.paths import staged_name
from fs_core.protocol import Backend, Guard
from fs_core.types import Always, IfAbsent, IfVersion, NoteKind, Target
from tests.support.sftp_faults import FaultyServer, RoundTrips
from tests.support.sftp_servers import SftpHarness, SftpServer, target_of

pytestmark = pytest.mark.anyio


async def test_of_sixteen_creators_on_two_backends_one_wins(sftp_harness: SftpHarness) -> None:
    backends = [await sftp_harness.open_sftp(), await sftp_harness.open_sftp()]
    winners: list[int] = []
    codes: list[ErrorCode] = []

    async def create(number: int) -> None:
        backend = backends[number % 2]
        try:
            await backend.write(await target_of(backend, "new/race"), b"%d" % number, condition=IfAbsent())
        except FsError as error:
            codes.append(error.code)
        else:
            winners.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(16):
            tasks.start_soon(create, number)
    for backend in backends:
        await backend.aclose()
    assert len(winners) == 1
    assert codes == [ErrorCode.STALE_VERSION] * 15
    assert sftp_harness.get("new/race") == b"%d" % winners[0]
    assert sftp_harness.names("new") == ["race"]


async def _count_up(backend: Backend, times: int) -> None:
    target = await target_of(backend, "counter")
    done = 0
    while done < times:
        seen = await backend.read(target)
        try:
            await backend.write(target, b"%d" % (int(seen.data) + 1), condition=IfVersion(seen.version))
        except StaleVersion:
            continue
        done += 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_counter_raced_by_eight_tasks_of_two_backends_ends_exact(sftp_harness: SftpHarness) -> None:
    times = 25 if sftp_harness.server.name == "openssh" else 4  # the embedded server shares this process's one lock
    sftp_harness.put("counter", b"0")
    backends = [await sftp_harness.open_sftp(), await sftp_harness.open_sftp()]
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(_count_up, backends[number % 2], times)
    for backend in backends:
        await backend.aclose()
    assert sftp_harness.get("counter") == b"%d" % (8 * times)
    assert sftp_harness.names() == ["counter"]


async def test_mode_with_special_bits_and_owner_are_kept(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("tool", b"old")
    file = sftp_harness.directory / "tool"
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    owner = (file.stat().st_uid, file.stat().st_gid)
    sftp_harness.chmod("tool", 0o6751)
    backend = await sftp_harness.open_sftp()
    receipt = await backend.write(await target_of(backend, "tool"), b"new", condition=Always())
    await backend.aclose()
    assert sftp_harness.mode("tool") == 0o6751
    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert receipt.notes == ()


async def test_an_owner_that_cannot_be_kept_is_told(faulty_server: FaultyServer) -> None:
    class NoOwners(SFTPServer):
        def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
            if attrs.uid is not None:
                raise PermissionError(errno.EACCES, "no")
            super().setstat(path, attrs)

        def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
            attrs = asyncssh.SFTPAttrs.from_local(os.fstat(file_obj.fileno()))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] - a file
            attrs.uid = 4711
            return attrs

    with faulty_server(NoOwners) as server:
        harness = server.harness()
        harness.put("tool", b"old")
        harness.chmod("tool", 0o4755)
        backend = await harness.open_sftp()
        receipt = await backend.write(await target_of(backend, "tool"), b"new", condition=Always())
        await backend.aclose()
    (note,) = receipt.notes
    assert note.kind is NoteKind.METADATA_NOT_KEPT
    assert "owner" in note.detail
    assert harness.mode("tool") == 0o755


async def test_a_new_file_follows_the_servers_umask(sftp_harness: SftpHarness) -> None:
    plain = sftp_harness.directory / "plain"
    plain.touch()
    backend = await sftp_harness.open_sftp()
    await backend.write(await target_of(backend, "new"), b"x", condition=IfAbsent())
    await backend.aclose()
    assert sftp_harness.mode("new") == plain.stat().st_mode & 0o7777


async def test_parents_are_made_and_named(sftp_harness: SftpHarness) -> None:
    sftp_harness.mkdir("a")
    backend = await sftp_harness.open_sftp()
    receipt = await backend.write(await target_of(backend, "a/b/c/new"), b"x", condition=IfAbsent())
    await backend.aclose()
    assert [(note.kind, note.detail) for note in receipt.notes] == [(NoteKind.PARENTS_CREATED, "a/b, a/b/c")]


async def test_a_rewrite_of_the_same_size_with_restored_time_is_stale(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"one")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    file = sftp_harness.directory / "a"
    times = (file.stat().st_atime, file.stat().st_mtime)
    file.write_bytes(b"two")
    os.utime(file, times)
    with pytest.raises(StaleVersion) as refused:
        await backend.write(target, b"three", condition=IfVersion(seen.version))
    await backend.aclose()
    assert refused.value.reason == Reason.CHANGED
    assert sftp_harness.get("a") == b"two"
    assert sftp_harness.names() == ["a"]


async def test_touching_a_file_makes_nothing_stale(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"one")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    os.utime(sftp_harness.directory / "a", (1, 1))
    receipt = await backend.write(target, b"two", condition=IfVersion(seen.version))
    await backend.aclose()
    assert not receipt.created
    assert sftp_harness.get("a") == b"two"


async def test_a_version_without_digest_is_compared_by_token(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"one")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    info = await backend.stat(target)
    assert info is not None
    assert info.version is not None
    await backend.write(target, b"changed", condition=IfVersion(info.version))
    with pytest.raises(StaleVersion):
        await backend.write(target, b"again", condition=IfVersion(info.version))
    await backend.aclose()
    assert sftp_harness.get("a") == b"changed"


async def test_too_much_is_refused(sftp_harness: SftpHarness) -> None:
    backend = await sftp_harness.open_sftp(write_size_bytes_max=3)
    with pytest.raises(TooLarge):
        await backend.write(await target_of(backend, "a"), b"four", condition=IfAbsent())
    await backend.aclose()
    assert sftp_harness.names() == []


async def test_cost_in_round_trips(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    sftp_harness.put("d/first", b"x")
    backend = await sftp_harness.open_sftp()
    await backend.write(await target_of(backend, "d/first"), b"y", condition=Always())  # looks for leftovers once
    round_trips.take()
    target = await target_of(backend, "d/a")
    cost = {"resolve": round_trips.take()}
    await backend.write(target, b"0", condition=IfAbsent())
    cost["create"] = round_trips.take()
    await backend.stat(target)
    cost["stat"] = round_trips.take()
    seen = await backend.read(target)
    cost["read"] = round_trips.take()
    await backend.scan(target, bytearray().extend)
    cost["scan"] = round_trips.take()
    await backend.write(target, b"1", condition=IfVersion(seen.version))
    cost["replace"] = round_trips.take()
    await backend.list(await target_of(backend, "d"), limit=10)
    cost["resolve and list"] = round_trips.take()
    await backend.aclose()
    assert cost == {
        "resolve": 1,
        "create": 5,
        "stat": 1,
        "read": 3,
        "scan": 3,
        "replace": 7,
        "resolve and list": 3,
    }


# -- servers that lack something ---------------------------------------------------------------------------------------


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Names of extensions that an embedded server started later does not offer."""
    names: set[bytes] = set()
    offered = asyncssh.sftp.SFTPServerHandler._extensions  # pyright: ignore[reportPrivateUsage] - the library offers no other way

    class Offered(list[tuple[bytes, bytes]]):
        def __iter__(self):  # noqa: ANN204
            return iter([(name, data) for name, data in offered if name not in names])

    monkeypatch.setattr(asyncssh.sftp.SFTPServerHandler, "_extensions", Offered(offered))
    return names


async def test_without_posix_rename_files_are_created_but_not_replaced(
    embedded_sftp_server: SftpServer, hidden: set[bytes]
) -> None:
    hidden.add(b"posix-rename@openssh.com")
    harness = embedded_sftp_server.harness()
    harness.put("a", b"old")
    backend = await harness.open_sftp()
    assert backend.capabilities.replace is Guard.NONE
    assert backend.capabilities.create is Guard.NATIVE
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    for condition in (Always(), IfVersion(seen.version)):
        with pytest.raises(Unsupported, match="posix-rename"):
            await backend.write(target, b"new", condition=condition)
    await backend.write(await target_of(backend, "b"), b"new", condition=Always())
    report = await backend.probe()
    await backend.aclose()
    assert not report.posix_rename
    assert harness.get("a") == b"old"
    assert harness.get("b") == b"new"
    assert harness.names() == ["a", "b"]


async def test_without_hard_links_and_limits_and_fsync_all_guards_hold(
    embedded_sftp_server: SftpServer, hidden: set[bytes]
) -> None:
    hidden |= {b"hardlink@openssh.com", b"limits@openssh.com", b"fsync@openssh.com", b"statvfs@openssh.com"}
    harness = embedded_sftp_server.harness()
    backend = await harness.open_sftp()
    target = await target_of(backend, "a")
    content = os.urandom(300_000)
    receipt = await backend.write(target, content, condition=IfAbsent())
    with pytest.raises(StaleVersion):
        await backend.write(target, b"other", condition=IfAbsent())
    assert (await backend.read(target)).data == content
    await backend.write(target, b"new", condition=IfVersion(receipt.version))
    report = await backend.probe()
    await backend.aclose()
    assert (report.hardlink, report.fsync, report.posix_rename) == (False, False, True)
    assert harness.get("a") == b"new"
    assert harness.names() == ["a"]


async def test_a_file_system_without_hard_links_is_written_by_rename(faulty_server: FaultyServer) -> None:
    class NoLinks(SFTPServer):
        def link(self, oldpath: bytes, newpath: bytes) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

    with faulty_server(NoLinks) as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        target = await target_of(backend, "a")
        await backend.write(target, b"one", condition=IfAbsent())
        with pytest.raises(StaleVersion):
            await backend.write(target, b"two", condition=IfAbsent())
        assert not (await backend.probe()).hardlink
        await backend.aclose()
    assert harness.get("a") == b"one"
    assert harness.names() == ["a"]


# -- faults of the store -----------------------------------------------------------------------------------------------


class _FullDisk(SFTPServer):
    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        if offset:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(data)


class _FullDiskAsOpensshSaysIt(SFTPServer):
    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        raise SFTPFailure("Failure")

    def statvfs(self, path: bytes) -> asyncssh.SFTPVFSAttrs:
        return asyncssh.SFTPVFSAttrs(bsize=4096, frsize=4096, blocks=100, bavail=1, files=10, ffree=5, favail=5)


class _SilentlyFullDisk(_FullDiskAsOpensshSaysIt):
    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        return len(data)


class _FullDiskThatTellsNothing(_FullDiskAsOpensshSaysIt):
    def statvfs(self, path: bytes) -> asyncssh.SFTPVFSAttrs:
        raise SFTPFailure("Failure")


class _HasNoRoomForNames(SFTPServer):
    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


class _HasNoRoomForFiles(SFTPServer):
    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        if pflags & FXF_CREAT:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        return super().open(path, pflags, attrs)


class _FailsToPublish(SFTPServer):
    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        if not newpath.endswith(b".lock"):
            raise OSError(errno.EIO, "Input/output error")
        super().posix_rename(oldpath, newpath)

    def link(self, oldpath: bytes, newpath: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def rename(self, oldpath: bytes, newpath: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error")


class _LosesBytes(SFTPServer):
    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        return len(data)


class _Denies(SFTPServer):
    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")


class _FailsToSync(SFTPServer):
    def fsync(self, file_obj: object) -> None:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (_FullDisk, NoSpace),
        (_FullDiskAsOpensshSaysIt, NoSpace),
        (_SilentlyFullDisk, NoSpace),
        (_FullDiskThatTellsNothing, IoFault),
        (_HasNoRoomForNames, NoSpace),
        (_HasNoRoomForFiles, NoSpace),
        (_FailsToPublish, IoFault),
        (_LosesBytes, IoFault),
        (_Denies, PermissionDenied),
        (_FailsToSync, IoFault),
    ],
)
async def test_a_fault_of_the_store_changes_nothing_and_leaves_nothing(
    faulty_server: FaultyServer, handler: type[SFTPServer], expected: type[FsError]
) -> None:
    with faulty_server(handler) as server:
        harness = server.harness()
        harness.put("a", b"old")
        backend = await harness.open_sftp()
        for path, condition in (("a", Always()), ("new/b", IfAbsent())):
            if handler is _Denies and path != "a":
                continue
            with pytest.raises(expected) as refused:
                await backend.write(await target_of(backend, path), b"x" * 600_000, condition=condition)
            assert "\n" not in str(refused.value)
        await backend.aclose()
    assert harness.get("a") == b"old"
    assert harness.names() == ["a"]


async def test_a_full_disk_under_openssh_is_told(sshd_server: SftpServer, tmp_path: Path) -> None:
    mount = sshd_server.fresh_directory()
    is_mounted = await _run_mount(mount)
    if not is_mounted:
        pytest.skip("a small file system can be mounted by root alone; the same replies are covered with a stand-in")
    try:
        harness = SftpHarness(sshd_server)
        harness.directory = mount
        harness.put("a", b"old")
        backend = await harness.open_sftp()
        with pytest.raises(NoSpace):
            await backend.write(await target_of(backend, "a"), b"x" * 3_000_000, condition=Always())
        await backend.aclose()
        assert harness.get("a") == b"old"
        assert harness.names() == ["a"]
    finally:
        await anyio.run_process(["umount", str(mount)])


async def _run_mount(mount: Path) -> bool:
    done = await anyio.run_process(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], check=False)
    return done.returncode == 0


# -- leftovers ---------------------------------------------------------------------------------------------------------


def _leave(harness: SftpHarness, name: str, *, age_s: float) -> None:
    box = harness.directory / name
    box.mkdir()
    (box / staged_name("0" * 16)).write_bytes(b"unfinished")
    when = time.time() - age_s
    os.utime(box / staged_name("0" * 16), (when, when))
    os.utime(box, (when, when))


async def test_leftovers_of_dead_writers_are_hidden_and_cleaned_by_the_next_write(sftp_harness: SftpHarness) -> None:
    dead, dead_lock, alive = staged_name("a" * 16), staged_name("b" * 16, suffix="lock"), staged_name("c" * 16)
    _leave(sftp_harness, dead, age_s=1000)
    _leave(sftp_harness, dead_lock, age_s=1000)
    _leave(sftp_harness, alive, age_s=5)
    (sftp_harness.directory / staged_name("d" * 16)).touch()
    os.utime(sftp_harness.directory / staged_name("d" * 16), (1, 1))
    backend = await sftp_harness.open_sftp()
    listing = await backend.list(await target_of(backend, "."), limit=10)
    assert listing.entries == ()
    await backend.write(await target_of(backend, "a"), b"x", condition=IfAbsent())
    await backend.aclose()
    assert sftp_harness.names() == [alive, "a"]


async def test_leftovers_are_not_looked_for_on_every_write(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    backend = await sftp_harness.open_sftp()
    costs: list[int] = []
    for name in ("a", "b", "c"):
        target = await target_of(backend, name)
        round_trips.take()
        await backend.write(target, b"x", condition=IfAbsent())
        costs.append(round_trips.take())
    await backend.aclose()
    assert costs[0] > costs[1] == costs[2]


async def test_probing_leaves_nothing_and_knows_the_servers_clock(sftp_harness: SftpHarness) -> None:
    backend: SftpBackend = await sftp_harness.open_sftp()
    started_s = time.monotonic()
    report = await backend.probe()
    took_s = time.monotonic() - started_s
    await backend.aclose()
    assert report.extensions == backend.extensions
    assert (report.posix_rename, report.hardlink, report.fsync) == (True, True, True)
    assert report.clock_offset_s is not None
    assert abs(report.clock_offset_s) < 1 + took_s / 2  # it is told in whole seconds, and asked within that time
    assert sftp_harness.names() == []


async def test_a_target_stays_what_it_was(sftp_harness: SftpHarness) -> None:
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    await backend.aclose()
    assert target == Target(key=target.key, display_path="a")
    assert target.key == str(sftp_harness.directory / "a")
