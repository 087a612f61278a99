"""Edits on a file system whose files can share blocks, stood in for by a copy: never a mix of two contents."""

import errno
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends._workers import CallCancelled, WorkerCall
from backends.local import LocalBackend, _content, _kernel, _sharing, open_local
from backends.local._content import written
from backends.local._sharing import Shared, share
from backends.options import LocalOptions
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import StaleVersion
from fs_core.splice import Replacement, Splice
from fs_core.testing.conformance import target_of
from fs_core.types import IfVersion
from tests.backends.local.writing import names, splices

pytestmark = pytest.mark.anyio

BLOCK = 8
OLD = bytes(range(100))


def copied(old: int, new: int, *, start: int, to: int, size_bytes: int) -> bool:
    """Do what a kernel does that shares blocks, as far as a reader can tell."""
    assert start % BLOCK == to % BLOCK == size_bytes % BLOCK == 0
    return os.pwrite(new, os.pread(old, size_bytes, start).ljust(size_bytes), to) == size_bytes


@pytest.fixture
async def backend(root: Path, small_blocks: None) -> AsyncGenerator[LocalBackend]:
    del small_blocks
    backend = await open_local(root, LocalOptions())
    yield backend
    await backend.aclose()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(monkeypatch)


def set_up(patching: pytest.MonkeyPatch) -> None:
    patching.setattr(_sharing, "share_blocks", copied)
    patching.setattr(_sharing, "_BLOCK_BYTES", BLOCK)
    patching.setattr(_sharing, "_SHARED_BYTES_MIN", BLOCK)
    patching.setattr(_content, "_WRITE_BYTES", 5)


@settings(max_examples=200)
@given(splice=splices(), works=st.integers(0, 5))
def test_what_is_shared_and_written_makes_the_new_content(splice: Splice, works: int) -> None:
    """`works` is how often the kernel shares blocks before it does not."""
    old, new = os.memfd_create("old"), os.memfd_create("new")
    hasher = ContentHasher()
    left = works

    def sometimes(*descriptors: int, **place: int) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and copied(*descriptors, **place)

    try:
        os.write(old, splice.before)
        with pytest.MonkeyPatch.context() as patching:
            set_up(patching)
            patching.setattr(_sharing, "share_blocks", sometimes)
            shared = share(old, new, splice, call=WorkerCall())
            positions = list(written(new, splice, shared=shared, hasher=hasher))
        assert hasher.digest() == content_digest(splice.joined())
        assert len(shared) <= works
        assert os.pread(new, 1000, 0) == splice.joined()
        assert positions[-1] == splice.size_bytes
    finally:
        os.close(old)
        os.close(new)


def test_what_stays_in_its_place_in_whole_blocks_is_shared(small_blocks: None) -> None:
    old, new = os.memfd_create("old"), os.memfd_create("new")
    try:
        os.write(old, OLD)
        splice = Splice(OLD, (Replacement(20, 21, b"1"), Replacement(50, 51, b"12"), Replacement(90, 97, b"")))
        shared = share(old, new, splice, call=WorkerCall())
    finally:
        os.close(old)
        os.close(new)
    assert shared == (Shared(0, 0, 16), Shared(24, 24, 24))  # all that follows has moved by less than a block


async def patch(backend: LocalBackend, root: Path) -> Splice:
    (root / "a.txt").write_bytes(OLD)
    target = await target_of(backend, "a.txt")
    seen = await backend.read_whole(target, size_bytes_max=1000)
    splice = Splice(seen.data, (Replacement(50, 51, b"new"),))
    receipt = await backend.patch(target, splice, condition=IfVersion(seen.version))
    assert receipt.version.digest == content_digest(splice.joined())
    return splice


def around_sharing(
    monkeypatch: pytest.MonkeyPatch, *, before: Callable[[], object], after: Callable[[], object]
) -> None:
    def shared(old: int, new: int, **place: int) -> bool:
        before()
        done = copied(old, new, **place)
        after()
        return done

    monkeypatch.setattr(_sharing, "share_blocks", shared)


def nothing() -> None:
    """Let it pass."""


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_write_in_place_around_the_sharing_ends_in_stale_and_stays(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    theirs = b"!" * len(OLD)

    def foreign() -> None:
        (root / "a.txt").write_bytes(theirs)

    around_sharing(monkeypatch, **{"before": nothing, "after": nothing, moment: foreign})
    with pytest.raises(StaleVersion):
        await patch(backend, root)
    assert (root / "a.txt").read_bytes() == theirs
    assert names(root) == ["a.txt"]


@pytest.mark.parametrize("theirs", [OLD[:30] + b"!" + OLD[31:], OLD[:-1] + b"!", OLD[:10], b""])
def test_another_content_than_the_expected_one_is_written_over_whatever_metadata_tell(
    small_blocks: None, theirs: bytes
) -> None:
    """As a store through a shared mapping makes it, to a page that was written to before: no time moves."""
    old, new = os.memfd_create("old"), os.memfd_create("new")
    splice = Splice(OLD, (Replacement(50, 51, b"2"),))
    try:
        os.write(old, theirs)
        shared = share(old, new, splice, call=WorkerCall())
        assert list(written(new, splice, shared=shared))
        assert os.pread(new, 1000, 0) == splice.joined()
        assert (shared == ()) == (theirs[:96] != OLD[:96])  # the last four bytes are no block
    finally:
        os.close(old)
        os.close(new)


async def test_a_touch_around_the_sharing_is_no_change(
    backend: LocalBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around_sharing(monkeypatch, before=nothing, after=lambda: os.utime(root / "a.txt", (1, 1)))
    splice = await patch(backend, root)
    assert (root / "a.txt").read_bytes() == splice.joined()


def test_comparing_what_is_shared_can_be_given_up(small_blocks: None) -> None:
    call = WorkerCall()
    call.cancel()
    old, new = os.memfd_create("old"), os.memfd_create("new")
    try:
        os.write(old, OLD)
        with pytest.raises(CallCancelled):
            share(old, new, Splice(OLD, ()), call=call)
    finally:
        os.close(old)
        os.close(new)


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY])
def test_a_kernel_that_cannot_share_blocks_is_no_fault(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(_kernel.fcntl, "ioctl", refuse)
    assert not _kernel.share_blocks(0, 1, start=0, to=0, size_bytes=4096)
