"""What the kernel has in memory is answered without a thread, and says what a worker thread would say."""

import ctypes
import errno
import os
import stat
import struct
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from backends._workers import Workers
from backends.local import LocalBackend, _cached, _reading, _tree, open_local
from backends.local._cached import SPAN_BYTES_MAX
from backends.local._kernel import READ_CACHED, lacks_cached, open_cached, opens_cached
from backends.local._tree import Tree
from backends.options import LocalOptions
from fs_core.digest import content_digest
from fs_core.errors import FsError, NotRegularFile, SandboxDenied, StaleVersion, TooLarge, Unavailable
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import Unguarded
from fs_core.testing.conformance import target_of
from fs_core.types import Version
from tests.backends.local.counting import CountingOs
from tests.support.waiting import WAIT_S, wait_until

pytestmark = pytest.mark.anyio

Preadv = Callable[[int, Sequence[bytearray], int, int], int]


@pytest.fixture
def everything_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for a kernel and a file system that never have to wait, whatever these here are."""

    def opened(directory: int, path: str, flags: int) -> int | None:
        try:
            is_link = stat.S_ISLNK(os.stat(path, dir_fd=directory, follow_symlinks=False).st_mode)
            return None if is_link else os.open(path, flags, dir_fd=directory)
        except OSError:
            return None

    def is_able(_: int) -> bool:
        return True

    def lacks(fd: int, offset: int, size_bytes: int) -> bool:
        return False

    def read(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
        assert flags == READ_CACHED
        return os.preadv(fd, buffers, offset)

    monkeypatch.setattr(_cached, "opens_cached", is_able)
    monkeypatch.setattr(_cached, "open_cached", opened)
    monkeypatch.setattr(_cached, "lacks_cached", lacks)
    have_read(monkeypatch, read)


def have_read(monkeypatch: pytest.MonkeyPatch, read: Preadv) -> None:
    monkeypatch.setattr(_cached, "os", StandIn(preadv=read))


class StandIn:
    """The module `os` with some other functions."""

    def __init__(self, **functions: Any) -> None:
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return self._functions.get(name) or getattr(os, name)


@pytest.fixture
async def backend(everything_in_memory: None, root: Path) -> AsyncGenerator[LocalBackend]:
    backend = await open_local(root, LocalOptions())
    yield backend
    await backend.aclose()


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every piece of work that is given to a thread."""
    given: list[object] = []
    run = Workers.run

    async def noted(workers: Workers, work: Any) -> Any:
        given.append(work)
        return await run(workers, work)

    monkeypatch.setattr(Workers, "run", noted)
    return given


# -- without a thread --------------------------------------------------------------------------------------------------


async def test_a_warm_page_takes_no_thread(
    backend: LocalBackend, root: Path, hops: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "d").mkdir()
    (root / "d" / "a.txt").write_bytes(b"a line of text\n" * 100_000)
    later_ns = time.time_ns() + 10_000_000_000  # so that the time stamp can be trusted
    monkeypatch.setattr("backends.local._version.time.time_ns", lambda: later_ns)
    files = BackedFileSystem(backend)
    await files.read(await files.resolve("d/a.txt"), Window(), policy=Unguarded())
    hops.clear()
    for first_line in (1, 50_000, 99_000):
        target = await files.resolve("d/a.txt")
        page = await files.read(target, Window(first_line=first_line, lines_max=1000), policy=Unguarded())
        assert page.page.texts == ("a line of text",) * 1000
        assert page.page.total_lines == 100_000
    assert hops == []


