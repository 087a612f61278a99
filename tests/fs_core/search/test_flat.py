"""What a walk over a flat listing asks the store for."""

import tracemalloc
from collections.abc import Sequence
from typing import Final

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fs_core.errors import FsError, Unavailable, Unsupported
from fs_core.protocol import FileSink
from fs_core.search.bounds import SearchBounds
from fs_core.search.engine import TreeSearch
from fs_core.search.globs import parse_glob
from fs_core.search.outcomes import SkipReason
from fs_core.search.walk import Walk
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import Below, Entry, FileKind, Level, Target
from tests.fs_core.search.trees import FlatBackend, in_order, root_of, store_of, walked

pytestmark = pytest.mark.anyio

KEYS: Final = 30_000


class Watched(FlatBackend):
    """Notes which files are read and which directories are listed."""

    def __init__(self, store: MemoryStore, *, page: int = 3) -> None:
        super().__init__(store, page=page)
        self.files_read: list[str] = []
        self.listed: list[str] = []

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        self.files_read.extend(file.display_path for file in files)
        return await super().read_many(files, sink, size_bytes_max=size_bytes_max)

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        self.listed.extend(directory.display_path for directory in directories)
        return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)


async def test_a_subtree_in_which_a_page_ends_is_passed_over() -> None:
    paths = [f"a/{number}" for number in range(20)] + ["b/x", *(f"node_modules/{n}/x" for n in range(20)), "z"]
    backend = FlatBackend(store_of(paths, ignore={".gitignore": "/node_modules/\n/a\n"}), page=4)
    assert await walked(backend) == [".gitignore", "b/x", "z"]
    assert [after for _, after in backend.asked] == [None, "a", "node_modules"]


async def test_rules_of_the_start_count_behind_a_page_of_keys_that_no_path_can_name() -> None:
    class Odd(FlatBackend):
        async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
            if resume is None and after is None:
                odd = Entry("!//x", FileKind.FILE, addressable=False)
                return Below(files=(), sizes=(), others=(odd,), resume="!//x")
            return await super().list_below(directory, resume=resume, after=after)

    store = store_of(["a.log", "b"], ignore={".gitignore": "*.log\n"})
    assert await walked(Odd(store)) == [".gitignore", "b"]


async def test_what_a_pattern_cannot_mean_is_passed_over_too() -> None:
    paths = [f"{top}/{number:02}.py" for top in ("a", "b", "c") for number in range(30)]
    backend = FlatBackend(store_of(paths), page=5)
    found = await walked(backend, glob=parse_glob("{b,d}/**/*.py"))
    assert found == paths[30:60]
    assert [after for _, after in backend.asked if after] == ["a", "c"]


async def test_a_store_that_cannot_begin_behind_a_name_lists_all() -> None:
    class Plain(FlatBackend):
        async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
            if after is not None:
                raise Unsupported("cannot", path=".", operation="list")
            return await super().list_below(directory, resume=resume)

    paths = [f"a/{number:02}" for number in range(20)] + ["b"]
    backend = Plain(store_of(paths, ignore={".gitignore": "a/\n"}), page=4)
    assert await walked(backend) == [".gitignore", "b"]


async def test_a_gitignore_is_asked_for_only_where_it_may_still_come() -> None:
    paths = ["a/.env", "a/x", "b/x", "c/!y", "c/z", "d/A"]
    backend = Watched(store_of(paths, ignore={"b/.gitignore": "x\n", "c/.gitignore": "z\n"}), page=2)
    assert await walked(backend) == ["a/.env", "a/x", "b/.gitignore", "c/!y", "c/.gitignore", "d/A"]
    assert sorted(set(backend.files_read)) == ["a/.gitignore", "b/.gitignore", "c/.gitignore"]


async def test_the_next_page_is_fetched_while_the_present_one_is_used() -> None:
    backend = FlatBackend(store_of([f"{number:02}" for number in range(9)]), page=3)
    asked: list[int] = []
    async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=True) as walk:
        async for _ in walk:
            await anyio.wait_all_tasks_blocked()
            asked.append(len(backend.asked))
    assert asked == [2, 3, 3]


async def test_a_pattern_of_bounded_depth_is_found_by_directories() -> None:
    paths = ["a/x.py", *(f"a/deep/{number}" for number in range(50)), "b/y.py"]
    backend = Watched(store_of(paths), page=5)
    assert await walked(backend, glob=parse_glob("*/*.py")) == ["a/x.py", "b/y.py"]
    assert sorted(backend.listed) == [".", "a", "b"]
    assert backend.asked == []


async def test_a_walk_in_order_takes_directories_where_the_store_has_another_order() -> None:
    paths = ["a-b", "a/x", "b/y"]
    backend = FlatBackend(store_of(paths), page=3, by_component=True)
    assert await walked(backend) == in_order(paths) == ["a-b", "a/x", "b/y"]
    assert len(backend.asked) == 1
    assert await walked(backend) == in_order(paths)
    assert len(backend.asked) == 1
    assert await walked(backend, ordered=False) == ["a/x", "a-b", "b/y"]


async def test_a_store_that_is_lost_between_pages_is_told() -> None:
    class Lost(FlatBackend):
        async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
            if resume is not None:
                raise Unavailable("the connection is lost", path=".", operation="list")
            return await super().list_below(directory, resume=resume, after=after)

    with pytest.raises(Unavailable, match="connection is lost"):
        await walked(Lost(store_of([f"{number}" for number in range(9)])))


class Huge(MemoryBackend):
    """A store with very many keys that exist only while they are listed."""

    @property
    def lists_below(self) -> bool:
        return True

    @property
    def lists_in_order(self) -> bool:
        return True

    async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
        del directory, after
        await checkpoint()
        first = int(resume or 0)
        files = [f"{key // 1_000:04}/{key // 100 % 10}/{key:07}.py" for key in range(first, first + 1_000)]
        odd = [Entry(f"{first}//", FileKind.FILE, addressable=False)]
        end = first + 1_000
        return Below(files=files, sizes=[1] * 1_000, others=odd, resume=str(end) if end < KEYS else None)


async def test_very_many_keys_take_bounded_memory() -> None:
    backend = Huge()
    root = await root_of(backend)
    await TreeSearch(backend).glob(root, "*.txt", bounds=SearchBounds())
    tracemalloc.start()
    try:
        result = await TreeSearch(backend).glob(root, "*.py", bounds=SearchBounds())
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result.total, len(result.paths), result.paths[-1]) == (KEYS, 1_000, "0000/9/0000999.py")
    assert result.skipped == {SkipReason.UNNAMEABLE: KEYS // 1_000}
    assert peak_bytes < 2 << 20
