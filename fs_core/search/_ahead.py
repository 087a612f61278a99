"""Directories are listed before a walk comes to them, those that it comes to first first, and in bounded number."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final

import anyio
from anyio.abc import TaskGroup

from fs_core.errors import FsError
from fs_core.protocol import Backend
from fs_core.search._ignoring import read_ignore_files, without_ignored
from fs_core.search._sieve import Directory, Sieve, reason_of
from fs_core.search.bounds import SearchBounds
from fs_core.types import Level

__all__ = ["Ahead"]

HELD_MAX: Final = 100_000
"""Weight of directories that are listed and not yet taken; while it is more, only what is waited for is listed."""
RULE_CHARS_PER_NAME: Final = 4
SMALL_NAMES_MAX: Final = 10_000
"""A directory with more names is listed once more by itself, if it was listed with others."""


class Ahead:
    """Lists a directory and all below it, as far as the sieve lets through, in the tasks of a group."""

    def __init__(
        self, backend: Backend, tasks: TaskGroup, sieve: Sieve, *, bounds: SearchBounds, with_sizes: bool
    ) -> None:
        self._backend = backend
        self._tasks = tasks
        self._sieve = sieve
        self._bounds = bounds
        self._with_sizes = with_sizes
        self._start: Directory | None = None
        self._large: set[Directory] = set()
        # One directory of each parent stands for its brothers behind it too.
        self._nearest: list[tuple[str, int, Directory]] = []
        self._pushed = count()
        self._unlisted = 0
        # Calls that are not answered, and batches that are listed or sifted: the next call goes out before the sifting.
        self._calls = 0
        self._batches = 0
        self._held = 0
        self._listed: OrderedDict[tuple[Directory | None, int], Directory] = OrderedDict()
        self._is_awaited = False
        self._failure: FsError | None = None
        self._changed = anyio.Event()

    def begin(self, start: Directory) -> None:
        """Begin with `start`, which is not listed yet."""
        self._start = start
        self._unlisted = 1
        self._push(start)
        self._list_more()

    async def directories(self) -> AsyncGenerator[Directory]:
        """Return all directories, as they are listed."""
        while self._listed or self._unlisted or self._batches or self._failure is not None:
            while not self._listed:
                await self._more_listed()
            yield self._taken(self._listed.popitem(last=False)[1])

    async def child(self, parent: Directory | None, index: int) -> Directory:
        """Return a directory below `parent`, or the first of all, when it is listed."""
        while (directory := self._listed.pop((parent, index), None)) is None:
            await self._more_listed()
        return self._taken(directory)

    async def _more_listed(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._is_awaited = True
        self._list_more()
        await self._changed.wait()
        self._is_awaited = False

    def _taken(self, directory: Directory) -> Directory:
        was_full = self._held >= HELD_MAX
        self._held -= directory.weight
        if was_full:
            self._list_more()
        return directory

    def _push(self, directory: Directory) -> None:
        heappush(self._nearest, (directory.prefix, next(self._pushed), directory))

    def _list_more(self) -> None:
        """Start as many calls as may run now."""
        if self._tasks.cancel_scope.cancel_called:
            return
        at_once = self._backend.bulk
        while self._nearest and self._calls < at_once.calls and self._batches <= at_once.calls:
            if self._held >= HELD_MAX and (self._batches or not self._is_awaited):
                return
            # A call is filled before another one begins: more of them may want connections that are not there yet.
            size = at_once.directories if self._held < HELD_MAX else 1
            self._calls += 1
            self._batches += 1
            self._tasks.start_soon(self._list, self._batch(size))

    def _batch(self, size: int) -> Sequence[Directory]:
        """Return the nearest directories that are not listed yet; a large one alone."""
        batch: list[Directory] = []
        while len(batch) < size and self._nearest:
            directory = self._nearest[0][2]
            if directory in self._large and batch:
                break
            heappop(self._nearest)
            self._unlisted -= 1
            batch.append(directory)
            if directory in self._large:
                break
            if directory.parent is not None:
                self._push_child(directory.parent, directory.index + 1)
        return batch

    def _push_child(self, parent: Directory, index: int) -> None:
        if index < len(parent.below):
            target = self._backend.child(parent.target, parent.below[index])
            state, rules = parent.states[index], parent.rules
            self._push(Directory(target, state=state, rules=rules, parent=parent, index=index))

    async def _list(self, batch: Sequence[Directory]) -> None:
        try:
            await self._list_batch(batch)
        except FsError as error:
            self._failure = self._failure or error
            self._nearest.clear()
        finally:
            self._batches -= 1
        self._list_more()
        self._changed.set()
        self._changed = anyio.Event()

    async def _list_batch(self, batch: Sequence[Directory]) -> None:
        entries_max = self._bounds.directory_entries_max
        if len(batch) > 1:
            entries_max = min(entries_max, SMALL_NAMES_MAX)
        targets = [directory.target for directory in batch]
        try:
            levels = await self._backend.list_many(targets, entries_max=entries_max, with_sizes=self._with_sizes)
        finally:
            self._calls -= 1
        self._list_more()
        told: list[tuple[Directory, Level]] = []
        for directory, level in zip(batch, levels, strict=True):
            if isinstance(level, FsError):
                self._refused(directory, level)
            elif level.is_complete or entries_max == self._bounds.directory_entries_max:
                told.append((directory, level))
            else:
                self._large.add(directory)
                self._unlisted += 1
                self._push(directory)
        listed: Sequence[tuple[Directory, Level]] = told
        if self._bounds.gitignore:
            await read_ignore_files(self._backend, listed, self._sieve.skipped)
            listed = await without_ignored(listed, self._sieve.skipped)
        for directory, level in listed:
            self._sieve.directories += 1
            self._sieve.sift(directory, level)
            self._large.discard(directory)
            self._add(directory)

    def _refused(self, directory: Directory, error: FsError) -> None:
        if directory is self._start:
            raise error
        self._sieve.skipped[reason_of(error)] += 1
        self._add(directory)

    def _add(self, directory: Directory) -> None:
        self._listed[directory.parent, directory.index] = directory
        directory.weight = _weight(directory)
        self._held += directory.weight
        self._unlisted += len(directory.below)
        self._push_child(directory, 0)


def _weight(directory: Directory) -> int:
    """Return how much memory a directory takes, in names."""
    weight, parent = len(directory.files) + len(directory.below), directory.parent
    if parent is not None and directory.rules is not parent.rules:
        weight += (directory.rules.size_chars - parent.rules.size_chars) // RULE_CHARS_PER_NAME
    return weight
