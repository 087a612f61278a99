"""Reads on local disk: how many calls they take, in which pieces they come, and what ends them."""

import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from backends._workers import CallCancelled, WorkerCall
from backends.local import LocalBackend, _reading, _tree, open_local
from backends.local._reading import PIECE_BYTES, read_whole, scan
from backends.local._tree import opened_regular
from backends.options import LocalOptions
from fs_core.digest import content_digest
from fs_core.errors import StaleVersion, TooLarge
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import Unguarded
from fs_core.testing.conformance import target_of
from fs_core.types import Snapshot, Target, TargetKey
from tests.backends.local.counting import CountingOs

pytestmark = pytest.mark.anyio

R = TypeVar("R")

TARGET = Target(TargetKey("/root/a.txt"), "a.txt")


@pytest.fixture
async def backend(root: Path) -> AsyncGenerator[LocalBackend]:
    backend = await open_local(root, LocalOptions())
    yield backend
    await backend.aclose()


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> CountingOs:
    counting = CountingOs()
    for module in (_reading, _tree):
        monkeypatch.setattr(module, "os", counting)
    return counting


def run(root: Path, work: Callable[[_tree.Opened], R]) -> R:
    """Run `work` on the opened `a.txt`, without a thread."""
    directory = os.open(root, os.O_RDONLY)
    try:
        with opened_regular(directory, "a.txt", path="a.txt", operation="read") as opened:
            return work(opened)
    finally:
        os.close(directory)


