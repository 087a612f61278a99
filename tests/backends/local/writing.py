"""Small steps of the tests that write to local disk."""

from pathlib import Path

from backends.local import LocalBackend
from fs_core.testing.conformance import target_of
from fs_core.types import IfVersion, WriteReceipt

__all__ = ["names", "never", "replace"]


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
