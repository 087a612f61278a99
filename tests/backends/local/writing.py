"""Small steps of the tests that write to local disk."""

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from hypothesis import strategies as st

from backends._workers import WorkerCall
from backends.local import LocalBackend
from backends.local._lock import ProcessLocks, file_key
from fs_core.splice import Replacement, Splice
from fs_core.testing.conformance import target_of
from fs_core.types import IfVersion, WriteReceipt

__all__ = ["names", "names_apart", "never", "replace", "splices"]


async def replace(backend: LocalBackend, path: str, data: bytes) -> WriteReceipt:
    """Read, then replace what was read."""
    target = await target_of(backend, path)
    return await backend.write(target, data, condition=IfVersion((await backend.read(target)).version))


def names(directory: Path) -> list[str]:
    """Return what stands in a directory, hidden names included."""
    return sorted(entry.name for entry in directory.iterdir())


def names_apart(directory: Path, locks: ProcessLocks, *, number: int) -> Sequence[str]:
    """Return names for files in a directory that share no lock, as two of a thousand do, whichever they are."""
    by_bucket: dict[int, str] = {}
    fd = os.open(directory, os.O_RDONLY)
    try:
        for tried in count():
            name = f"{tried}.txt"
            with locks.hold(file_key(fd, name), call=WorkerCall(), path=name) as bucket:
                by_bucket.setdefault(bucket, name)
            if len(by_bucket) == number:
                break
    finally:
        os.close(fd)
    return [*by_bucket.values()]


def never(*_: object, **__: object) -> bool:
    """Stand in for a kernel that cannot."""
    return False


@st.composite
def splices(draw: st.DrawFn) -> Splice:
    """Small contents with some replacements."""
    before = draw(st.binary(max_size=120))
    places = sorted(draw(st.lists(st.integers(0, len(before)), max_size=12)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return Splice(before, tuple(Replacement(start, end, draw(st.binary(max_size=30))) for start, end in pairs))
