"""Small steps of the tests that write to local disk."""

from pathlib import Path

from hypothesis import strategies as st

from backends.local import LocalBackend
from fs_core.splice import Replacement, Splice
from fs_core.testing.conformance import target_of
from fs_core.types import IfVersion, WriteReceipt

__all__ = ["names", "never", "replace", "splices"]


async def replace(backend: LocalBackend, path: str, data: bytes) -> WriteReceipt:
    """Read, then replace what was read."""
    target = await target_of(backend, path)
    return await backend.write(target, data, condition=IfVersion((await backend.read(target)).version))


def names(directory: Path) -> list[str]:
    """Return what stands in a directory, hidden names included."""
    return sorted(entry.name for entry in directory.iterdir())


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
