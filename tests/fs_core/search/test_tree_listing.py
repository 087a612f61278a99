"""Entries of a directory and of those below it, and what is cut when there are too many."""

from collections.abc import Sequence

import anyio
import pytest

from fs_core.errors import FsError, NotDirectory, NotFound, PermissionDenied, Unavailable
from fs_core.protocol import Backend, Bulk
from fs_core.search._tree_level import shares
from fs_core.search.bounds import Looked, SearchBounds
from fs_core.search.engine import TreeSearch
from fs_core.search.outcomes import Bound, SkipReason, TreeEntry, TreeListed
from fs_core.testing.memory import MemoryBackend
from fs_core.types import Entry, FileKind, Level, Target
from tests.fs_core.search.trees import ScriptedBackend, link, out_of_time, root_of, store_of

pytestmark = pytest.mark.anyio


async def listed(
    backend: Backend, *, path: str = ".", depth: int = 1, bounds: SearchBounds | None = None
) -> TreeListed:
    start = await root_of(backend, path)
    return await TreeSearch(backend).list_tree(start, depth=depth, bounds=bounds or SearchBounds())


def shown(result: TreeListed) -> list[str]:
    """Return the paths, with a `/` behind those of directories and how many names are left out there."""
    return [
        entry.path + "/" * (entry.kind is FileKind.DIRECTORY) + (f" +{entry.omitted}" if entry.omitted else "")
        for entry in result.entries
    ]


async def test_entries_are_in_order_with_kinds_and_sizes_and_empty_directories() -> None:
    store = store_of(["a/x", "a-b", "empty/", ".hidden"])
    store.put("a-b", b"four")
    result = await listed(MemoryBackend(store))
    assert result.entries == (
        TreeEntry(".hidden", FileKind.FILE, 0),
        TreeEntry("a-b", FileKind.FILE, 4),
        TreeEntry("a", FileKind.DIRECTORY),
        TreeEntry("empty", FileKind.DIRECTORY),
    )
    assert (result.total, result.is_exact, result.bound, result.skipped) == (4, True, None, {})


async def test_a_depth_is_how_many_levels_are_shown() -> None:
    backend = MemoryBackend(store_of(["a/b/c/d", "a/x", "z"]))
    assert shown(await listed(backend, depth=2)) == ["a/", "a/b/", "a/x", "z"]
    assert shown(await listed(backend, depth=9)) == ["a/", "a/b/", "a/b/c/", "a/b/c/d", "a/x", "z"]
    assert shown(await listed(backend, path="a/b", depth=1)) == ["a/b/c/"]


async def test_links_special_files_and_odd_names_are_shown_and_no_link_is_followed() -> None:
    others = [
        link("loop"),
        Entry("fifo", FileKind.OTHER),
        Entry("/", FileKind.DIRECTORY, addressable=False),
        Entry("to-d", FileKind.DIRECTORY, is_link=True),
    ]
    backend = ScriptedBackend(
        lambda path: Level(files=["f"], sizes=[1], directories=["d"] if path == "." else (), others=others)
    )
    result = await listed(backend, depth=3)
    assert [entry.path for entry in result.entries if entry.is_link] == ["d/loop", "d/to-d", "loop", "to-d"]
    assert [entry.path for entry in result.entries if not entry.addressable] == ["/", "d//"]
    assert backend.calls == [["."], ["d"]]


async def test_what_rules_leave_out_is_counted_and_the_start_is_exempt() -> None:
    store = store_of([".git/x", "out/a", "out/b.log", "src/c.log"], ignore={".gitignore": "out\n*.log\n"})
    result = await listed(MemoryBackend(store), depth=2)
    assert shown(result) == [".gitignore", "src/"]
    assert result.skipped == {SkipReason.IGNORED: 3}
    assert shown(await listed(MemoryBackend(store), path="out")) == ["out/a"]
    everything = await listed(MemoryBackend(store), depth=2, bounds=SearchBounds(gitignore=False))
    assert everything.total == 8


async def test_of_too_many_entries_the_deepest_level_is_cut_evenly() -> None:
    paths = [f"a/{number}" for number in range(9)] + ["b/0", "c/0", "c/1", "c/2", "c/3", "top"]
    result = await listed(MemoryBackend(store_of(paths)), depth=3, bounds=SearchBounds(entries_max=10))
    assert shown(result) == ["a/ +6", "a/0", "a/1", "a/2", "b/", "b/0", "c/ +2", "c/0", "c/1", "top"]
    assert (result.total, result.is_exact, result.bound) == (18, True, Bound.ENTRIES)


