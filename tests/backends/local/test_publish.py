"""Writes on local disk: foreign writers, dead writers, full disks, and everything that a rename must not lose."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from backends.local import LocalBackend, _publish, open_local
from backends.local._lock import ProcessLocks
from backends.options import LocalOptions
from fs_core.errors import (
    InvalidPath,
    IoFault,
    NoSpace,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    SandboxDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)
from fs_core.paths import is_staged_name, staged_name
from fs_core.testing.conformance import target_of
from fs_core.types import Always, FileKind, IfAbsent, IfVersion, NoteKind
from tests.backends.local.writing import names, names_apart, never, replace
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def locks(tmp_path: Path) -> ProcessLocks:
    """The locks of the workspace under test, which no other process has for a moment."""
    return ProcessLocks(tmp_path / "locks", timeout_s=WAIT_S)


@pytest.fixture
async def backend(root: Path, tmp_path: Path) -> AsyncGenerator[LocalBackend]:
    backend = await open_local(root, LocalOptions(lock_directory=tmp_path / "locks"))
    yield backend
    await backend.aclose()


def just_before(monkeypatch: pytest.MonkeyPatch, function: str, action: Callable[[], object]) -> None:
    """Run `action` once, right before the publication step `function`."""
    original: Callable[..., Any] = getattr(_publish, function)
    pending = [action]

    def wrapped(*args: object) -> object:
        if pending:
            pending.pop()()
        return original(*args)

    monkeypatch.setattr(_publish, function, wrapped)


# -- foreign writers -----------------------------------------------------------------------------------------------


async def test_a_foreign_replacement_in_the_last_moment_is_put_back(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")

    def foreign() -> None:
        (root / "theirs").write_bytes(b"foreign")
        (root / "theirs").rename(root / "a.txt")

    just_before(monkeypatch, "exchange", foreign)
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert (root / "a.txt").read_bytes() == b"foreign"
    assert names(root) == ["a.txt"]


async def test_a_foreign_write_in_place_in_the_last_moment_is_put_back(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")

    def foreign() -> None:
        before = (root / "a.txt").stat()
        (root / "a.txt").write_bytes(b"new")  # as long as the old content
        os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))

    changed_ns = (root / "a.txt").stat().st_mtime_ns
    monkeypatch.setattr("backends.local._version.time.time_ns", lambda: changed_ns)  # however slow this machine is
    just_before(monkeypatch, "exchange", foreign)
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert (root / "a.txt").read_bytes() == b"new"


async def test_a_second_foreign_writer_during_the_put_back_keeps_the_newest_content(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")
    original = _publish.exchange
    contents = [b"first", b"second"]

    def exchange(directory: int, one: str, other: str) -> bool:
        if contents:
            (root / "theirs").write_bytes(contents.pop(0))
            (root / "theirs").rename(root / "a.txt")
        return original(directory, one, other)

    monkeypatch.setattr(_publish, "exchange", exchange)
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert (root / "a.txt").read_bytes() == b"second"
    assert names(root) == ["a.txt"]


async def test_a_foreign_deletion_in_the_last_moment_is_stale(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"old")
    just_before(monkeypatch, "exchange", (root / "a.txt").unlink)
    with pytest.raises(StaleVersion):
        await replace(backend, "a.txt", b"ours")
    assert names(root) == []


async def test_a_same_size_change_with_restored_time_is_stale(backend: LocalBackend, root: Path) -> None:
    (root / "a.txt").write_bytes(b"first")
    target = await target_of(backend, "a.txt")
    seen = await backend.read(target)
    before = (root / "a.txt").stat()
    (root / "a.txt").write_bytes(b"other")
    os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StaleVersion):
        await backend.write(target, b"ours", condition=IfVersion(seen.version))
    assert (root / "a.txt").read_bytes() == b"other"


@pytest.mark.parametrize("change", ["touch", "chmod", "rewrite"])
async def test_a_change_of_metadata_alone_is_not_stale(backend: LocalBackend, root: Path, change: str) -> None:
    file = root / "a.txt"
    file.write_bytes(b"same")
    target = await target_of(backend, "a.txt")
    seen = await backend.read(target)
    if change == "touch":
        os.utime(file, (1, 1))
    elif change == "chmod":
        file.chmod(0o600)
    else:
        file.unlink()
        file.write_bytes(b"same")
    await backend.write(target, b"new", condition=IfVersion(seen.version))
    assert file.read_bytes() == b"new"


async def test_without_exchange_the_replacement_still_holds_its_guard(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_publish, "exchange", never)
    (root / "a.txt").write_bytes(b"old")
    target = await target_of(backend, "a.txt")
    seen = await backend.read(target)
    await backend.write(target, b"ours", condition=IfVersion(seen.version))
    with pytest.raises(StaleVersion):
        await backend.write(target, b"again", condition=IfVersion(seen.version))
    assert (root / "a.txt").read_bytes() == b"ours"
    assert names(root) == ["a.txt"]


async def test_without_rename_no_replace_creation_links(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_publish, "rename_no_replace", never)
    target = await target_of(backend, "a.txt")
    receipt = await backend.write(target, b"ours", condition=IfAbsent())
    info = await backend.stat(target)
    with pytest.raises(StaleVersion):
        await backend.write(target, b"again", condition=IfAbsent())
    assert info is not None
    assert info.version == receipt.version
    assert names(root) == ["a.txt"]


async def test_a_file_system_without_any_safe_creation_is_unsupported(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(_publish, "rename_no_replace", never)
    monkeypatch.setattr(_publish.os, "link", no_links)
    with pytest.raises(Unsupported):
        await backend.write(await target_of(backend, "new/a.txt"), b"x", condition=IfAbsent())
    assert names(root) == []


# -- dead writers --------------------------------------------------------------------------------------------------

_HOLD: Final = """
import os, sys
from pathlib import Path
from backends._workers import WorkerCall
from backends.local._lock import ProcessLocks, file_key
from backends.local._staging import Staged
directory = os.open(sys.argv[1], os.O_RDONLY)
locks = ProcessLocks(Path(sys.argv[2]), timeout_s=10)
with locks.hold(file_key(directory, sys.argv[3]), call=WorkerCall(), path=".") as bucket:
    file = Staged(directory, is_new=True, bucket=bucket, meeting_point=locks.meeting_point(path="."))
    os.write(file.fd, b"half")
    print(file.name, flush=True)
    sys.stdin.read()
