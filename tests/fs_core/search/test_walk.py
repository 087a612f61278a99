"""What a walk meets, in which order, and how many listings that takes."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.errors import FsError, IoFault, NotDirectory, NotFound, PermissionDenied, Unavailable
from fs_core.protocol import Bulk
from fs_core.search.bounds import SearchBounds
from fs_core.search.globs import parse_glob
from fs_core.search.outcomes import SkipReason
from fs_core.search.walk import Walk
from fs_core.testing.memory import MemoryBackend
from fs_core.types import Entry, FileKind, Level, Target
from tests.fs_core.search.trees import FlatBackend, ScriptedBackend, in_order, link, root_of, store_of, walked

pytestmark = pytest.mark.anyio

PLAIN = SearchBounds(gitignore=False)
ODD_ORDER = ["a-b", "a.c", "a/x", "a/y/z", "a0", "a/-", "b/é", "b/z", "b/\U0001f600", "B"]


async def test_files_come_in_the_order_of_the_bytes_of_their_paths() -> None:
    found = await walked(MemoryBackend(store_of(ODD_ORDER)))
    assert found == in_order(ODD_ORDER)
    assert found[:4] == ["B", "a-b", "a.c", "a/-"]


async def test_a_walk_without_order_finds_the_same() -> None:
    found = await walked(MemoryBackend(store_of(ODD_ORDER)), ordered=False)
    assert in_order(found) == in_order(ODD_ORDER)


_NAME = st.text("ab-.0é", min_size=1, max_size=2).filter(lambda name: name not in {".", ".."})
_PATH = st.lists(_NAME, min_size=1, max_size=4).map("/".join)


def _without_clashes(paths: list[str]) -> list[str]:
    """Return the paths that go through no file."""
    files = dict.fromkeys(paths)  # in an order that is the same in every run
    return [path for path in files if not any(path.startswith(f"{other}/") for other in files)]


_TREES = st.lists(_PATH, max_size=15).map(_without_clashes)
_IGNORES = st.lists(
    st.sampled_from(["a", "/a", "b/", "*-*", "!a", "!/a/", "*", "!*/", "a/b", "**/a", "a/**", "?", "0*"]), max_size=4
)


@given(_TREES, st.integers(1, 4), st.integers(1, 3), st.integers(1, 5))
def test_every_way_to_walk_finds_every_file_once(paths: list[str], directories: int, calls: int, page: int) -> None:
    store = store_of(paths)

    async def check() -> None:
        backend = MemoryBackend(store)
        backend.bulk = Bulk(directories=directories, calls=calls)  # pyright: ignore[reportAttributeAccessIssue]
        assert await walked(backend, bounds=PLAIN) == in_order(paths)
        assert in_order(await walked(backend, bounds=PLAIN, ordered=False)) == in_order(paths)
        assert await walked(FlatBackend(store, page=page), bounds=PLAIN) == in_order(paths)

    anyio.run(check)


@given(
    _TREES,
    st.dictionaries(st.integers(0, 14), _IGNORES, max_size=3),
    st.integers(1, 6),
    st.sampled_from(["**", "*a*", "a/**", "*/*"]),
)
def test_a_flat_listing_in_either_order_gives_what_directories_give(
    paths: list[str], ignores: dict[int, Sequence[str]], page: int, pattern: str
) -> None:
    directories = sorted({"", *(path[: path.rfind("/") + 1] for path in paths)})
    files = {f"{directories[at % len(directories)]}.gitignore": "\n".join(lines) for at, lines in ignores.items()}
    store = store_of([path for path in paths if path not in files], ignore=files)
    glob = parse_glob(pattern)

    async def check() -> None:
        expected = await walked(MemoryBackend(store), glob=glob)
        assert expected == in_order(expected)
        for by_component in (False, True):
            flat = FlatBackend(store, page=page, by_component=by_component)
            assert in_order(await walked(flat, glob=glob, ordered=False)) == expected
            assert await walked(flat, glob=glob) == expected

    anyio.run(check)


async def test_version_control_is_passed_over_and_counted_once() -> None:
    store = store_of(["a", ".git/config", ".git/objects/x", "sub/.git", "sub/CVS/Root", ".hg/x", ".gitmodules"])
    for backend in (MemoryBackend(store), FlatBackend(store, page=1)):
        async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=True) as walk:
            found = [run.prefix + name async for run in walk for name in run.files]
        assert found == [".gitmodules", "a"]
        assert +walk.skipped == {SkipReason.IGNORED: 4}
    everything = await walked(MemoryBackend(store), bounds=PLAIN)
    assert len(everything) == 7


async def test_rules_from_the_root_down_hold_below_a_start_which_is_exempt_itself() -> None:
    store = store_of(
        ["out/a.log", "out/b.txt", "out/deep/c.tmp", "out/deep/keep.tmp", ".git/x/y"],
        ignore={".gitignore": "*.log\nout/\n", "out/.gitignore": "*.tmp\n", "out/deep/.gitignore": "!keep.tmp\n"},
    )
    for backend in (MemoryBackend(store), FlatBackend(store)):
        assert await walked(backend) == [".gitignore"]
        assert await walked(backend, start="out") == [
            "out/.gitignore",
            "out/b.txt",
            "out/deep/.gitignore",
            "out/deep/keep.tmp",
        ]
        assert await walked(backend, start="out/deep") == ["out/deep/.gitignore", "out/deep/keep.tmp"]
        assert await walked(backend, start=".git/x") == [".git/x/y"]


async def test_a_start_that_cannot_be_listed_is_told_and_not_counted() -> None:
    store = store_of(["a/b"])
    for backend in (MemoryBackend(store), FlatBackend(store)):
        for ordered in (False, True):
            with pytest.raises(NotFound):
                await walked(backend, start="nope", ordered=ordered)
            with pytest.raises(NotDirectory):
                await walked(backend, start="a/b", ordered=ordered)


async def test_what_cannot_be_listed_in_the_middle_is_counted_by_its_reason() -> None:
    faults = {
        "denied": PermissionDenied("no", path="denied", operation="list"),
        "gone": NotFound("gone", path="gone", operation="list"),
        "odd": IoFault("broken", path="odd", operation="list"),
        "was": NotDirectory("is a file now", path="was", operation="list"),
    }
    root = Level(files=["z"], directories=[*faults, "ok"])
    backend = ScriptedBackend(
        lambda path: faults.get(path) or {".": root, "ok": Level(files=["f"], directories=())}[path]
    )
    for ordered in (False, True):
        async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=ordered) as walk:
            found = [run.prefix + name async for run in walk for name in run.files]
        assert in_order(found) == ["ok/f", "z"]
        assert +walk.skipped == {SkipReason.DENIED: 1, SkipReason.VANISHED: 2, SkipReason.FAILED: 1}


async def test_a_store_that_cannot_be_asked_ends_the_walk_with_its_error() -> None:
    class Lost(ScriptedBackend):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            if directories[0].display_path != ".":
                raise Unavailable("the connection is lost", path="a", operation="list")
            return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)

    backend = Lost(lambda _: Level(files=(), directories=["a", "b"]))
    for ordered in (False, True):
        with pytest.raises(Unavailable, match="connection is lost"):
            await walked(backend, ordered=ordered)


async def test_links_special_files_and_odd_names_are_counted_and_a_loop_of_links_ends() -> None:
    others = [link("loop"), Entry("fifo", FileKind.OTHER), Entry("/", FileKind.DIRECTORY, addressable=False)]
    backend = ScriptedBackend(lambda _: Level(files=["f"], directories=(), others=others))
    async with Walk(backend, await root_of(backend), bounds=SearchBounds()) as walk:
        runs = [run async for run in walk]
    assert [(run.files, run.links) for run in runs] == [(["f"], ())]
    assert +walk.skipped == {SkipReason.LINK: 1, SkipReason.SPECIAL: 1, SkipReason.UNNAMEABLE: 1}


async def test_links_that_are_meant_are_part_of_the_runs_if_asked_for() -> None:
    backend = ScriptedBackend(lambda _: Level(files=["f"], directories=(), others=[link("a.py"), link("b")]))
    glob = parse_glob("*.py")
    async with Walk(backend, await root_of(backend), bounds=SearchBounds(), glob=glob, with_links=True) as walk:
        runs = [run async for run in walk]
    assert [(list(run.files), list(run.links)) for run in runs] == [([], ["a.py"])]
    assert +walk.skipped == {SkipReason.LINK: 1}


async def test_names_of_directories_that_are_meant_come_once_each_also_from_a_flat_listing() -> None:
    store = store_of(["a/src/x", "a/src/y", "a/z", "src/src/q", "w"])
    for backend in (MemoryBackend(store), FlatBackend(store, page=1)):
        for ordered in (False, True):
            glob = parse_glob("src/")
            async with Walk(backend, await root_of(backend), bounds=SearchBounds(), glob=glob, ordered=ordered) as walk:
                found = [run.prefix + name async for run in walk for name in run.directories]
            assert sorted(found) == ["a/src", "src", "src/src"]


async def test_sizes_stay_with_their_files() -> None:
    store = store_of(["a/x.log"])
    for number, name in enumerate(["d/1.txt", "d/2.log", "d/3.txt"]):
        store.make_parents(name)
        store.put(name, b"x" * number)
    store.put(".gitignore", b"1.txt")
    for backend in (MemoryBackend(store), FlatBackend(store)):
        root, glob = await root_of(backend), parse_glob("*.txt")
        async with Walk(backend, root, bounds=SearchBounds(), glob=glob, with_sizes=True, ordered=True) as walk:
            runs = [run async for run in walk]
        assert [(list(run.files), list(run.sizes or ())) for run in runs] == [(["3.txt"], [2])]


async def test_the_directories_that_come_first_are_listed_first_and_a_call_is_filled_before_the_next() -> None:
    def level(path: str) -> Level:
        return Level(files=["f"], directories=["a", "b", "c"] if path.count("/") < 2 else ())

    backend = ScriptedBackend(level, bulk=Bulk(directories=4, calls=2))
    found = await walked(backend)
    assert found == in_order(found)
    assert len(found) == 1 + 3 + 9 + 27
    assert max(map(len, backend.calls)) <= 4
    assert len(backend.calls) <= 16
    assert backend.calls[0] == ["."]
    assert backend.calls[1] == ["a", "b", "c"]


async def test_a_walk_that_is_left_early_has_listed_no_more_than_it_may_hold() -> None:
    names = [f"{number:04}" for number in range(1_000)]

    def level(path: str) -> Level:
        return Level(files=names, directories=names if path == "." else ())

    backend = ScriptedBackend(level, bulk=Bulk(directories=16, calls=2))
    async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=True) as walk:
        async for _ in walk:
            await anyio.wait_all_tasks_blocked()
            break
    assert 50 <= sum(map(len, backend.calls)) <= 150


async def test_a_directory_with_very_many_names_is_listed_once_more_alone_and_cut_at_the_bound() -> None:
    names = [f"{number:06}" for number in range(25_000)]

    def level(path: str) -> Level:
        return Level(files=(), directories=["a", "b", "c"]) if path == "." else Level(files=names, directories=())

    for ordered in (False, True):
        backend = ScriptedBackend(level)
        bounds = SearchBounds(directory_entries_max=20_000)
        async with Walk(backend, await root_of(backend), bounds=bounds, ordered=ordered) as walk:
            found = [run.prefix + name async for run in walk for name in run.files]
        assert in_order(found) == [f"{name}/{number}" for name in "abc" for number in names[:20_000]]
        assert backend.calls == [["."], ["a", "b", "c"], ["a"], ["b"], ["c"]]
        assert +walk.skipped == {SkipReason.TOO_LARGE: 3}
        assert not walk.is_complete


async def test_a_depth_of_more_than_a_thousand_directories_is_walked() -> None:
    def level(path: str) -> Level:
        return Level(files=["f"], directories=["d"] if path.count("/") < 1_200 else ())

    for ordered in (False, True):
        found = await walked(ScriptedBackend(level), ordered=ordered)
        assert len(found) == 1_202


async def test_an_endless_tree_is_left_promptly() -> None:
    backend = ScriptedBackend(lambda _: Level(files=["A"], directories=["a", "b"]))
    for ordered in (False, True):
        seen = 0
        with anyio.CancelScope() as scope:
            async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=ordered) as walk:
                async for run in walk:
                    seen += len(run.files)
                    scope.deadline = min(scope.deadline, anyio.current_time() + 0.05)
        assert scope.cancelled_caught
        assert seen


async def test_a_listing_that_changes_meanwhile_is_taken_as_it_was_told() -> None:
    told: list[str] = []

    def level(path: str) -> Level | FsError:
        told.append(path)
        if path == ".":
            return Level(files=["x"], directories=["a", "a", "b"])
        return NotFound("gone", path=path, operation="list") if path == "b" else Level(files=["y"], directories=())

    found = await walked(ScriptedBackend(level))
    assert found == ["a/y", "a/y", "x"]


async def test_an_error_of_whoever_walks_goes_on_as_it_is() -> None:
    backend = MemoryBackend(store_of(ODD_ORDER))
    mine = ValueError("mine")

    async def walk_and_raise() -> None:
        async with Walk(backend, await root_of(backend), bounds=SearchBounds()) as walk:
            async for _ in walk:
                raise mine

    with pytest.raises(ValueError, match="mine") as raised:
        await walk_and_raise()
    assert raised.value is mine
