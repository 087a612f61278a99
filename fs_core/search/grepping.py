"""Lines that match in all files below a directory, in the order of the walk and within bounds."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from fs_core.errors import FsError, NotDirectory, NotFound
from fs_core.paths import RootedPath
from fs_core.protocol import Backend
from fs_core.search._gathering import Gathering, Outcome
from fs_core.search._searching import FileSearch, SearchEnded
from fs_core.search._sieve import reason_of
from fs_core.search._starting import require_directory
from fs_core.search._telling import Telling
from fs_core.search.bounds import SearchBounds, Watch
from fs_core.search.globs import EVERYTHING, Glob, parse_glob
from fs_core.search.lines import Room
from fs_core.search.outcomes import Bound, Grepped
from fs_core.search.pattern import PatternError, line_pattern
from fs_core.search.walk import Walk
from fs_core.types import FileKind, Target

__all__ = ["LineQuery", "grep"]

COUNTING_S_MAX: Final = 5.0
"""So long names are still counted behind the last line for which there is room."""


@dataclass(frozen=True, slots=True)
class LineQuery:
    """Which lines are looked for.

    Attributes:
        pattern: A regular expression, see `fs_core.search.pattern`.
        include: A glob of the files that are searched, see `fs_core.search.globs`; `None` for all.
        context: How many lines around each match are shown.
        ignore_case: Whether case is no matter.
    """

    pattern: str
    include: str | None = None
    context: int = 0
    ignore_case: bool = False


async def grep(
    backend: Backend, start: Target, query: LineQuery, *, bounds: SearchBounds, watch: Watch | None
) -> Grepped:
    """Return the first lines that match in the files below `start`, or in `start` itself if it is a file.

    The files come in the order of their paths, whatever is read side by side. The search ends with the last line for
    which there is room; what is left is counted. `include` is for files below a directory.

    Raises:
        PatternError: the pattern or `include` cannot be used.
        NotFound, NotDirectory, PermissionDenied: `start` cannot be searched.
        Unavailable: the store cannot be asked.
    """
    return await _Grep(backend, start, query, bounds=bounds, watch=watch).run()


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


_Begin: TypeAlias = Callable[[Sequence[Target]], Awaitable[None]]


class _Grep:
    """One search: batches of files are searched side by side, and what they have is taken in order."""

    def __init__(
        self, backend: Backend, start: Target, query: LineQuery, *, bounds: SearchBounds, watch: Watch | None
    ) -> None:
        self._backend = backend
        self._start = start
        self._bounds = bounds
        self._include = _include(query.include)
        self._telling = Telling(watch)
        room = Room(matches=bounds.matches_max, size_bytes=bounds.result_bytes_max)
        self._gathering = Gathering(room, context=query.context)
        self._file_search = partial(
            FileSearch,
            backend,
            line_pattern(query.pattern, ignore_case=query.ignore_case),
            context=query.context,
            line_chars_max=bounds.line_chars_max,
            file_bytes_max=bounds.file_bytes_max,
            room=room,
        )
        self._walk: Walk | None = None
        self._pending: deque[_Batch] = deque()
        self._met = 0
        self._has_met_all = False

    async def run(self) -> Grepped:
        """Search as long as there is time."""
        with anyio.move_on_after(self._bounds.timeout_s):
            try:
                await self._search_below()
            except (NotFound, NotDirectory):
                info = await self._backend.stat(self._start)
                if info is None or info.kind is not FileKind.FILE:
                    await require_directory(self._backend, self._start)
                else:
                    await self._search_alone()
                self._has_met_all = True
        return self._grepped()

    def _grepped(self) -> Grepped:
        gathering = self._gathering
        is_exact = self._has_met_all and (self._walk is None or self._walk.is_complete)
        left = self._met - gathering.searched - gathering.skipped.total()
        bound = gathering.bound
        if bound is None and (left or not self._has_met_all):
            bound = Bound.MATCHES if gathering.is_full else Bound.SECONDS
        skipped = gathering.skipped if self._walk is None else gathering.skipped + self._walk.skipped
        return Grepped(
            start=self._start,
            files=tuple(gathering.shown),
            matches=gathering.matches,
            files_searched=gathering.searched,
            files_left=left,
            is_exact=is_exact,
            bound=bound,
            skipped=dict(+skipped),
        )

    async def _search_below(self) -> None:
        base = await self._base()
        async with Walk(self._backend, base, glob=self._include, bounds=self._bounds, ordered=True) as walk:
            self._walk = walk
            async with self._side_by_side() as begin:
                await self._search_files(walk, begin)
            with anyio.move_on_after(COUNTING_S_MAX):
                async for run in walk:
                    self._met += len(run.files)
                    self._telling.tell(walk, found=self._gathering.matches)
                self._has_met_all = True

    async def _base(self) -> Target:
        """Return the directory that all files that are included are below."""
        if not self._include.base:
            return self._start
        shown = self._start.display_path
        names = () if shown == "." else tuple(shown.split("/"))
        return await self._backend.resolve(RootedPath((*names, *self._include.base)))

    async def _search_alone(self) -> None:
        """Search the file that was named; what keeps it from being read is raised."""
        self._walk, self._met = None, 1
        async with self._side_by_side() as begin:
            await begin([self._start])
            outcome = (await self._next()).outcomes[0]
            if isinstance(outcome, FsError):
                raise outcome
            self._gathering.add(self._start.display_path, outcome)

    async def _search_files(self, walk: Walk, begin: _Begin) -> None:
        """Search until all files are searched, or there is no room for more lines."""
        bulk, files = self._backend.bulk, list[Target]()
        async for run in walk:
            self._met += len(run.files)
            for name in run.files:
                files.append(self._backend.child(run.base, name))
                if len(files) == bulk.files:
                    await self._make_way(bulk.calls)
                    if self._gathering.is_full:
                        return
                    await begin(files)
                    files = []
            self._telling.tell(walk, found=self._gathering.matches)
        await self._make_way(bulk.calls)
        if files and not self._gathering.is_full:
            await begin(files)
        await self._make_way(1)

    @asynccontextmanager
    async def _side_by_side(self) -> AsyncGenerator[_Begin]:
        """Give what begins to search a batch; all end with the block, and what it raises goes on as it is."""
        search = self._file_search()

        async def begin(files: Sequence[Target]) -> None:
            batch = _Batch(files)
            self._pending.append(batch)
            group.start_soon(batch.search, search)
            await checkpoint()  # so that it is under way while the next one is put together

        failure: FsError | None = None
        async with anyio.create_task_group() as group:
            try:
                yield begin
            except FsError as error:
                failure = error
            finally:
                search.end()
                group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _make_way(self, calls: int) -> None:
        """Take what is done until fewer than `calls` batches are searched, or there is no room for more."""
        while self._pending and not self._gathering.is_full:
            if len(self._pending) < calls and not self._pending[0].done.is_set():
                return
            batch = await self._next()
            for file, outcome in zip(batch.files, batch.outcomes, strict=True):
                if not self._gathering.is_full:
                    is_refused = isinstance(outcome, FsError)
                    self._gathering.add(file.display_path, reason_of(outcome) if is_refused else outcome)

    async def _next(self) -> _Batch:
        batch = self._pending.popleft()
        await batch.done.wait()
        if batch.failure is not None:
            raise batch.failure
        return batch


def _include(pattern: str | None) -> Glob:
    if pattern is None:
        return EVERYTHING
    glob = parse_glob(pattern)
    if glob.parents:
        raise PatternError("glob: .. leads out of the directory that is searched", position=pattern.find(".."))
    return glob
