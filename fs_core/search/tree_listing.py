"""Entries of a directory and of those below it, level by level: what is nearer to the start is shown first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio

from fs_core.errors import FsError, NotDirectory, NotFound
from fs_core.protocol import Backend
from fs_core.search._ignoring import read_ignore_files, rules_above, without_ignored
from fs_core.search._sieve import Directory, reason_of, with_slash
from fs_core.search._starting import require_directory
from fs_core.search._telling import Telling
from fs_core.search._tree_level import Kept, Room, cut_level, let_go, order_of
from fs_core.search.bounds import SearchBounds, Watch
from fs_core.search.ignore import IgnoreRules
from fs_core.search.outcomes import Bound, SkipReason, TreeListed
from fs_core.types import FileKind, Level, Target

__all__ = ["list_tree"]


async def list_tree(
    backend: Backend, start: Target, *, depth: int, bounds: SearchBounds, watch: Watch | None
) -> TreeListed:
    """Return the entries of `start`, and of the directories below it down to `depth` levels.

    When there are too many, the deepest level that was begun is cut, evenly among its directories, and none below it is
    looked at. So a level takes no more listings than there may be entries.

    Raises:
        NotFound, NotDirectory, PermissionDenied: `start` cannot be listed.
        Unavailable: the store cannot be asked.
    """
    tree = _Tree(backend, bounds, Telling(watch))
    with anyio.move_on_after(bounds.timeout_s) as scope:
        try:
            await tree.list(start, depth)
        except (NotFound, NotDirectory):
            await require_directory(backend, start)
            raise
    return tree.listed(start, is_late=scope.cancelled_caught)


class _Tree:
    """A tree as far as it is listed."""

    def __init__(self, backend: Backend, bounds: SearchBounds, telling: Telling) -> None:
        self.skipped: Counter[SkipReason] = Counter()
        self.directories = 0
        self.files = 0
        self._backend = backend
        self._bounds = bounds
        self._telling = telling
        self._shown: list[Kept] = []
        self._room = Room(bounds.entries_max, bounds.result_bytes_max)
        self._level: Sequence[Kept] = ()
        self._leads_further = False
        self._is_exact = True
        self._bound: Bound | None = None

    async def list(self, start: Target, depth: int) -> None:
        """List level by level until there is no more, or no more room."""
        rules = await rules_above(self._backend, start, self.skipped) if self._bounds.gitignore else IgnoreRules()
        directories = [Directory(start, state=0, rules=rules)]
        for levels_left in reversed(range(depth)):
            self._leads_further = False
            self._level = [Kept(directory) for directory in directories]
            await self._list_level()
            directories = self._show_level()
            if self._bound is not None:
                self._is_exact &= levels_left == 0 or not self._leads_further
            if self._bound is not None or not directories:
                return

    def listed(self, start: Target, *, is_late: bool) -> TreeListed:
        """Return what is shown; a level that was interrupted is shown as far as it is known."""
        if is_late:
            self._show_level()
        omitted = {kept.directory.prefix: kept.count - len(kept.entries) for kept in self._shown}
        entries = [
            replace(entry, omitted=omitted[path]) if omitted.get(path := with_slash(entry.path)) else entry
            for kept in self._shown
            for entry in kept.entries
        ]
        return TreeListed(
            start=start,
            entries=tuple(sorted(entries, key=order_of)),
            total=len(entries) + sum(omitted.values()),
            is_exact=self._is_exact and not is_late,
            bound=Bound.SECONDS if is_late else self._bound,
            skipped=dict(+self.skipped),
        )

    def _show_level(self) -> Sequence[Directory]:
        """Show what there is room for, and return the directories of the next level."""
        level, self._bound = cut_level(self._level, self._room)
        self._level = ()
        self._shown.extend(level)
        below: list[Directory] = []
        for kept in level:
            self._room = self._room.less(kept.entries)
            for entry in kept.entries:
                if entry.kind is FileKind.DIRECTORY and entry.addressable and not entry.is_link:
                    target = self._backend.child(kept.directory.target, entry.path.rpartition("/")[2])
                    below.append(Directory(target, state=0, rules=kept.directory.rules, parent=kept.directory))
        return below

    async def _list_level(self) -> None:
        """List all directories of the level, several calls side by side."""
        at_once = self._backend.bulk
        size = min(at_once.directories, -(-len(self._level) // at_once.calls))
        batches = iter([self._level[first : first + size] for first in range(0, len(self._level), size)])
        failures: list[FsError] = []

        async def work() -> None:
            try:
                for batch in batches:
                    await self._list_batch(batch)
            except FsError as error:
                failures.append(error)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for _ in range(at_once.calls):
                tasks.start_soon(work)
        if failures:
            raise failures[0]

    async def _list_batch(self, batch: Sequence[Kept]) -> None:
        entries_max, targets = self._bounds.directory_entries_max, [kept.directory.target for kept in batch]
        told = await self._backend.list_many(targets, entries_max=entries_max, with_sizes=True)
        listed: Sequence[tuple[Directory, Level]] = list(self._told(batch, told))
        if self._bounds.gitignore:
            await read_ignore_files(self._backend, listed, self.skipped)
            listed = await without_ignored(listed, self.skipped)
        levels = dict(listed)
        for kept in batch:
            if (level := levels.get(kept.directory)) is not None:
                self._fill(kept, level)
        let_go(self._level, self._room)
        self._telling.tell(self, found=sum(len(kept.entries) for kept in self._shown))

    def _fill(self, kept: Kept, level: Level) -> None:
        kept.fill(level, entries_max=self._room.entries)
        self.directories += 1
        self.files += len(level.files)
        self.skipped[SkipReason.TOO_LARGE] += not level.is_complete
        self._is_exact &= level.is_complete
        self._leads_further |= bool(level.directories)

    def _told(self, batch: Sequence[Kept], told: Sequence[Level | FsError]) -> Iterator[tuple[Directory, Level]]:
        """Return what is listed, and count what cannot be, unless it is the first directory of all."""
        for kept, level in zip(batch, told, strict=True):
            if isinstance(level, Level):
                yield kept.directory, level
            elif kept.directory.parent is None:
                raise level
            else:
                self.skipped[reason_of(level)] += 1
