"""A walk through a tree: names, directory by directory, without what is left out."""

from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio

from fs_core.protocol import Backend
from fs_core.search._ahead import Ahead
from fs_core.search._flat import FlatWalk
from fs_core.search._ignoring import rules_above
from fs_core.search._sieve import Directory, Sieve, prefix_of
from fs_core.search.bounds import SearchBounds
from fs_core.search.globs import EVERYTHING, Glob
from fs_core.search.ignore import IgnoreRules
from fs_core.search.outcomes import SkipReason
from fs_core.types import Target

__all__ = ["Run", "Walk"]


@dataclass(frozen=True, slots=True)
class Run:
    """Names that follow each other in one directory, of those that a pattern means.

    The target of a name is `backend.child(base, name)`.

    Attributes:
        base: The directory.
        files: Names of regular files, in order.
        sizes: Their sizes in bytes, if they were asked for; `None` for what vanished meanwhile.
        directories: Names of directories, if the pattern means directories; with the first run of `base`.
        links: Names of symbolic links, if they were asked for; with the first run of `base`.
    """

    base: Target
    files: Sequence[str]
    sizes: Sequence[int | None] | None = None
    directories: Sequence[str] = ()
    links: Sequence[str] = ()

    @property
    def prefix(self) -> str:
        """Return what stands before a name in its path below the root."""
        return prefix_of(self.base)


class Walk:
    """What a pattern means below `start`, as an async iteration over runs, inside `async with`.

    With `ordered` the files come in the order of their paths as byte strings; else in any order, and a little faster.
    Links are not followed. `start` itself is exempt from all rules; what cannot be listed below it is counted.

    Attributes:
        skipped: How many names of each kind were left out so far. A link that is part of a run does not count.
        directories: Directories that were listed so far.
        files: Files that were met so far, whether the pattern means them or not.
        is_complete: Whether no directory so far had more names than are looked at.

    Raises:
        NotFound, NotDirectory, PermissionDenied: `start` cannot be listed.
        Unavailable: the store cannot be asked.
    """

    def __init__(
        self,
        backend: Backend,
        start: Target,
        *,
        bounds: SearchBounds,
        glob: Glob = EVERYTHING,
        ordered: bool = False,
        with_sizes: bool = False,
        with_links: bool = False,
    ) -> None:
        self._backend = backend
        self._start = start
        self._bounds = bounds
        self._ordered = ordered
        self._glob = glob
        self._sieve = Sieve(glob, with_links=with_links)
        self._with_sizes = with_sizes
        self._tasks = anyio.create_task_group()
        self._runs = self._walked()

    @property
    def skipped(self) -> Counter[SkipReason]:
        """Return how many names of each kind were left out so far."""
        return self._sieve.skipped

    @property
    def is_complete(self) -> bool:
        """Return whether no directory had more names than are looked at."""
        return self._sieve.is_complete

    @property
    def directories(self) -> int:
        """Return how many directories were listed so far."""
        return self._sieve.directories

    @property
    def files(self) -> int:
        """Return how many files were met so far."""
        return self._sieve.files

    async def __aenter__(self) -> Self:
        """Begin; what runs ahead ends with the block."""
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End what runs ahead. What the block raised goes on as it is, so the group of tasks is not told of it."""
        self._tasks.cancel_scope.cancel()
        await self._runs.aclose()
        await self._tasks.__aexit__(None, None, None)

    def __aiter__(self) -> AsyncIterator[Run]:
        """Return the runs, once."""
        return self._runs

    async def _walked(self) -> AsyncGenerator[Run]:
        rules = await rules_above(self._backend, self._start, self.skipped) if self._bounds.gitignore else IgnoreRules()
        start = Directory(self._start, state=self._glob.start, rules=rules)
        flat = await self._flat(start)
        if flat is not None:
            runs = _as_listed(flat.directories())
        else:
            ahead = Ahead(self._backend, self._tasks, self._sieve, bounds=self._bounds, with_sizes=self._with_sizes)
            ahead.begin(start)
            runs = _in_order(ahead) if self._ordered else _as_listed(ahead.directories())
        async with aclosing(runs):
            async for run in runs:
                yield run

    async def _flat(self, start: Directory) -> FlatWalk | None:
        """Return a walk over a flat listing if there is one, it is in order if need be, and all of it may count."""
        # A flat listing has no names of directories in which nothing is.
        if not self._backend.lists_below or self._glob.depth_max is not None or self._glob.means_directories:
            return None
        if self._ordered and not self._backend.lists_in_order:
            return None
        flat = FlatWalk(
            self._backend,
            self._tasks,
            self._sieve,
            start=start,
            glob=self._glob,
            bounds=self._bounds,
            with_sizes=self._with_sizes,
        )
        await flat.begin()
        return flat if not self._ordered or self._backend.lists_in_order else None


async def _as_listed(directories: AsyncGenerator[Directory]) -> AsyncGenerator[Run]:
    """Return the runs of directories as these come."""
    async with aclosing(directories):
        async for directory in directories:
            if directory.files or _has_more_than_files(directory):
                yield _run(directory, 0, len(directory.files), is_first=True)


async def _in_order(ahead: Ahead) -> AsyncGenerator[Run]:
    """Return the runs of all directories in the order of their paths."""
    steps = [_steps(await ahead.child(None, 0))]
    while steps:
        match next(steps[-1], None):
            case None:
                steps.pop()
            case Run() as run:
                yield run
            case (parent, index):
                steps.append(_steps(await ahead.child(parent, index)))


def _steps(directory: Directory) -> Iterator[Run | tuple[Directory, int]]:
    """Return the runs of a directory and, by their places in it, the directories between them, in order."""
    low, is_first = 0, True
    for index, name in enumerate(directory.below):
        high = bisect_left(directory.files, f"{name}/", low)
        if high > low or (is_first and _has_more_than_files(directory)):
            yield _run(directory, low, high, is_first=is_first)
            low, is_first = high, False
        yield directory, index
    if low < len(directory.files) or (is_first and _has_more_than_files(directory)):
        yield _run(directory, low, len(directory.files), is_first=is_first)


def _has_more_than_files(directory: Directory) -> bool:
    return bool(directory.shown or directory.links)


def _run(directory: Directory, low: int, high: int, *, is_first: bool) -> Run:
    return Run(
        base=directory.target,
        files=directory.files[low:high],
        sizes=None if directory.sizes is None else directory.sizes[low:high],
        directories=directory.shown if is_first else (),
        links=directory.links if is_first else (),
    )
