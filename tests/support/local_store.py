"""Local disk as a store under test."""

from backends.local import open_local
from backends.options import LocalOptions
from fs_core.protocol import Backend
from fs_core.testing.harness import DirectoryHarness

__all__ = ["LocalHarness"]


class LocalHarness(DirectoryHarness):
    """A directory of this machine, opened as such."""

    async def open(self) -> Backend:
        return await open_local(self.directory, LocalOptions())
