"""What happens in the last moments before and after a file is published: by foreign writers, disks and cleaners."""

import errno
import fcntl
import os
import stat
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from backends._workers import CallCancelled, WorkerCall
from backends.local import LocalBackend, _publish, open_local
from backends.local._lock import ProcessLocks
from backends.local._staging import Staged
from backends.local._version import digest_of
from backends.options import LocalOptions
from fs_core.errors import IoFault, NoSpace, StaleVersion, Unavailable
from fs_core.paths import is_staged_name
from fs_core.testing.conformance import target_of
from fs_core.types import Always, IfAbsent, IfVersion, NoteKind
from tests.backends.local.writing import names, never, replace

pytestmark = pytest.mark.anyio


@pytest.fixture
async def backend(root: Path, tmp_path: Path) -> AsyncGenerator[LocalBackend]:
    (tmp_path / "locks").mkdir()  # its own, which no other process has for a moment
    backend = await open_local(root, LocalOptions(lock_directory=tmp_path / "locks", lock_timeout_s=0.05))
    yield backend
    await backend.aclose()


def put(file: Path, data: bytes) -> None:
    """Replace a file as editors do."""
    file.with_name("theirs").write_bytes(data)
    file.with_name("theirs").rename(file)


def during_flush(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Run `action` once, while the staged file is flushed."""
    real: Callable[[int], None] = os.fsync
    pending = [action]

    def fsync(fd: int) -> None:
        if pending:
            pending.pop()()
        real(fd)

    monkeypatch.setattr(_publish.os, "fsync", fsync)


def around_exchanges(
    monkeypatch: pytest.MonkeyPatch, *, before: list[Callable[[], object]], after: list[Callable[[], object]]
) -> None:
    """Run one action of each list before and after every exchange."""
    real = _publish.exchange

    def exchange(directory: int, one: str, other: str) -> bool:
        if before:
            before.pop(0)()
        done = real(directory, one, other)
        if after:
            after.pop(0)()
        return done

    monkeypatch.setattr(_publish, "exchange", exchange)


def set_clock(monkeypatch: pytest.MonkeyPatch, file: Path, *, age_s: int) -> None:
    """Have versions made as if `file` had been changed `age_s` ago, however slow this machine is."""
    now_ns = file.stat().st_mtime_ns + age_s * 1_000_000_000
    monkeypatch.setattr("backends.local._version.time.time_ns", lambda: now_ns)


def nothing() -> None:
    """Let an exchange pass."""


# -- between verification and publication ----------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["replaced", "written in place", "same size and time", "deleted"])
async def test_without_exchange_a_change_while_the_new_content_is_flushed_is_stale(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = root / "a.txt"
    monkeypatch.setattr("backends.local._version._TICK_NS", 5_000_000_000)  # however slow this machine is
    file.write_bytes(b"old")

    def foreign() -> None:
        before = file.stat()
        if change == "replaced":
            put(file, b"foreign")
        elif change == "deleted":
            file.unlink()
        else:
            file.write_bytes(b"foreign" if change == "written in place" else b"new")
        if change == "same size and time":
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    monkeypatch.setattr(_publish, "exchange", never)
    during_flush(monkeypatch, foreign)
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert names(root) == ([] if change == "deleted" else ["a.txt"])
    assert change == "deleted" or file.read_bytes() in {b"foreign", b"new"}


async def test_a_touch_while_the_new_content_is_flushed_is_no_change(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")
    during_flush(monkeypatch, lambda: os.utime(root / "a.txt", (1, 1)))
    await replace(backend, "a.txt", b"ours")
    assert (root / "a.txt").read_bytes() == b"ours"


async def test_a_mode_set_while_the_new_content_is_flushed_is_kept(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.sh").write_bytes(b"old")
    during_flush(monkeypatch, lambda: (root / "a.sh").chmod(0o750))
    await replace(backend, "a.sh", b"ours")
    assert stat.S_IMODE((root / "a.sh").stat().st_mode) == 0o750


async def test_a_mode_set_while_the_new_content_is_flushed_is_kept_though_the_clock_has_not_moved(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.sh"
    file.write_bytes(b"old")
    changed_ns = file.stat().st_ctime_ns
    real: Callable[..., os.stat_result] = os.stat

    def within_a_tick(path: Any, **options: Any) -> os.stat_result:
        status = real(path, **options)
        if path != file.name:
            return status
        fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        return os.stat_result(tuple(status), {**fields, "st_ctime_ns": changed_ns})

    monkeypatch.setattr(_publish.os, "stat", within_a_tick)
    during_flush(monkeypatch, lambda: file.chmod(0o750))
    await replace(backend, file.name, b"ours")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


async def test_a_slow_flush_does_not_make_a_recent_time_stamp_trustworthy(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.txt"
    monkeypatch.setattr("backends.local._version._TICK_NS", 5_000_000_000)  # however slow this machine is
    file.write_bytes(b"old")

    def foreign() -> None:
        before = file.stat()
        file.write_bytes(b"new")  # as long, and within the same tick of a coarse clock
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        set_clock(monkeypatch, file, age_s=10)

    set_clock(monkeypatch, file, age_s=0)
    around_exchanges(monkeypatch, before=[foreign], after=[])
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert file.read_bytes() == b"new"


async def test_another_size_is_another_content_and_nothing_is_read(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")
    target = await target_of(backend, "a.txt")
    seen = await backend.read(target)
    (root / "a.txt").write_bytes(b"as large as you like")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(_publish, "digest_of", read)
    with pytest.raises(StaleVersion):
        await backend.write(target, b"ours", condition=IfVersion(seen.version))


def test_comparing_a_large_file_can_be_given_up(root: Path) -> None:
    (root / "large").write_bytes(b"x" * (3 << 20))
    call = WorkerCall()
    call.cancel()
    fd = os.open(root / "large", os.O_RDONLY)
    try:
        with pytest.raises(CallCancelled):
            digest_of(fd, on_piece=call.check)
        assert os.lseek(fd, 0, os.SEEK_CUR) == 0
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("path", "step"),
    [
        *(("a.txt", step) for step in ("os.open", "os.write", "os.fsync", "exchange")),
        *(("new/deep/b.txt", step) for step in ("os.mkdir", "os.open", "os.write", "os.fsync", "rename_no_replace")),
    ],
)
async def test_a_disk_that_is_full_at_any_step_changes_nothing_and_leaves_nothing(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, path: str, step: str
) -> None:
    (root / "a.txt").write_bytes(b"old")
    target = await target_of(backend, path)
    condition = IfVersion((await backend.read(target)).version) if path == "a.txt" else IfAbsent()
    real_open: Callable[..., int] = os.open

    def full(*arguments: Any, **options: Any) -> int:
        if step == "os.open" and not arguments[1] & os.O_EXCL:
            return real_open(*arguments, **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"backends.local._publish.{step}", full)
    with pytest.raises(NoSpace):
        await backend.write(target, b"ours", condition=condition)
    assert names(root) == ["a.txt"]
    assert (root / "a.txt").read_bytes() == b"old"


# -- putting back ----------------------------------------------------------------------------------------------------


async def test_the_newest_of_three_foreign_writers_is_kept(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.txt"
    file.write_bytes(b"old")
    around_exchanges(
        monkeypatch,
        before=[lambda: put(file, b"first"), lambda: put(file, b"second")],
        after=[nothing, lambda: put(file, b"third")],
    )
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert file.read_bytes() == b"third"
    assert names(root) == ["a.txt"]


async def test_the_newest_of_forty_foreign_writers_is_kept(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.txt"
    file.write_bytes(b"old")
    contents = [f"foreign {number}".encode() for number in range(40)]
    around_exchanges(monkeypatch, before=[lambda data=data: put(file, data) for data in contents], after=[])
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert file.read_bytes() == contents[-1]
    assert names(root) == ["a.txt"]


async def test_what_is_deleted_before_it_could_be_put_back_stays_deleted(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.txt"
    file.write_bytes(b"old")
    around_exchanges(monkeypatch, before=[lambda: put(file, b"foreign")], after=[file.unlink])
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert names(root) == []


async def test_what_is_written_into_the_new_file_before_it_was_taken_back_is_kept(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "a.txt"
    file.write_bytes(b"old")
    around_exchanges(
        monkeypatch, before=[lambda: put(file, b"foreign")], after=[lambda: file.write_bytes(b"still newer")]
    )
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert file.read_bytes() == b"still newer"
    assert names(root) == ["a.txt"]


async def test_a_fault_while_the_displaced_file_is_verified_puts_it_back(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")
    set_clock(monkeypatch, root / "a.txt", age_s=0)  # so young that its content is read again

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "bad sector")

    around_exchanges(monkeypatch, before=[lambda: monkeypatch.setattr(_publish, "digest_of", broken)], after=[])
    with pytest.raises(IoFault):
        await replace(backend, "a.txt", b"ours")
    assert (root / "a.txt").read_bytes() == b"old"
    assert names(root) == ["a.txt"]


# -- directories, flushes, several names -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
async def test_a_directory_that_cannot_be_flushed_is_told_as_the_file_is_written(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (root / "a.txt").write_bytes(b"old")
    real: Callable[[int], None] = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, os.strerror(number))
        real(fd)

    monkeypatch.setattr(_publish.os, "fsync", fsync)
    receipt = await replace(backend, "a.txt", b"new")
    assert (root / "a.txt").read_bytes() == b"new"
    assert [note.kind for note in receipt.notes] == [NoteKind.NOT_DURABLE]


async def test_every_directory_that_was_made_or_written_is_flushed(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").mkdir()
    real: Callable[[int], None] = os.fsync
    flushed: list[str] = []

    def fsync(fd: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink().relative_to(root)))
        real(fd)

    monkeypatch.setattr(_publish.os, "fsync", fsync)
    await backend.write(await target_of(backend, "a/b/c/x.txt"), b"x", condition=IfAbsent())
    staged, *directories = flushed
    assert is_staged_name(Path(staged).name)
    assert sorted(directories) == ["a", "a/b", "a/b/c"]


async def test_a_directory_that_is_removed_before_anything_is_in_it_is_made_again(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., str] = _publish.file_key
    pending = [root / "new"]

    def file_key(*arguments: Any) -> str:
        if pending:
            pending.pop().rmdir()
        return real(*arguments)

    monkeypatch.setattr(_publish, "file_key", file_key)
    await backend.write(await target_of(backend, "new/a.txt"), b"x", condition=IfAbsent())
    assert (root / "new" / "a.txt").read_bytes() == b"x"


async def test_a_file_that_is_written_in_place_under_another_name_is_waited_for(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> bool:
        raise OSError(errno.EBUSY, "mount point")

    monkeypatch.setattr(_publish, "exchange", busy)
    (root / "mounted.yml").write_bytes(b"old")
    with (root / "mounted.yml").open("rb") as other_name:
        fcntl.flock(other_name, fcntl.LOCK_EX)  # as a write of this library through another mount point does
        with pytest.raises(Unavailable):
            await replace(backend, "mounted.yml", b"new")
        assert (root / "mounted.yml").read_bytes() == b"old"
    await replace(backend, "mounted.yml", b"new")
    assert (root / "mounted.yml").read_bytes() == b"new"
    assert names(root) == ["mounted.yml"]


# -- leftovers -------------------------------------------------------------------------------------------------------


def _stage_elsewhere(root: Path, locks: ProcessLocks) -> str:
    """Leave what a killed process leaves that uses another lock directory."""
    fd = os.open(root, os.O_RDONLY)
    try:
        with locks.hold("x", call=WorkerCall(), path=".") as bucket:
            point = locks.meeting_point(path=".")
            file = Staged(fd, is_new=True, bucket=bucket, meeting_point=point)
            os.close(file.fd)
            return file.name
    finally:
        os.close(fd)


async def test_a_writer_with_another_lock_directory_is_not_taken_for_dead(
    backend: LocalBackend, root: Path, tmp_path: Path
) -> None:
    name = _stage_elsewhere(root, ProcessLocks(tmp_path / "in another container", timeout_s=1))
    await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
    assert names(root) == [name, "a.txt"]


async def test_what_was_staged_elsewhere_and_has_not_changed_for_a_day_is_swept(
    backend: LocalBackend, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _stage_elsewhere(root, ProcessLocks(tmp_path / "in another container", timeout_s=1))
    tomorrow_s = (root / name).stat().st_ctime + 24 * 3600 + 1
    monkeypatch.setattr("backends.local._staging.time.time", lambda: tomorrow_s)
    await backend.write(await target_of(backend, "a.txt"), b"x", condition=Always())
    assert names(root) == ["a.txt"]