# -- calls -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_page_takes_three_calls_on_the_data_and_four_to_open_it(
    backend: LocalBackend, root: Path, counting: CountingOs
) -> None:
    (root / "a.txt").write_bytes(bytes(1 << 20))
    target = await target_of(backend, "a.txt")
    seen = await backend.stat(target)
    assert seen is not None
    counting.calls.clear()
    page = await backend.read(target, offset=500_000, limit=100_000, pinned=seen.version)
    assert len(page.data) == 100_000
    opening, data, closing = counting.calls[:3], counting.calls[3:6], counting.calls[6:]
    assert opening == ["dup", "stat", "open"]
    assert data == ["fstat", "pread", "fstat"]
    assert closing == ["close", "close"]


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_warm_page_of_the_seam_takes_three_calls_on_the_data(
    backend: LocalBackend, root: Path, counting: CountingOs, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_bytes(b"a line of text\n" * 200_000)
    later_ns = (root / "a.txt").stat().st_mtime_ns + 10_000_000_000  # so that the time stamp can be trusted
    monkeypatch.setattr("backends.local._version.time.time_ns", lambda: later_ns)
    files = BackedFileSystem(backend)
    target = await files.resolve("a.txt")
    for first_line in (1, 100_000, 190_000):
        counting.calls.clear()
        page = await files.read(target, Window(first_line=first_line, lines_max=1000), policy=Unguarded())
        assert page.page.total_lines == 200_000
    assert [name for name in counting.calls if name in {"fstat", "pread", "preadv"}] == ["fstat", "pread", "fstat"]
    assert len(counting.calls) == 8


async def test_a_whole_chunk_takes_one_read(backend: LocalBackend, root: Path, counting: CountingOs) -> None:
    (root / "a.txt").write_bytes(bytes(1 << 20))
    snapshot = await backend.read(await target_of(backend, "a.txt"))
    assert snapshot.is_whole
    assert counting.calls.count("pread") == 1


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_directory_on_the_way_takes_two_calls(backend: LocalBackend, root: Path, counting: CountingOs) -> None:
    (root / "b" / "c").mkdir(parents=True)
    (root / "b" / "c" / "a.txt").write_bytes(b"x")
    target = await target_of(backend, "b/c/a.txt")
    counting.calls.clear()
    await backend.read(target)
    assert counting.calls[:5] == ["dup", "open", "close", "open", "close"]
    assert len(counting.calls) == 12


@pytest.mark.usefixtures("nothing_in_memory")
async def test_a_path_is_resolved_in_one_call_for_each_name(
    backend: LocalBackend, root: Path, counting: CountingOs
) -> None:
    (root / "b" / "c").mkdir(parents=True)
    await target_of(backend, "b/c/a.txt")
    assert counting.calls == ["dup", "readlink", "readlink", "readlink", "close"]


def test_a_file_that_is_too_large_is_not_read(root: Path, counting: CountingOs) -> None:
    (root / "a.txt").write_bytes(b"four")
    with pytest.raises(TooLarge, match="has 4 bytes; at most 3 are held at once"):
        run(root, lambda opened: read_whole(opened, TARGET, size_bytes_max=3, call=WorkerCall()))
    assert not {"pread", "preadv"} & {*counting.calls}


# -- pieces ------------------------------------------------------------------------------------------------------------


def short_reads(monkeypatch: pytest.MonkeyPatch, bytes_max: int) -> None:
    """Have `preadv` return at most `bytes_max`, as network file systems and signals may."""

    def preadv(fd: int, buffers: "list[bytearray | memoryview]", offset: int) -> int:
        data = os.pread(fd, min(bytes_max, sum(map(len, buffers))), offset)
        rest = data
        for buffer in buffers:
            part, rest = rest[: len(buffer)], rest[len(buffer) :]
            memoryview(buffer)[: len(part)] = part
        return len(data)

    monkeypatch.setattr(_reading.os, "preadv", preadv)


SIZES = [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 3 * PIECE_BYTES, 5 * PIECE_BYTES + 7]
every_size = pytest.mark.parametrize("size", SIZES)
every_read = pytest.mark.parametrize("bytes_max", [1 << 30, PIECE_BYTES - 1, PIECE_BYTES + 1])


@every_size
@every_read
def test_a_scan_feeds_every_byte_once_in_pieces_that_begin_where_blocks_do(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: int, bytes_max: int
) -> None:
    content = os.urandom(size)
    (root / "a.txt").write_bytes(content)
    short_reads(monkeypatch, bytes_max)
    pieces: list[bytes] = []
    scanned = run(root, lambda opened: scan(opened, TARGET, lambda piece: pieces.append(bytes(piece)), WorkerCall()))
    assert b"".join(pieces) == content
    assert all(len(piece) == PIECE_BYTES for piece in pieces[:-1])
    assert scanned.size_bytes == size
    assert scanned.version.digest == content_digest(content)


def test_a_scan_of_a_large_file_uses_two_buffers_again_and_again(root: Path) -> None:
    (root / "a.txt").write_bytes(bytes(20 * PIECE_BYTES))
    buffers: dict[int, bytes | bytearray] = {}  # kept, so that no address is used for two

    def sink(piece: bytes | bytearray) -> None:
        buffers[id(piece)] = piece

    run(root, lambda opened: scan(opened, TARGET, sink, WorkerCall()))
    assert len(buffers) == 2


@every_size
@every_read
def test_a_whole_read_returns_every_byte(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: int, bytes_max: int
) -> None:
    content = os.urandom(size)
    (root / "a.txt").write_bytes(content)
    short_reads(monkeypatch, bytes_max)
    snapshot = run(root, lambda opened: read_whole(opened, TARGET, size_bytes_max=size, call=WorkerCall()))
    assert snapshot.data == content
    assert snapshot.is_whole
    assert snapshot.version.digest == content_digest(content)


# -- what ends them ----------------------------------------------------------------------------------------------------


def test_a_scan_is_given_up_between_two_pieces(root: Path) -> None:
    (root / "a.txt").write_bytes(bytes(20 * PIECE_BYTES))
    call = WorkerCall()
    fed: list[int] = []

    def sink(piece: bytes | bytearray) -> None:
        fed.append(len(piece))
        call.cancel()

    with pytest.raises(CallCancelled):
        run(root, lambda opened: scan(opened, TARGET, sink, call))
    assert len(fed) == 2


def test_a_whole_read_is_given_up_between_two_steps(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.txt").write_bytes(bytes(20 * PIECE_BYTES))
    call = WorkerCall()
    reads: list[int] = []

    def preadv(fd: int, buffers: list[memoryview], offset: int) -> int:
        call.cancel()
        reads.append(offset)
        return len(buffers[0])

    monkeypatch.setattr(_reading.os, "preadv", preadv)
    with pytest.raises(CallCancelled):
        run(root, lambda opened: read_whole(opened, TARGET, size_bytes_max=1 << 30, call=call))
    assert reads == [0]


@pytest.mark.parametrize("size", [PIECE_BYTES // 2, 20 * PIECE_BYTES])
@pytest.mark.parametrize("change", [b"", b"other", b"x" * (30 * PIECE_BYTES)])
def test_a_file_that_changes_while_it_is_read_is_stale(root: Path, size: int, change: bytes) -> None:
    def changed(opened: _tree.Opened) -> _tree.Opened:
        (root / "a.txt").write_bytes(change)
        return opened

    works: list[Callable[[_tree.Opened], object]] = [
        lambda opened: scan(changed(opened), TARGET, bytearray().extend, WorkerCall()),
        lambda opened: read_whole(changed(opened), TARGET, size_bytes_max=1 << 30, call=WorkerCall()),
    ]
    for work in works:
        (root / "a.txt").write_bytes(bytes(size))
        with pytest.raises(StaleVersion):
            run(root, work)


async def test_a_file_of_proc_is_read_whole_within_its_bound() -> None:
    backend = await open_local(Path("/proc/self"), LocalOptions())
    try:
        target = await target_of(backend, "cmdline")
        snapshot: Snapshot = await backend.read_whole(target, size_bytes_max=1 << 20)
        with pytest.raises(TooLarge):
            await backend.read_whole(target, size_bytes_max=1)
    finally:
        await backend.aclose()
    assert snapshot.is_whole
    assert b"python" in snapshot.data
