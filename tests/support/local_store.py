"""Local disk as a store under test."""

from pathlib import Path

import pytest

from backends.local import open_local
from backends.options import LocalOptions
from fs_core.protocol import Backend
from fs_core.testing.harness import DirectoryHarness

__all__ = ["LocalHarness", "have_nothing_in_memory"]


class LocalHarness(DirectoryHarness):
    """A directory of this machine, opened as such."""

    def __init__(self, directory: Path, options: LocalOptions | None = None) -> None:
        super().__init__(directory)
        self._options = options or LocalOptions()

    async def open(self) -> Backend:
        return await open_local(self.directory, self._options)


def have_nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have directories that are opened from now on do everything in worker threads, as where the disk is a network."""

    def is_able(_: int) -> bool:
        return False

    monkeypatch.setattr("backends.local._cached.opens_cached", is_able)