"""


def _begin_to_write(root: Path, name: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(root), str(root.with_name("locks")), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _staged_by(writer: "subprocess.Popen[str]") -> str:
    """Wait until a process has begun to write, and return the name that it writes under."""
    assert writer.stdout is not None
    name = writer.stdout.readline().strip()
    assert is_staged_name(name)
    return name


async def test_what_a_killed_writer_left_is_swept_and_a_live_one_is_not(
    backend: LocalBackend, root: Path, locks: ProcessLocks
) -> None:
    of_dead, of_live, ours = names_apart(root, locks, number=3)
    with _begin_to_write(root, of_dead) as dead, _begin_to_write(root, of_live) as live:
        _staged_by(dead)
        live_name = _staged_by(live)
        dead.kill()
        dead.wait()
        await backend.write(await target_of(backend, ours), b"x", condition=IfAbsent())
        found = names(root)
        live.kill()
    assert found == [live_name, ours]


async def test_what_a_killed_writer_of_the_same_file_left_is_swept(backend: LocalBackend, root: Path) -> None:
    target = await target_of(backend, "a.txt")
    with _begin_to_write(root, "a.txt") as writer:
        _staged_by(writer)
        writer.kill()
    await backend.write(target, b"x", condition=IfAbsent())
    assert names(root) == ["a.txt"]


async def test_a_sweep_in_the_middle_of_an_exchange_takes_nothing_away(
    backend: LocalBackend, root: Path, locks: ProcessLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, beside = names_apart(root, locks, number=2)
    (root / ours).write_bytes(b"old")
    original = _publish.exchange

    def exchange(directory: int, one: str, two: str) -> bool:
        (root / "theirs").write_bytes(b"foreign")
        (root / "theirs").rename(root / ours)
        done = original(directory, one, two)
        # What stands under the staged name now is the foreign file, which no process has locked.
        anyio.run(_write, root, beside)
        monkeypatch.setattr(_publish, "exchange", original)
        return done

    monkeypatch.setattr(_publish, "exchange", exchange)
    with pytest.raises(StaleVersion):
        await replace(backend, ours, b"ours")
    assert (root / ours).read_bytes() == b"foreign"
    assert names(root) == sorted([ours, beside])


async def _write(root: Path, name: str) -> None:
    other = await open_local(root, LocalOptions(lock_directory=root.with_name("locks")))
    await other.write(await target_of(other, name), b"x", condition=Always())
    await other.aclose()


async def test_a_directory_under_a_staged_name_hinders_no_write(
    backend: LocalBackend, root: Path, locks: ProcessLocks
) -> None:
    own = staged_name(f"000{locks.meeting_point(path='.')}00000")
    (root / own).mkdir()
    await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
    assert names(root) == [own, "a.txt"]


async def test_made_directories_are_removed_where_they_were_made(
    backend: LocalBackend, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (root / "a").mkdir()

    def swap_and_fail(fd: int, data: object) -> int:
        (root / "a").rename(root / "moved")
        (root / "a").symlink_to(outside)
        raise OSError(errno.ENOSPC, "full")

    target = await target_of(backend, "a/b/f")
    monkeypatch.setattr("backends.local._content.os.write", swap_and_fail)
    with pytest.raises(NoSpace):
        await backend.write(target, b"x", condition=IfAbsent())
    assert names(outside) == ["b"]
    assert names(root / "moved") == []


async def test_a_link_to_a_name_that_is_no_text_is_an_invalid_path(backend: LocalBackend, root: Path) -> None:
    (root / "link").symlink_to(os.fsdecode(b"\xff\xfe"))
    with pytest.raises(InvalidPath):
        await target_of(backend, "link")
    listing = await backend.list(await target_of(backend, "."), limit=10)
    assert [(entry.name, entry.kind) for entry in listing.entries] == [("link", FileKind.OTHER)]


async def test_a_looped_link_hinders_no_listing(backend: LocalBackend, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "a.txt").write_bytes(b"x")
    listing = await backend.list(await target_of(backend, "."), limit=10)
    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("a.txt", FileKind.FILE),
        ("loop", FileKind.OTHER),
    ]


async def test_leftovers_are_hidden_from_listings(backend: LocalBackend, root: Path) -> None:
    (root / staged_name("0123456789abcdef")).write_bytes(b"half")
    (root / "a.txt").write_bytes(b"x")
    listing = await backend.list(await target_of(backend, "."), limit=10)
    assert [entry.name for entry in listing.entries] == ["a.txt"]


# -- full and broken disks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, NoSpace), (errno.EDQUOT, NoSpace), (errno.EIO, IoFault), (errno.EROFS, PermissionDenied)],
)
async def test_a_failing_disk_leaves_the_old_file_and_no_residue(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    (root / "a.txt").write_bytes(b"old")

    def full(fd: int, data: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("backends.local._content.os.write", full)
    for path in ("a.txt", "new/deep/b.txt"):
        with pytest.raises(expected):
            await backend.write(await target_of(backend, path), b"x" * 100, condition=Always())
    assert (root / "a.txt").read_bytes() == b"old"
    assert names(root) == ["a.txt"]


async def test_a_short_write_is_continued(backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = os.write

    def short(fd: int, data: memoryview) -> int:
        return original(fd, data[:7])

    monkeypatch.setattr("backends.local._content.os.write", short)
    await backend.write(await target_of(backend, "a.txt"), b"x" * 100, condition=IfAbsent())
    assert (root / "a.txt").read_bytes() == b"x" * 100


async def test_a_name_that_cannot_be_renamed_over_is_written_in_place_and_told(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> bool:
        raise OSError(errno.EBUSY, "mount point")

    monkeypatch.setattr(_publish, "exchange", busy)
    (root / "mounted.yml").write_bytes(b"a long old content\n")
    inode = (root / "mounted.yml").stat().st_ino
    receipt = await replace(backend, "mounted.yml", b"new\n")
    assert (root / "mounted.yml").read_bytes() == b"new\n"
    assert (root / "mounted.yml").stat().st_ino == inode
    assert [note.kind for note in receipt.notes] == [NoteKind.WRITTEN_IN_PLACE]
    assert names(root) == ["mounted.yml"]


async def test_a_full_disk_keeps_what_was_to_be_overwritten_in_place(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> bool:
        raise OSError(errno.EBUSY, "mount point")

    def full(fd: int, offset: int, size_bytes: int) -> None:
        os.ftruncate(fd, offset + 1)  # as an emulation does that got so far
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(_publish, "exchange", busy)
    monkeypatch.setattr(_publish.os, "posix_fallocate", full)
    (root / "mounted.yml").write_bytes(b"old\n")
    with pytest.raises(NoSpace):
        await replace(backend, "mounted.yml", b"a longer content\n")
    assert (root / "mounted.yml").read_bytes() == b"old\n"
    assert names(root) == ["mounted.yml"]
    await replace(backend, "mounted.yml", b"new")
    assert (root / "mounted.yml").read_bytes() == b"new"


# -- metadata ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o4755, 0o2750, 0o1644])
async def test_mode_and_special_bits_are_kept(backend: LocalBackend, root: Path, mode: int) -> None:
    (root / "a.sh").write_bytes(b"old")
    (root / "a.sh").chmod(mode)
    receipt = await replace(backend, "a.sh", b"new")
    assert stat.S_IMODE((root / "a.sh").stat().st_mode) == mode
    assert receipt.notes == ()


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
async def test_a_new_file_follows_the_umask(backend: LocalBackend, root: Path, umask: int, expected: int) -> None:
    before = os.umask(umask)
    try:
        await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == expected


async def test_extended_attributes_are_kept(backend: LocalBackend, root: Path) -> None:
    (root / "a.txt").write_bytes(b"old")
    os.setxattr(root / "a.txt", "user.origin", b"elsewhere")
    receipt = await replace(backend, "a.txt", b"new")
    assert os.getxattr(root / "a.txt", "user.origin") == b"elsewhere"
    assert receipt.notes == ()


async def test_what_cannot_be_kept_is_told(backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    (root / "a.txt").write_bytes(b"old")
    os.setxattr(root / "a.txt", "user.origin", b"elsewhere")
    monkeypatch.setattr("backends.local._metadata.os.setxattr", refuse)
    receipt = await replace(backend, "a.txt", b"new")
    assert [(note.kind, note.detail) for note in receipt.notes] == [
        (NoteKind.METADATA_NOT_KEPT, "not kept: extended attribute user.origin")
    ]


async def test_a_broken_hard_link_is_told_and_the_other_name_keeps_the_old_content(
    backend: LocalBackend, root: Path
) -> None:
    (root / "a.txt").write_bytes(b"old")
    (root / "b.txt").hardlink_to(root / "a.txt")
    receipt = await replace(backend, "a.txt", b"new")
    assert (root / "b.txt").read_bytes() == b"old"
    assert [note.kind for note in receipt.notes] == [NoteKind.HARD_LINK_BROKEN]


# -- special files and containment ---------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)  # the path may be longer than what a socket is bound to


def _link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


@pytest.mark.parametrize("make", [_fifo, _socket, _link_to_fifo])
async def test_special_files_are_refused_without_blocking(
    backend: LocalBackend, root: Path, make: Callable[[Path], None]
) -> None:
    make(root / "odd")
    target = await target_of(backend, "odd")
    info = await backend.stat(target)
    assert info is not None
    assert info.kind is FileKind.OTHER
    with pytest.raises(NotRegularFile):
        await backend.read(target)
    for condition in (Always(), IfAbsent()):
        with pytest.raises(NotRegularFile):
            await backend.write(target, b"x", condition=condition)


async def test_a_directory_swapped_for_a_link_after_resolving_is_denied(
    backend: LocalBackend, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_bytes(b"secret")
    (root / "a").mkdir()
    (root / "a" / "x.txt").write_bytes(b"1")
    target = await target_of(backend, "a/x.txt")
    (root / "a").rename(root / "moved")
    (root / "a").symlink_to(outside)
    with pytest.raises(SandboxDenied):
        await backend.read(target)
    with pytest.raises(SandboxDenied):
        await backend.write(target, b"2", condition=Always())
    assert names(outside) == ["x.txt"]
    assert (outside / "x.txt").read_bytes() == b"secret"


async def test_a_file_swapped_for_a_link_after_resolving_is_denied(
    backend: LocalBackend, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (root / "x.txt").write_bytes(b"1")
    target = await target_of(backend, "x.txt")
    (root / "x.txt").unlink()
    (root / "x.txt").symlink_to("../secret.txt")
    with pytest.raises(SandboxDenied):
        await backend.read(target)
    with pytest.raises(SandboxDenied):
        await backend.write(target, b"2", condition=Always())
    assert (tmp_path / "secret.txt").read_bytes() == b"secret"


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_directory_that_is_a_link_only_for_the_moment_of_opening_is_denied(
    backend: LocalBackend, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").mkdir()
    (root / "a" / "x.txt").write_bytes(b"1")
    target = await target_of(backend, "a/x.txt")
    real_open = os.open

    def swapped(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name != "a":
            return real_open(name, flags, mode, dir_fd=dir_fd)
        (root / "a").rename(root / "moved")
        (root / "a").symlink_to(tmp_path)
        try:
            return real_open(name, flags, mode, dir_fd=dir_fd)
        finally:
            (root / "a").unlink()
            (root / "moved").rename(root / "a")

    monkeypatch.setattr("backends.local._tree.os.open", swapped)
    with pytest.raises(SandboxDenied):
        await backend.read(target)
    with pytest.raises(SandboxDenied):
        await backend.write(target, b"2", condition=Always())


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_file_that_becomes_a_link_between_look_and_open_is_denied(
    backend: LocalBackend, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (root / "x.txt").write_bytes(b"1")
    target = await target_of(backend, "x.txt")
    real_open = os.open

    def swapped(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "x.txt":
            (root / "x.txt").unlink()
            (root / "x.txt").symlink_to("../secret.txt")
        return real_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("backends.local._tree.os.open", swapped)
    with pytest.raises(SandboxDenied):
        await backend.read(target)


async def test_a_neighbour_with_the_roots_name_as_prefix_is_outside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root-secret").mkdir()
    (tmp_path / "root-secret" / "s.txt").write_bytes(b"s")
    backend = await open_local(root, LocalOptions())
    try:
        with pytest.raises(SandboxDenied):
            await target_of(backend, f"{tmp_path}/root-secret/s.txt")
    finally:
        await backend.aclose()


async def test_an_absolute_link_back_into_the_root_is_followed(backend: LocalBackend, root: Path) -> None:
    (root / "a.txt").write_bytes(b"x")
    (root / "back").symlink_to(root / "a.txt")
    assert (await target_of(backend, "back")).key == (await target_of(backend, "a.txt")).key


async def test_files_of_proc_are_read_whole_though_they_claim_to_be_empty() -> None:
    backend = await open_local(Path("/proc/self"), LocalOptions())
    try:
        snapshot = await backend.read(await target_of(backend, "cmdline"))
    finally:
        await backend.aclose()
    assert snapshot.is_whole
    assert b"python" in snapshot.data


async def test_a_file_without_size_and_end_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.local._reading.UNSIZED_BYTES_MAX", 1 << 20)
    backend = await open_local(Path("/proc/self"), LocalOptions())
    try:
        target = await target_of(backend, "pagemap")
        pieces = bytearray()
        with pytest.raises(TooLarge):
            await backend.scan(target, pieces.extend)
        with pytest.raises(TooLarge):
            await backend.read(target, limit=10)
    finally:
        await backend.aclose()
    assert len(pieces) <= 1 << 20


async def test_an_over_long_name_below_a_missing_directory_is_an_invalid_path(backend: LocalBackend) -> None:
    with pytest.raises(InvalidPath):
        await target_of(backend, f"missing/{'x' * 256}")
    assert (await target_of(backend, f"missing/{'x' * 255}")).display_path.endswith("x" * 255)


# -- opening, closing, permissions, locks --------------------------------------------------------------------------


async def test_a_missing_root_is_not_found_and_a_file_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(NotFound):
        await open_local(tmp_path / "missing", LocalOptions())
    with pytest.raises(NotDirectory):
        await open_local(tmp_path / "file", LocalOptions())


async def test_a_closed_backend_is_unavailable(root: Path) -> None:
    backend = await open_local(root, LocalOptions())
    target = await target_of(backend, "a.txt")
    await backend.aclose()
    with pytest.raises(Unavailable):
        await backend.read(target)
    with pytest.raises(Unavailable):
        await backend.write(target, b"x", condition=Always())


async def test_a_write_protected_file_is_kept(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests may run as root, to whom nothing is write-protected.
    monkeypatch.setattr(_publish.os, "access", never)
    (root / "a.txt").write_bytes(b"old")
    with pytest.raises(PermissionDenied, match="the file is write-protected"):
        await backend.write(await target_of(backend, "a.txt"), b"new", condition=Always())
    assert (root / "a.txt").read_bytes() == b"old"


async def test_a_file_system_that_became_read_only_is_told(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(root)
    remounted = os.statvfs_result((*tuple(real)[:8], real.f_flag | os.ST_RDONLY, real.f_namemax, real.f_fsid))
    (root / "a.txt").write_bytes(b"old")
    monkeypatch.setattr(_publish.os, "access", never)

    def fstatvfs(_: int) -> os.statvfs_result:
        return remounted

    monkeypatch.setattr(_publish.os, "fstatvfs", fstatvfs)
    with pytest.raises(PermissionDenied, match="read-only"):
        await replace(backend, "a.txt", b"new")
    assert (root / "a.txt").read_bytes() == b"old"


async def test_a_lock_held_by_another_process_ends_in_unavailable(root: Path, tmp_path: Path) -> None:
    options = LocalOptions(lock_directory=tmp_path / "locks", lock_timeout_s=0.05)
    backend = await open_local(root, options)
    try:
        target = await target_of(backend, "a.txt")
        await backend.write(target, b"one", condition=IfAbsent())
        lock_file = next((tmp_path / "locks").iterdir())
        holder = subprocess.Popen(  # noqa: ASYNC220 - ended by its standard input
            [sys.executable, "-c", _HOLD_LOCK, str(lock_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            with pytest.raises(Unavailable) as refused:
                await backend.write(target, b"two", condition=Always())
            holder.kill()
        assert refused.value.retryable
        assert (root / "a.txt").read_bytes() == b"one"
        await backend.write(target, b"three", condition=Always())
    finally:
        await backend.aclose()


async def test_a_lock_directory_of_somebody_else_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "locks").symlink_to(tmp_path / "elsewhere")
    backend = await open_local(root, LocalOptions(lock_directory=tmp_path / "locks"))
    try:
        with pytest.raises(Unavailable):
            await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
    finally:
        await backend.aclose()
    assert names(root) == []


_HOLD_LOCK: Final = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""

_COUNT: Final = """
import sys, anyio
from pathlib import Path
from backends.local import open_local
from backends.options import LocalOptions
from fs_core.errors import StaleVersion
from fs_core.testing.conformance import target_of
from fs_core.types import IfVersion

async def main():
    backend = await open_local(Path(sys.argv[1]), LocalOptions(fsync=False))
    target = await target_of(backend, "counter")
    done = 0
    while done < 10:
        seen = await backend.read(target)
        try:
            await backend.write(target, str(int(seen.data) + 1).encode(), condition=IfVersion(seen.version))
            done += 1
        except StaleVersion:
            pass
    await backend.aclose()

anyio.run(main)
"""


async def test_a_counter_raced_by_four_processes_ends_exact(root: Path) -> None:
    (root / "counter").write_bytes(b"0")
    processes = [
        subprocess.Popen([sys.executable, "-c", _COUNT, str(root)])  # noqa: ASYNC220 - awaited below
        for _ in range(4)
    ]
    codes = [process.wait(100) for process in processes]
    assert codes == [0, 0, 0, 0]
    assert (root / "counter").read_bytes() == b"40"
    assert names(root) == ["counter"]
