"""Two backends on a store with one file, and a look whether anything of them is left afterwards."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import pytest
import sniffio

from backends.generic import open_generic
from backends.options import FsspecOptions
from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.protocol import Backend
from fs_core.session import FileSession
from fs_core.testing.conformance import target_of
from fs_core.testing.harness import DirectoryHarness, StoreHarness
from tests.cases.stores import new_root

__all__ = ["AT_ONCE", "FILE", "OLD", "PROMPT_S", "Census", "Stage", "new_store", "staged"]

FILE: Final = "d/a.txt"
OLD: Final = b"old content\n" * 3

PROMPT_S: Final = 15.0
"""What takes longer waits for something that is not coming."""

AT_ONCE: Final = 40
"""More operations than any store has places for."""

_POOLED: Final = ("AnyIO worker", "Trio thread", "asyncio_", "fsspecIO")


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
class Census:
    """What this process holds. Idle threads that event loops keep for later are not counted: they hold nothing."""

    threads: tuple[str, ...]
    descriptors: int
    tasks: int

    @classmethod
    def take(cls) -> "Census":
        names = (thread.name for thread in threading.enumerate() if not thread.name.startswith(_POOLED))
        return cls(
            threads=tuple(sorted(name.rstrip("0123456789") for name in names)),
            descriptors=sum(1 for _ in Path("/proc/self/fd").iterdir()),
            tasks=len(asyncio.all_tasks()) if sniffio.current_async_library() == "asyncio" else 0,
        )

    async def is_back(self) -> None:
        """Wait until nothing more is held than now; servers in this process take a moment to see that a client left."""
        deadline_s = anyio.current_time() + PROMPT_S
        while not self._covers(now := Census.take()):
            assert anyio.current_time() < deadline_s, (self, now)
            await anyio.sleep(0.002)

    def _covers(self, other: "Census") -> bool:
        is_covered = all(other.threads.count(name) <= self.threads.count(name) for name in other.threads)
        return is_covered and other.descriptors <= self.descriptors and other.tasks <= self.tasks


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
