"""A walk over a flat listing: all files below a directory, however deep, at the cost of their names.

The names of one directory follow each other, but for those of directories between them. So the first name that is met
in a directory tells whether a `.gitignore` may still come; where it may, that is asked for.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

import anyio
from anyio.abc import TaskGroup

from fs_core.errors import FsError, Unsupported
from fs_core.protocol import Backend
from fs_core.search._ignoring import contents_of, with_file, without_ignored
from fs_core.search._sieve import Directory, Sieve
from fs_core.search.bounds import SearchBounds
from fs_core.search.globs import Glob
from fs_core.search.ignore import IGNORE_FILE_NAME, VERSION_CONTROL_NAMES, Names, ignored
from fs_core.search.outcomes import SkipReason
from fs_core.types import Below, Level

__all__ = ["FlatWalk"]

_IGNORE_FILE_END: Final = f"/{IGNORE_FILE_NAME}"


class FlatWalk:
    """Takes a listing page by page, and fetches the next page while the present one is used."""

    def __init__(
        self,
        backend: Backend,
        tasks: TaskGroup,
        sieve: Sieve,
        *,
        start: Directory,
        glob: Glob,
        bounds: SearchBounds,
        with_sizes: bool,
    ) -> None:
        self._backend = backend
        self._tasks = tasks
        self._sieve = sieve
        self._start = start
        self._glob = glob
        self._bounds = bounds
        self._with_sizes = with_sizes
        # The directories from the start down to the last name.
        self._opened = [start]
        # What the paths begin with of the last directory below which nothing counts.
        self._passed: str | None = None
        self._ignore_files: dict[str, bytes | None] = {}
        self._page: Below | None = None
        self._failure: FsError | None = None
        self._fetched = anyio.Event()

    async def begin(self) -> None:
        """Fetch the first page, after which the backend knows more of its order.

        Raises:
            NotFound, NotDirectory, PermissionDenied: the start cannot be listed.
        """
        await self._fetch(None, None)
        if self._failure is not None:
            raise self._failure

    async def directories(self) -> AsyncGenerator[Directory]:
        """Return directories with names that follow each other in them; one may come several times."""
        page, has_begun = await self._fetched_page(), False
        while True:
            if page.files and not has_begun:
                has_begun = True
                await self._read_rules(self._start, page.files, 0)
            groups = await self._groups(page)
            self._page = None
            if page.resume is not None:
                self._fetched = anyio.Event()
                self._tasks.start_soon(self._fetch, page.resume, self._behind(page.files))
            if self._bounds.gitignore:
                groups = await without_ignored(groups, self._sieve.skipped)
            for directory, level in groups:
                self._sieve.sift(directory, level)
                yield directory
            if page.resume is None:
                return
            page = await self._fetched_page()

    async def _fetch(self, resume: str | None, behind: str | None) -> None:
        """Fetch the page at `resume`, or what follows all below a directory, if the store can begin there."""
        target = self._start.target
        try:
            if behind is not None:
                with suppress(Unsupported):
                    self._page = await self._backend.list_below(target, after=behind)
            if self._page is None:
                self._page = await self._backend.list_below(target, resume=resume)
        except FsError as error:
            self._failure = error
        self._fetched.set()

    async def _fetched_page(self) -> Below:
        await self._fetched.wait()
        if self._page is None:
            raise self._failure or AssertionError("a page or a failure was fetched")
        self._sieve.skipped[SkipReason.UNNAMEABLE] += len(self._page.others)
        return self._page

    def _behind(self, files: Sequence[str]) -> str | None:
        """Return the directory that may be passed over, if the page ends below one."""
        if self._passed is None or not files or not files[-1].startswith(self._passed):
            return None
        return self._passed[:-1]

    async def _groups(self, page: Below) -> Sequence[tuple[Directory, Level]]:
        """Return the names of a page by their directories, in order, without what is passed over."""
        self._ignore_files.clear()
        groups: list[tuple[Directory, Level]] = []
        files, first = page.files, 0
        while first < len(files):
            if self._passed is not None and files[first].startswith(self._passed):
                first = _end(files, first, self._passed)
                continue
            directory = self._directory_of(files[first])
            below = self._below_start(directory)
            name, slash, _ = files[first][len(below) :].partition("/")
            if slash:
                groups.extend(await self._enter(directory, name, files, first))
                continue
            end = _end_of_names(files, first, below)
            names = [path[len(below) :] for path in files[first:end]]
            level = Level(files=names, directories=(), sizes=page.sizes[first:end] if self._with_sizes else None)
            groups.append((_again(directory), level))
            first = end
        return groups

    def _directory_of(self, path: str) -> Directory:
        """Leave the directories that `path` is not in, and return the last that it is in."""
        while len(self._opened) > 1 and not path.startswith(self._below_start(self._opened[-1])):
            self._opened.pop()
        return self._opened[-1]

    def _below_start(self, directory: Directory) -> str:
        """Return what the paths in `directory` begin with in the listing."""
        return directory.prefix[len(self._start.prefix) :]

    async def _enter(
        self, parent: Directory, name: str, files: Sequence[str], first: int
    ) -> Sequence[tuple[Directory, Level]]:
        """Open the directory `name`, or pass it over; return it as a name in `parent` if the pattern means it."""
        if self._is_ignored(parent, name):
            self._sieve.skipped[SkipReason.IGNORED] += 1
            self._passed = f"{self._below_start(parent)}{name}/"
            return ()
        reach = self._glob.reach(parent.state)
        if state := reach.below([name])[0]:
            target = self._backend.child(parent.target, name)
            child = Directory(target, state=state, rules=parent.rules, parent=parent)
            await self._read_rules(child, files, first)
            self._opened.append(child)
            self._sieve.directories += 1
        else:
            self._passed = f"{self._below_start(parent)}{name}/"
        if reach.directories is None:
            return ()
        return ((_again(parent), Level(files=(), directories=[name])),)

    def _is_ignored(self, parent: Directory, name: str) -> bool:
        if not self._bounds.gitignore:
            return False
        names = Names(parent.prefix, files=(), directories=[name])
        return name in VERSION_CONTROL_NAMES or bool(parent.rules.files and ignored([(parent.rules, names)]))

    async def _read_rules(self, directory: Directory, files: Sequence[str], first: int) -> None:
        """Add the rules of the `.gitignore` in a directory whose first name is that of `files[first]`."""
        below = self._below_start(directory)
        path = below + IGNORE_FILE_NAME
        if not self._bounds.gitignore or files[first] > path:
            return
        if path not in self._ignore_files:
            await self._read_ignore_files(path, files[first:])
        if (data := self._ignore_files[path]) is not None:
            directory.rules = await with_file(directory.rules, directory.prefix, data)

    async def _read_ignore_files(self, path: str, files: Sequence[str]) -> None:
        """Read a `.gitignore`, and with it some of those that follow."""
        following = (name for name in files if name.endswith(_IGNORE_FILE_END) and name != path)
        paths = [path, *islice(following, self._backend.bulk.files - 1)]
        targets = [self._backend.child(self._start.target, name) for name in paths]
        contents = await contents_of(self._backend, targets, self._sieve.skipped)
        self._ignore_files.update({name: contents.get(index) for index, name in enumerate(paths)})


def _again(directory: Directory) -> Directory:
    """Return the directory for some of its names."""
    return Directory(directory.target, state=directory.state, rules=directory.rules, parent=directory.parent)


def _end(files: Sequence[str], first: int, prefix: str) -> int:
    """Return the place behind the paths that begin with `prefix`, of which `files[first]` is one."""
    while first < len(files) and files[first].startswith(prefix):
        first += 1
    return first


def _end_of_names(files: Sequence[str], first: int, prefix: str) -> int:
    """Return the place behind the paths of names directly below `prefix`, of which `files[first]` is one."""
    while first < len(files) and files[first].startswith(prefix) and files[first].find("/", len(prefix)) < 0:
        first += 1
    return first
