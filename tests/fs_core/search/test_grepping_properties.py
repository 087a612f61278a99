from dataclasses import replace

import anyio
from hypothesis import given
from hypothesis import strategies as st

from fs_core.paths import RootedPath
from fs_core.protocol import Bulk
from fs_core.search._gathering import Gathering
from fs_core.search.bounds import SearchBounds
from fs_core.search.grepping import LineQuery, grep
from fs_core.search.lines import Found, Room, search_whole, shown_bytes
from fs_core.search.outcomes import Bound, Grepped
from fs_core.testing.memory import MemoryBackend, MemoryStore
from tests.fs_core.search import lines_reference as reference

contents = st.lists(st.sampled_from(["x", "xx", "-", "é", "x" * 30, ""]), max_size=8).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)
files = st.dictionaries(
    st.sampled_from(["a", "a-b", "b/c", "b/d/e", "b.c", "c", "d/e", "f", "g", "h/i/j"]),
    st.one_of(contents, contents, contents, st.just(b"x\0")),
    max_size=8,
)
bounds = st.builds(
    SearchBounds,
    matches_max=st.sampled_from([1, 2, 5, 1_000]),
    result_bytes_max=st.sampled_from([0, 10, 30, 100, 51_200]),
    line_chars_max=st.sampled_from([3, 500]),
)
contexts = st.integers(min_value=0, max_value=2)


@given(
    files=files,
    bounds=bounds,
    context=contexts,
    bulk=st.builds(Bulk, directories=st.integers(1, 3), files=st.integers(1, 4), calls=st.integers(1, 4)),
)
def test_a_search_side_by_side_gives_the_first_lines_of_the_files_in_order(
    files: dict[str, bytes], bounds: SearchBounds, context: int, bulk: Bulk
) -> None:
    found, in_turn, everything = anyio.run(_searched, files, LineQuery("x", context=context), bounds, bulk)
    assert found == in_turn
    assert found.files_searched + found.files_left + sum(found.skipped.values()) == len(files)
    assert found.is_exact
    all_lines = [(file.path, line) for file in everything.files for line in file.lines]
    lines = [(file.path, line) for file in found.files for line in file.lines]
    assert lines == all_lines[: len(lines)]
    assert found.matches == sum(line.is_match for _, line in lines) <= bounds.matches_max
    size_bytes = sum(len(file.path) + 1 + sum(map(shown_bytes, file.lines)) for file in found.files)
    assert size_bytes <= bounds.result_bytes_max
    if found.bound is None:
        assert lines == all_lines
    if found.bound is Bound.MATCHES:
        assert found.matches == bounds.matches_max
        assert found.files_left > 0


@given(
    data=contents,
    context=contexts,
    room=st.builds(Room, matches=st.integers(1, 4), size_bytes=st.integers(0, 60)),
    more_matches=st.integers(0, 3),
    more_bytes=st.integers(0, 60),
)
def test_a_file_that_was_searched_with_more_room_gives_the_same_lines(
    data: bytes, context: int, room: Room, more_matches: int, more_bytes: int
) -> None:
    larger = Room(room.matches + more_matches, room.size_bytes + more_bytes)
    search = reference.search("x", context=context)
    assert _gathered(search_whole(data, search, larger), room, context) == _gathered(
        search_whole(data, search, room), room, context
    )


def _gathered(outcome: object, room: Room, context: int) -> object:
    assert outcome is None or isinstance(outcome, Found)
    gathering = Gathering(Room(room.matches, room.size_bytes), context=context)
    gathering.add("a", outcome)
    return gathering.shown, gathering.matches, gathering.searched, gathering.bound, gathering.is_full, gathering.room


async def _searched(
    files: dict[str, bytes], query: LineQuery, bounds: SearchBounds, bulk: Bulk
) -> tuple[Grepped, Grepped, Grepped]:
    """Search as is asked, then file by file, then for all there is."""
    store = MemoryStore()
    for path, data in files.items():
        store.make_parents(path)
        store.put(path, data)
    backend = MemoryBackend(store)
    start = await backend.resolve(RootedPath(()))

    async def search(bulk: Bulk, bounds: SearchBounds) -> Grepped:
        backend.bulk = bulk  # pyright: ignore[reportAttributeAccessIssue] - of this store alone
        return await grep(backend, start, query, bounds=bounds, watch=None)

    unbounded = replace(bounds, matches_max=10_000, result_bytes_max=1_000_000)
    return await search(bulk, bounds), await search(Bulk(files=1), bounds), await search(Bulk(), unbounded)
