"""Batches of files are searched side by side, and what the files have is taken in order."""

import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import checkpoint

from fs_core.errors import FsError
from fs_core.search._gathering import Outcome
from fs_core.search._searching import FileSearch, SearchEnded
from fs_core.types import Target

__all__ = ["InOrder"]


class InOrder:
    """Searches batches, at most `calls` that are not taken yet.

    `take` is told what the files of a batch have, as soon as all before them are taken. When it returns false all
    searches end.
    """

    def __init__(
        self,
        search: FileSearch,
        take: Callable[[Sequence[Target], Sequence[Outcome | FsError]], bool],
        *,
        calls: int,
    ) -> None:
        self._search = search
        self._take = take
        self._calls = calls
        self._free = anyio.Semaphore(calls)
        self._begun, self._waiting = anyio.create_memory_object_stream[_Batch](math.inf)
        self._has_ended = anyio.Event()
        self._failure: FsError | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Search what is begun within the block, which ends when all is taken. What it raises goes on as it is.

        Raises:
            Unavailable: the store cannot be asked.
            FsError: raised by `take`.
        """
        with self._begun, self._waiting:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._take_all)
                try:
                    yield
                    self._begun.close()
                    await self._has_ended.wait()
                except FsError as error:
                    self._failure = error
                finally:
                    self._search.end()
                    self._tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    @property
    def is_idle(self) -> bool:
        """Whether all that was begun is taken."""
        return self._free.value == self._calls

    async def begin(self, files: Sequence[Target]) -> None:
        """Begin to search a batch as soon as there is a place for it, unless no more is taken."""
        await self._free.acquire()
        if self._has_ended.is_set():
            self._free.release()
            return
        batch = _Batch(files)
        self._begun.send_nowait(batch)
        self._tasks.start_soon(batch.search, self._search)
        await checkpoint()  # so that it is under way while the next one is put together

    async def _take_all(self) -> None:
        try:
            async for batch in self._waiting:
                is_enough = await self._taken(batch)
                self._free.release()
                if is_enough:
                    self._search.end()
                    break
            self._has_ended.set()
        except FsError as error:
            self._failure = error
            self._tasks.cancel_scope.cancel()

    async def _taken(self, batch: "_Batch") -> bool:
        """Take what a batch has; tell whether that is enough."""
        await batch.done.wait()
        if batch.failure is not None:
            raise batch.failure
        return not self._take(batch.files, batch.outcomes)


class _Batch:
    """Files that are searched together, and what came of it."""

    def __init__(self, files: Sequence[Target]) -> None:
        self.files = files
        self.outcomes: Sequence[Outcome | FsError] = ()
        self.failure: FsError | None = None
        self.done = anyio.Event()

    async def search(self, search: FileSearch) -> None:
        try:
            self.outcomes = await search.outcomes(self.files)
        except FsError as error:
            self.failure = error
        except SearchEnded:
            return
        self.done.set()
