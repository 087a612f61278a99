"""Local disk as a store under test."""

from pathlib import Path

from backends.local import open_local
from backends.options import LocalOptions
from fs_core.protocol import Backend
from fs_core.testing.harness import DirectoryHarness

__all__ = ["LocalHarness"]


class LocalHarness(DirectoryHarness):
    """A directory of this machine, opened as such."""

    def __init__(self, directory: Path, options: LocalOptions | None = None) -> None:
        super().__init__(directory)
        self._options = options or LocalOptions()

    async def open(self) -> Backend:
        return await open_local(self.directory, self._options)
