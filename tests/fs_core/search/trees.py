"""Trees in memory for searches, also as a store that lists flat, and what a search of them must find."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from anyio.lowlevel import checkpoint

from fs_core.errors import FsError, NotDirectory, NotFound, Reason
from fs_core.paths import RootedPath
from fs_core.protocol import Backend, Bulk
from fs_core.search.bounds import SearchBounds
from fs_core.search.globs import EVERYTHING, Glob
from fs_core.search.walk import Walk
from fs_core.testing.delegating import DelegatingBackend
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import Below, Entry, FileKind, Level, Target
from tests.support.waiting import WAIT_S

__all__ = ["FlatBackend", "ScriptedBackend", "in_order", "link", "out_of_time", "root_of", "store_of", "walked"]

R = TypeVar("R")


def store_of(paths: Iterable[str], *, ignore: dict[str, str] | None = None) -> MemoryStore:
    """Return a store with empty files at `paths`, directories where a path ends with `/`, and `.gitignore` files."""
    store = MemoryStore()
    for path in paths:
        store.make_parents(path)
        if not path.endswith("/"):
            store.put(path, b"")
    for path, text in (ignore or {}).items():
        store.make_parents(path)
        store.put(path, text.encode())
    return store


def in_order(paths: Iterable[str]) -> list[str]:
    """Return paths in the order in which every store tells them."""
    return sorted(paths, key=str.encode)


async def root_of(backend: Backend, path: str = ".") -> Target:
    names = () if path == "." else tuple(path.split("/"))
    return await backend.resolve(RootedPath(names))


async def walked(
    backend: Backend,
    *,
    start: str = ".",
    glob: Glob = EVERYTHING,
    ordered: bool = True,
    bounds: SearchBounds | None = None,
) -> list[str]:
    """Return the paths of files that a walk finds, as it finds them."""
    target = await root_of(backend, start)
    async with Walk(backend, target, glob=glob, ordered=ordered, bounds=bounds or SearchBounds()) as walk:
        return [run.prefix + name async for run in walk for name in run.files]


async def out_of_time(search: Callable[[SearchBounds], Awaitable[R]], *, has_all: Callable[[R], bool]) -> R:
    """Return what a search has that never ends by itself, once its time was long enough for all that it can have."""
    for timeout_s in (0.2, 2.0):
        found = await search(SearchBounds(timeout_s=timeout_s))
        if has_all(found):
            return found
    return await search(SearchBounds(timeout_s=WAIT_S))


class FlatBackend(MemoryBackend):
    """Lists all files below a directory, in pages, in the order of their bytes or component by component."""

    def __init__(self, store: MemoryStore, *, page: int = 3, by_component: bool = False) -> None:
        super().__init__(store)
        self.page = page
        self.by_component = by_component
        self.asked: list[tuple[str | None, str | None]] = []
        self._in_order = True

    @property
    def lists_below(self) -> bool:
        return True

    @property
    def lists_in_order(self) -> bool:
        return self._in_order

    async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
        await self._enter(directory.display_path, "list")
        self.asked.append((resume, after))
        if directory.key in self._store.files:
            raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=directory.display_path, operation="list")
        if directory.key not in self._store.directories:
            raise NotFound(Reason.NO_SUCH_DIRECTORY, path=directory.display_path, operation="list")
        prefix = "" if directory.key == "." else f"{directory.key}/"
        names = [path.removeprefix(prefix) for path in self._store.files if path.startswith(prefix)]
        names.sort(key=self._key)
        if after is not None:
            names = [name for name in names if self._key(name) > self._key(f"{after}/\U0010ffff")]
        elif resume is not None:
            names = [name for name in names if self._key(name) > self._key(resume)]
        page = names[: self.page]
        told = [*([resume] if resume is not None else []), *page]
        self._in_order = self._in_order and told == in_order(told)
        sizes = [len(self._store.files[prefix + name].data) for name in page]
        return Below(files=page, sizes=sizes, others=(), resume=page[-1] if len(names) > len(page) else None)

    def _key(self, name: str) -> list[str]:
        return name.split("/") if self.by_component else [name]


class ScriptedBackend(DelegatingBackend):
    """A store whose listings are made up by a function of the path of a directory; `calls` are those asked for."""

    def __init__(self, levels: Callable[[str], Level | FsError], *, bulk: Bulk | None = None) -> None:
        super().__init__(MemoryBackend())
        self.levels = levels
        self.bulk = bulk or self.bulk
        self.calls: list[list[str]] = []

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        del with_sizes  # what is made up has them or has not

        async def call() -> Sequence[Level | FsError]:
            await checkpoint()
            self.calls.append([directory.display_path for directory in directories])
            return [_cut(self.levels(directory.display_path), entries_max) for directory in directories]

        return await self.around("list", call)


def _cut(level: Level | FsError, entries_max: int) -> Level | FsError:
    if not isinstance(level, Level) or len(level.files) + len(level.directories) <= entries_max:
        return level
    return Level(files=level.files[:entries_max], directories=(), is_complete=False)


def link(name: str) -> Entry:
    return Entry(name, FileKind.OTHER, is_link=True)