async def test_below_a_level_that_is_cut_nothing_is_looked_at_and_the_count_is_a_lower_bound() -> None:
    paths = [f"{number:02}/x/y" for number in range(30)]
    backend = ScriptedBackend(lambda _: Level(files=(), directories=[f"{number:02}" for number in range(30)]))
    result = await listed(MemoryBackend(store_of(paths)), depth=3, bounds=SearchBounds(entries_max=20))
    assert shown(result) == [f"{number:02}/" for number in range(20)]
    assert (result.total, result.is_exact, result.bound) == (30, False, Bound.ENTRIES)
    cut = await listed(backend, depth=4, bounds=SearchBounds(entries_max=100))
    assert len(cut.entries) == 100
    assert (cut.total, cut.is_exact) == (30 + 900, False)
    assert sum(map(len, backend.calls)) == 31


async def test_entries_end_where_there_is_no_more_room_for_their_bytes() -> None:
    paths = ["a/xxxx", "b/xxxx", "b/yyyy"]
    result = await listed(MemoryBackend(store_of(paths)), depth=2, bounds=SearchBounds(result_bytes_max=20))
    assert shown(result) == ["a/", "a/xxxx", "b/ +1", "b/xxxx"]
    assert (result.total, result.is_exact, result.bound) == (5, True, Bound.BYTES)


@pytest.mark.parametrize(
    ("counts", "room", "expected"),
    [
        ([3, 1], 9, [3, 1]),
        ([9, 1, 4], 6, [3, 1, 2]),
        ([5, 5, 5], 7, [3, 2, 2]),
        ([5, 5], 0, [0, 0]),
        ([0, 7], 3, [0, 3]),
        ([], 3, []),
    ],
)
def test_shares_are_as_even_as_can_be(counts: list[int], room: int, expected: list[int]) -> None:
    assert list(shares(counts, room)) == expected


async def test_a_start_that_is_no_directory_is_told() -> None:
    backend = MemoryBackend(store_of(["source/a", "file"]))
    with pytest.raises(NotFound) as missing:
        await listed(backend, path="sourc")
    assert missing.value.near_names == ("source",)
    with pytest.raises(NotDirectory):
        await listed(backend, path="file")


async def test_a_start_that_may_not_be_listed_is_told_and_others_are_counted() -> None:
    denied = PermissionDenied("no", path="x", operation="list")
    levels: dict[str, Level | FsError] = {".": Level(files=(), directories=["ok", "x"]), "x": denied}
    backend = ScriptedBackend(lambda path: levels.get(path, Level(files=["f"], directories=())))
    result = await listed(backend, depth=2)
    assert shown(result) == ["ok/", "ok/f", "x/"]
    assert result.skipped == {SkipReason.DENIED: 1}
    with pytest.raises(PermissionDenied):
        await listed(backend, path="x")


async def test_a_directory_with_more_names_than_are_looked_at_makes_the_count_inexact() -> None:
    backend = ScriptedBackend(lambda _: Level(files=["a", "b", "c"], directories=()))
    result = await listed(backend, bounds=SearchBounds(directory_entries_max=2))
    assert (shown(result), result.is_exact, result.skipped) == (["a", "b"], False, {SkipReason.TOO_LARGE: 1})


class _Stuck(ScriptedBackend):
    """Answers of the root alone."""

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        if directories[0].display_path != ".":
            await anyio.sleep_forever()
        return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)


async def test_a_listing_out_of_time_shows_what_it_has() -> None:
    backend = _Stuck(lambda _: Level(files=["f"], directories=["d"]))
    result = await out_of_time(
        lambda bounds: listed(backend, depth=2, bounds=bounds), has_all=lambda result: result.total > 0
    )
    assert shown(result) == ["d/", "f"]
    assert (result.total, result.is_exact, result.bound) == (2, False, Bound.SECONDS)


async def test_a_store_that_cannot_be_asked_is_told() -> None:
    class Lost(_Stuck):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            if directories[0].display_path == "a":
                raise Unavailable("the connection is lost", path="a", operation="list")
            return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)

    backend = Lost(lambda _: Level(files=(), directories=["a", "b"]), bulk=Bulk(directories=1, calls=2))
    with pytest.raises(Unavailable, match="connection is lost"):
        await listed(backend, depth=2)


async def test_the_directories_of_a_level_are_listed_several_at_once() -> None:
    backend = ScriptedBackend(
        lambda path: Level(files=(), directories=["a", "b", "c"] if path == "." else ()),
        bulk=Bulk(directories=4, calls=2),
    )
    told: list[Looked] = []
    root = await root_of(backend)
    await TreeSearch(backend).list_tree(root, depth=2, bounds=SearchBounds(), watch=told.append)
    assert sorted(backend.calls) == [["."], ["a", "b"], ["c"]]
    assert told
