"""Two backends on a store with one file, and a look whether anything of them is left afterwards."""

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
import pytest

from backends.generic import open_generic
from backends.options import FsspecOptions
from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.protocol import Backend
from fs_core.session import FileSession
from fs_core.testing.conformance import target_of
from fs_core.testing.harness import DirectoryHarness, StoreHarness
from tests.cases.stores import new_root
from tests.support.census import Census

__all__ = ["AT_ONCE", "FILE", "OLD", "PROMPT_S", "Stage", "new_store", "staged"]

FILE: Final = "d/a.txt"
OLD: Final = b"old content\n" * 3

PROMPT_S: Final = 30.0
"""What takes longer waits for something that is not coming."""

AT_ONCE: Final = 40
"""More operations than any store has places for."""


class GenericHarness(DirectoryHarness):
    """A directory of this machine, opened through fsspec, read only."""

    async def open(self) -> Backend:
        return await open_generic(f"file://{self.directory}", FsspecOptions())


def new_store(store: str, request: pytest.FixtureRequest) -> StoreHarness:
    """Return an empty root in a store that is called as in `tests.cases.stores`, or `generic`."""
    if store == "generic":
        return GenericHarness(request.getfixturevalue("tmp_path"))
    return new_root(".", store, request).workspace


@dataclass(frozen=True)
class Stage:
    """A store in which `FILE` holds `OLD`, and two backends on it that know nothing of each other.

    What an operation opened stands in `opened`.
    """

    harness: StoreHarness
    backend: Backend
    other: Backend
    files: BackedFileSystem
    opened: list[Backend] = field(default_factory=list[Backend])

    def session(self) -> FileSession:
        """Return a new agent's view, who has seen nothing yet."""
        return FileSession(self.files, policy=ReadBeforeWrite(owner=OwnerId("agent"), store=MemoryObservations()))

    async def answers_many_at_once(self, backend: Backend) -> None:
        """Ask more at once than there are places: none is taken for good."""
        target = await target_of(backend, FILE)
        with anyio.fail_after(PROMPT_S):
            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(backend.stat, target)


@asynccontextmanager
async def staged(harness: StoreHarness) -> AsyncGenerator[Stage]:
    """Give a stage; afterwards every place is free, nothing is locked, and nothing of the backends is left."""
    harness.put(FILE, OLD)
    await (await harness.open()).aclose()  # what the first one loads or starts for good is nobody's
    before = Census.take()
    backend, other = await harness.open(), await harness.open()
    stage = Stage(harness, backend, other, BackedFileSystem(backend))
    try:
        yield stage
        assert len(stage.files._locks) == 0  # pyright: ignore[reportPrivateUsage] - nothing else tells
        await stage.answers_many_at_once(backend)
    finally:
        await backend.aclose()
        await other.aclose()
    gc.collect()
    await before.is_back()
