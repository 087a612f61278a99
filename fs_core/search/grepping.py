"""Lines that match in all files below a directory, in the order of the walk and within bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from fs_core.errors import FsError, NotDirectory, NotFound
from fs_core.protocol import Backend
from fs_core.search._gathering import Gathering, Outcome
from fs_core.search._in_order import InOrder
from fs_core.search._searching import FileSearch
from fs_core.search._sieve import reason_of
from fs_core.search._starting import base_of, require_directory
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


class _Grep:
    """One search."""

    def __init__(
        self, backend: Backend, start: Target, query: LineQuery, *, bounds: SearchBounds, watch: Watch | None
    ) -> None:
        self._backend = backend
        self._start = start
        self._query = query
        self._bounds = bounds
        self._pattern = line_pattern(query.pattern, ignore_case=query.ignore_case)
        self._include = _include(query.include)
        self._telling = Telling(watch)
        room = Room(matches=bounds.matches_max, size_bytes=bounds.result_bytes_max)
        self._gathering = Gathering(room, context=query.context)
        self._walk: Walk | None = None
        self._walking = anyio.CancelScope()
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
        """Search all files of the walk, or count them when there is no room for more lines."""
        in_order = InOrder(self._file_search(), self._take, calls=self._backend.bulk.calls)
        base = await base_of(self._backend, self._start, self._include, self._query.include or "")
        child, size = self._backend.child, self._backend.bulk.files
        async with Walk(self._backend, base, glob=self._include, bounds=self._bounds, ordered=True) as walk:
            self._walk = walk
            async with in_order.running():
                files: list[Target] = []
                with self._walking:
                    async for run in walk:
                        self._met += len(run.files)
                        self._telling.tell(walk, found=self._gathering.matches)
                        if not self._gathering.is_full:
                            files += [child(run.base, name) for name in run.files]
                            if len(files) >= size or in_order.is_idle:
                                files = await self._begin(in_order, files)
                    self._has_met_all = True
                if files:
                    await in_order.begin(files)

    async def _begin(self, in_order: InOrder, files: Sequence[Target]) -> list[Target]:
        """Begin whole batches, or a smaller one if nothing else is to be done; return the files for the next one."""
        size, first = self._backend.bulk.files, 0
        while len(files) - first >= size or (first < len(files) and in_order.is_idle):
            await in_order.begin(files[first : first + size])
            first += size
        return list(files[first:])

    async def _search_alone(self) -> None:
        """Search the file that was named; what keeps it from being read is raised."""
        self._walk, self._met = None, 1
        in_order = InOrder(self._file_search(), self._take_named, calls=1)
        async with in_order.running():
            await in_order.begin([self._start])

    def _take(self, files: Sequence[Target], outcomes: Sequence[Outcome | FsError]) -> bool:
        gathering = self._gathering
        for file, outcome in zip(files, outcomes, strict=True):
            gathering.add(file.display_path, reason_of(outcome) if isinstance(outcome, FsError) else outcome)
            if gathering.is_full:
                self._walking.deadline = anyio.current_time() + COUNTING_S_MAX
                return False
        return True

    def _take_named(self, files: Sequence[Target], outcomes: Sequence[Outcome | FsError]) -> bool:
        for outcome in outcomes:
            if isinstance(outcome, FsError):
                raise outcome
        return self._take(files, outcomes)

    def _file_search(self) -> FileSearch:
        return FileSearch(
            self._backend,
            self._pattern,
            context=self._query.context,
            line_chars_max=self._bounds.line_chars_max,
            file_bytes_max=self._bounds.file_bytes_max,
            room=self._gathering.room,
        )


def _include(pattern: str | None) -> Glob:
    if pattern is None:
        return EVERYTHING
    glob = parse_glob(pattern)
    if glob.parents:
        raise PatternError("glob: .. leads out of the directory that is searched", position=pattern.find(".."))
    return glob