async def test_a_page_takes_three_calls_on_the_data_and_as_many_to_look_and_to_open(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(bytes(1 << 20))
    target = await target_of(backend, "a.txt")
    counting = CountingOs(_cached.os)
    opened = _cached.open_cached

    def noted(directory: int, path: str, flags: int) -> int | None:
        counting.calls.append("openat2")
        return opened(directory, path, flags)

    monkeypatch.setattr(_cached, "open_cached", noted)
    monkeypatch.setattr(_cached, "os", counting)
    monkeypatch.setattr(_tree, "os", counting)
    await backend.read(target, offset=500_000, limit=100_000)
    opening = ["dup", "openat2", "close"]
    assert counting.calls == [*opening, "fstat", "close", *opening, "fstat", "preadv", "fstat", "close"]


@pytest.mark.parametrize("size_bytes", [1, 100_000, SPAN_BYTES_MAX])
async def test_a_small_file_takes_no_thread(
    backend: LocalBackend, root: Path, hops: list[object], size_bytes: int
) -> None:
    content = os.urandom(size_bytes)
    (root / "a").write_bytes(content)
    hops.clear()
    target = await target_of(backend, "a")
    info = await backend.stat(target)
    pieces: list[bytes] = []
    scanned = await backend.scan(target, lambda piece: pieces.append(bytes(piece)))
    whole = await backend.read_whole(target, size_bytes_max=size_bytes)
    part = await backend.read(target, offset=size_bytes // 2, limit=10, pinned=scanned.version)
    assert hops == []
    assert info is not None
    assert info.version == scanned.version
    assert info.size_bytes == scanned.size_bytes == size_bytes
    assert b"".join(pieces) == whole.data == content
    assert whole.version.digest == scanned.version.digest == content_digest(content)
    assert part.data == content[size_bytes // 2 :][:10]


async def test_who_reads_on_and_on_lets_other_tasks_come_up(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        for _ in range(10):
            await backend.read(target)
        tasks.cancel_scope.cancel()
    assert turns >= 5


async def test_a_cancelled_caller_gets_nothing(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")
    finished: list[str] = []
    for name, operation in {
        "resolve": lambda: target_of(backend, "a"),
        "stat": lambda: backend.stat(target),
        "read": lambda: backend.read(target),
    }.items():
        with anyio.CancelScope() as scope:
            scope.cancel()
            await operation()
            finished.append(name)
    assert finished == []


# -- what has to wait, or is otherwise ---------------------------------------------------------------------------------


def _blocks(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


def _is_unsupported(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
    raise OSError(errno.EOPNOTSUPP, "Operation not supported")


def _is_short(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
    return os.preadv(fd, [memoryview(buffers[0])[:2]], offset)


@pytest.mark.parametrize("read", [_blocks, _is_unsupported, _is_short])
async def test_content_that_is_not_in_memory_is_read_in_a_thread(
    backend: LocalBackend, root: Path, hops: list[object], monkeypatch: pytest.MonkeyPatch, read: Preadv
) -> None:
    (root / "a").write_bytes(b"content")
    have_read(monkeypatch, read)
    target = await target_of(backend, "a")
    pieces: list[bytes] = []
    scanned = await backend.scan(target, lambda piece: pieces.append(bytes(piece)))
    assert (await backend.read(target)).data == b"".join(pieces) == b"content"
    assert scanned.size_bytes == 7
    assert len(hops) == 2


async def test_content_that_is_known_not_to_be_in_memory_is_not_even_asked_for(
    backend: LocalBackend, root: Path, hops: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"content")
    looked: list[tuple[int, int]] = []
    read: list[int] = []

    def lacks(fd: int, offset: int, size_bytes: int) -> bool:
        looked.append((offset, size_bytes))
        return True

    def noted(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
        read.append(offset)
        return os.preadv(fd, buffers, offset)

    monkeypatch.setattr(_cached, "lacks_cached", lacks)
    have_read(monkeypatch, noted)
    assert (await backend.read(await target_of(backend, "a"), offset=2, limit=3)).data == b"nte"
    assert looked == [(2, 3)]
    assert read == []
    assert len(hops) == 1


async def test_a_file_that_is_written_meanwhile_is_read_again(
    backend: LocalBackend, root: Path, hops: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"old")

    def written_meanwhile(fd: int, buffers: Sequence[bytearray], offset: int, flags: int) -> int:
        count = os.preadv(fd, buffers, offset)
        (root / "a").write_bytes(b"newer")
        return count

    have_read(monkeypatch, written_meanwhile)
    assert (await backend.read(await target_of(backend, "a"))).data == b"newer"
    assert len(hops) == 1


@pytest.mark.usefixtures("nothing_in_memory")
@pytest.mark.parametrize("operation", ["read", "read_whole", "scan"])
async def test_what_is_written_just_before_is_not_settled_however_long_reading_takes_in_a_thread(
    root: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    backend = await open_local(root, LocalOptions())
    try:
        assert not (await _read_slowly(backend, root, _reading, monkeypatch, operation)).settled
    finally:
        await backend.aclose()


@pytest.mark.parametrize("operation", ["read", "read_whole", "scan"])
async def test_what_is_written_just_before_is_not_settled_however_long_reading_takes(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    assert not (await _read_slowly(backend, root, _cached, monkeypatch, operation)).settled


async def _read_slowly(
    backend: LocalBackend, root: Path, module: ModuleType, monkeypatch: pytest.MonkeyPatch, operation: str
) -> Version:
    """Read in such a way that the file is old when all is read; what changed it meanwhile may have the same time."""
    (root / "a").write_bytes(b"content")
    written_ns = (root / "a").stat().st_ctime_ns
    times_ns = [written_ns]
    monkeypatch.setattr("backends.local._version.time.time_ns", lambda: times_ns[-1])

    def preadv(fd: int, buffers: Sequence[bytearray], offset: int, *flags: int) -> int:
        times_ns.append(written_ns + 10_000_000_000)
        return os.preadv(fd, buffers, offset)

    def pread(fd: int, size_bytes: int, offset: int) -> bytes:
        times_ns.append(written_ns + 10_000_000_000)
        return os.pread(fd, size_bytes, offset)

    monkeypatch.setattr(module, "os", StandIn(preadv=preadv, pread=pread))
    target = await target_of(backend, "a")
    if operation == "scan":
        version = (await backend.scan(target, lambda _: None)).version
    elif operation == "read":
        version = (await backend.read(target)).version
    else:
        version = (await backend.read_whole(target, size_bytes_max=100)).version
    assert len(times_ns) > 1
    assert version.digest == content_digest(b"content")
    return version


async def test_another_version_than_the_pinned_one_is_stale(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"old")
    target = await target_of(backend, "a")
    seen = await backend.read(target)
    (root / "a").write_bytes(b"newer")
    with pytest.raises(StaleVersion):
        await backend.read(target, limit=1, pinned=seen.version)


async def test_more_than_is_read_without_a_thread_takes_one(
    backend: LocalBackend, root: Path, hops: list[object]
) -> None:
    (root / "a").write_bytes(bytes(SPAN_BYTES_MAX + 1))
    target = await target_of(backend, "a")
    assert (await backend.read(target)).size_bytes == SPAN_BYTES_MAX + 1
    assert (await backend.read(target, limit=SPAN_BYTES_MAX)).size_bytes == SPAN_BYTES_MAX + 1
    assert len(hops) == 1


async def test_a_file_that_tells_no_size_takes_a_thread(backend: LocalBackend, root: Path, hops: list[object]) -> None:
    (root / "a").write_bytes(b"")
    target = await target_of(backend, "a")
    assert (await backend.read(target)).data == b""
    assert len(hops) == 1


async def test_a_file_that_is_one_byte_too_large_is_refused(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"four")
    target = await target_of(backend, "a")
    with pytest.raises(TooLarge):
        await backend.read_whole(target, size_bytes_max=3)
    assert (await backend.read_whole(target, size_bytes_max=4)).data == b"four"


async def test_links_are_followed_and_those_that_lead_out_are_denied(
    backend: LocalBackend, root: Path, tmp_path: Path
) -> None:
    (root / "d").mkdir()
    (root / "d" / "a").write_bytes(b"x")
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "inside").symlink_to("d/a")
    (root / "outside").symlink_to(tmp_path / "secret")
    assert await target_of(backend, "inside") == await target_of(backend, "d/a")
    with pytest.raises(SandboxDenied):
        await target_of(backend, "outside")


async def test_a_link_in_the_place_of_a_file_is_denied(backend: LocalBackend, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "secret")
    with pytest.raises(SandboxDenied):
        await backend.read(target)


async def test_only_regular_files_are_opened(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "d").mkdir()
    os.mkfifo(root / "fifo")
    opened: list[str] = []
    look = _cached.open_cached

    def noted(directory: int, path: str, flags: int) -> int | None:
        if not flags & os.O_PATH:
            opened.append(path)
            assert flags & os.O_NONBLOCK  # it may have become a FIFO since it was looked at
            assert flags & os.O_NOFOLLOW
        return look(directory, path, flags)

    monkeypatch.setattr(_cached, "open_cached", noted)
    for path in ("d", "fifo"):
        with pytest.raises(NotRegularFile):
            await backend.read(await target_of(backend, path))
    assert opened == []
    (root / "a").write_bytes(b"x")
    await backend.read(await target_of(backend, "a"))
    assert opened == ["a"]


async def test_no_descriptor_left_is_told_as_in_a_thread(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")

    def none_left(fd: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("backends.local._tree.os.dup", none_left)
    with pytest.raises(Unavailable, match="too many files are open in this process"):
        await backend.read(target)


async def test_a_closed_workspace_answers_nothing(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")
    await backend.aclose()
    for operation in (target_of(backend, "a"), backend.stat(target), backend.read(target)):
        with pytest.raises(FsError, match="the workspace is closed"):
            await operation


async def test_a_workspace_that_is_being_closed_answers_nothing(backend: LocalBackend, root: Path) -> None:
    (root / "a").write_bytes(b"x")
    target = await target_of(backend, "a")
    is_at_work, goes_on = threading.Event(), threading.Event()

    def held(_: object) -> None:
        is_at_work.set()
        goes_on.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(backend._workers.run, held)  # pyright: ignore[reportPrivateUsage]
        await anyio.to_thread.run_sync(is_at_work.wait)
        tasks.start_soon(backend.aclose)
        await anyio.wait_all_tasks_blocked()
        try:
            for operation in (target_of(backend, "a"), backend.stat(target), backend.read(target)):
                with pytest.raises(FsError, match="the workspace is closed"):
                    await operation
        finally:
            goes_on.set()


# -- opening -----------------------------------------------------------------------------------------------------------


async def test_a_workspace_is_opened_in_a_thread_for_its_server_may_be_slow(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noted(_: int) -> bool:
        threads.append(threading.get_ident())
        return False

    monkeypatch.setattr(_cached, "opens_cached", noted)
    await (await open_local(root, LocalOptions())).aclose()
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_a_workspace_that_no_descriptor_is_left_for_is_unavailable_and_leaves_none_open(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(fd: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    closed: list[Tree] = []
    close = Tree.close

    def noted(tree: Tree) -> None:
        closed.append(tree)
        close(tree)

    monkeypatch.setattr(_tree, "os", StandIn(dup=none_left))
    monkeypatch.setattr(Tree, "close", noted)
    with pytest.raises(Unavailable, match="too many files are open in this process"):
        await open_local(root, LocalOptions())
    assert len(closed) == 1


# -- the kernel itself -------------------------------------------------------------------------------------------------


def test_what_is_on_no_disk_of_this_machine_is_left_to_threads() -> None:
    for directory in ("/proc", "/sys"):
        fd = os.open(directory, os.O_PATH)
        try:
            assert not opens_cached(fd)
        finally:
            os.close(fd)


def test_no_disk_mount_or_link_is_gone_to_when_a_path_is_opened_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(_number: int, _directory: int, _path: bytes, how: bytes, _size_bytes: int) -> int:
        asked.append(struct.unpack("=QQQ", how)[2])
        return -1

    monkeypatch.setattr("backends.local._kernel._syscall", noted)
    assert open_cached(0, "a", os.O_RDONLY) is None
    # linux/openat2.h: RESOLVE_NO_XDEV, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_CACHED
    assert asked == [0x01 | 0x04 | 0x08 | 0x20]


def test_no_other_file_system_is_entered_and_no_link_followed(root: Path) -> None:
    (root / "a").write_bytes(b"x")
    (root / "link").symlink_to("a")
    for directory, path in (("/", "proc/version"), (str(root), "link"), (str(root), "../root/a"), (str(root), "none")):
        fd = os.open(directory, os.O_PATH)
        try:
            assert open_cached(fd, path, os.O_RDONLY) is None
        finally:
            os.close(fd)


def test_what_was_written_is_in_memory_and_what_nobody_has_read_is_not(root: Path) -> None:
    with (root / "a").open("wb") as written, (root / "holes").open("wb") as unread:
        written.write(bytes(10_000))
        written.flush()
        unread.truncate(10_000)

        def has(offset: int, size_bytes: int) -> bool:
            os.pwrite(written.fileno(), bytes(10_000), 0)  # again, as a kernel that is short of memory may drop it
            return not lacks_cached(written.fileno(), offset, size_bytes)

        for offset, size_bytes in ((0, 10_000), (4095, 2), (9_999, 1), (0, 0)):
            wait_until(lambda at=(offset, size_bytes): has(*at))
        does_this_kernel_tell = lacks_cached(written.fileno(), 0, 1 << 20)
        assert lacks_cached(unread.fileno(), 0, 10_000) == does_this_kernel_tell


def test_what_the_kernel_does_not_tell_is_not_taken_for_missing(root: Path) -> None:
    fd = os.open(root, os.O_PATH)
    try:
        assert not lacks_cached(fd, 0, 1)
    finally:
        os.close(fd)


def test_a_kernel_that_has_to_wait_just_now_is_able_all_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_with(number: int) -> Callable[..., int]:
        def fail(*_: object) -> int:
            ctypes.set_errno(number)
            return -1

        return fail

    def is_on_disk(_directory: int, status: Any) -> int:
        ctypes.c_long.from_buffer(status).value = 0xEF53  # ext4
        return 0

    monkeypatch.setattr("backends.local._kernel._fstatfs", is_on_disk)
    fd = os.open(root, os.O_PATH)
    try:
        # A kernel before Linux 5.12 answers EINVAL, one before 5.6 ENOSYS.
        for number, is_able in ((errno.EAGAIN, True), (errno.EINVAL, False), (errno.ENOSYS, False)):
            monkeypatch.setattr("backends.local._kernel._syscall", fails_with(number))
            assert opens_cached(fd) is is_able
    finally:
        os.close(fd)


async def test_this_kernel_answers_at_once_where_it_says_so(root: Path, hops: list[object]) -> None:
    (root / "a").write_bytes(b"x" * 1000)
    fd = os.open(root, os.O_PATH)
    is_able = opens_cached(fd)
    os.close(fd)
    backend = await open_local(root, LocalOptions())

    async def hops_of_a_read() -> int:
        hops.clear()
        target = await target_of(backend, "a")
        assert (await backend.read(target)).data == b"x" * 1000
        return len(hops)

    try:
        # It may have dropped what was written, or be busy with a mount: what is read in a thread is in memory again.
        with anyio.move_on_after(WAIT_S):
            while await hops_of_a_read() != (0 if is_able else 2):
                pass
        assert len(hops) == (0 if is_able else 2)
    finally:
        await backend.aclose()
