"""Paths that match a glob, from the first to the last word of the result."""

from collections.abc import Sequence

import anyio
import pytest

from fs_core.errors import FsError, NotDirectory, NotFound, PermissionDenied, SandboxDenied
from fs_core.protocol import Backend
from fs_core.search.bounds import Looked, SearchBounds
from fs_core.search.engine import TreeSearch
from fs_core.search.outcomes import Bound, Globbed, SkipReason
from fs_core.search.pattern import PatternError
from fs_core.testing.memory import MemoryBackend
from fs_core.types import Level, Target
from tests.fs_core.search.trees import FlatBackend, ScriptedBackend, in_order, link, out_of_time, root_of, store_of

pytestmark = pytest.mark.anyio

PATHS = ["a-b", "a.c", "a/x.py", "a/y/z.py", "a0", "b/x.py", "b/y.txt", "deep/a/b/c.py"]


async def globbed(backend: Backend, pattern: str, *, path: str = ".", bounds: SearchBounds | None = None) -> Globbed:
    start = await root_of(backend, path)
    return await TreeSearch(backend).glob(start, pattern, bounds=bounds or SearchBounds())


@pytest.mark.parametrize("kind", [MemoryBackend, FlatBackend])
@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", ".", ["a/x.py", "a/y/z.py", "b/x.py", "deep/a/b/c.py"]),
        ("./*", ".", ["a-b", "a.c", "a0"]),
        ("a/*", ".", ["a/x.py"]),
        ("*.py", "a", ["a/x.py", "a/y/z.py"]),
        ("../b/*", "a", ["b/x.py", "b/y.txt"]),
        ("b/x.py", ".", ["b/x.py"]),
        ("a/", ".", ["a/", "deep/a/"]),
        ("./*/", ".", ["a/", "b/", "deep/"]),
        ("**/b/**", ".", ["b/x.py", "b/y.txt", "deep/a/b/c.py"]),
        ("{a,b}/*.py", ".", ["a/x.py", "b/x.py"]),
        ("memory://a/**/*.py", "b", ["a/x.py", "a/y/z.py"]),
        ("*.rs", ".", []),
        ("nope/*", ".", []),
        ("a0/*", ".", []),
    ],
)
async def test_paths_are_relative_to_the_root_and_in_order(
    kind: type[MemoryBackend], pattern: str, path: str, expected: list[str]
) -> None:
    result = await globbed(kind(store_of(PATHS)), pattern, path=path)
    assert list(result.paths) == expected
    assert (result.total, result.is_exact, result.bound) == (len(expected), True, None)


@pytest.mark.parametrize("kind", [MemoryBackend, FlatBackend])
async def test_the_first_paths_are_kept_and_all_are_counted(kind: type[MemoryBackend]) -> None:
    paths = [f"{number % 7}/{number:03}" for number in range(300)]
    result = await globbed(kind(store_of(paths)), "**", bounds=SearchBounds(entries_max=10))
    assert list(result.paths) == in_order(paths)[:10]
    assert (result.total, result.is_exact, result.bound) == (300, True, Bound.ENTRIES)


async def test_paths_end_where_there_is_no_more_room_for_their_bytes() -> None:
    backend = MemoryBackend(store_of(["aé", "b", "c"]))
    result = await globbed(backend, "*", bounds=SearchBounds(result_bytes_max=6))
    assert (result.paths, result.total, result.bound) == (("aé", "b"), 3, Bound.BYTES)


async def test_links_are_shown_and_what_is_left_out_is_counted() -> None:
    root = Level(files=["a.py"], directories=[".git", "d"], others=[link("l.py"), link("other")])
    levels = {".": root, "d": PermissionDenied("no", path="d", operation="list")}
    result = await globbed(ScriptedBackend(lambda path: levels[path]), "*.py")
    assert result.paths == ("a.py", "l.py")
    assert result.skipped == {SkipReason.IGNORED: 1, SkipReason.LINK: 1, SkipReason.DENIED: 1}


async def test_what_a_pattern_names_by_its_plain_names_is_exempt_from_the_rules() -> None:
    store = store_of(["node_modules/p/package.json", ".git/config"], ignore={".gitignore": "node_modules\n"})
    for backend in (MemoryBackend(store), FlatBackend(store)):
        assert (await globbed(backend, "**/package.json")).paths == ()
        assert (await globbed(backend, "node_modules/*/package.json")).paths == ("node_modules/p/package.json",)
        assert (await globbed(backend, ".git/*")).paths == (".git/config",)
        everything = await globbed(backend, "**/package.json", bounds=SearchBounds(gitignore=False))
        assert everything.paths == ("node_modules/p/package.json",)


@pytest.mark.parametrize("kind", [MemoryBackend, FlatBackend])
@pytest.mark.parametrize("pattern", ["*", "x/*", "./*"])
async def test_a_start_that_is_no_directory_is_told_with_what_may_be_meant(
    kind: type[MemoryBackend], pattern: str
) -> None:
    backend = kind(store_of(["source/a", "file"]))
    with pytest.raises(NotFound) as missing:
        await globbed(backend, pattern, path="sourc")
    assert missing.value.near_names == ("source",)
    with pytest.raises(NotDirectory):
        await globbed(backend, pattern, path="file")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("/etc/*", 'outside the root memory://; use a path relative to the root; did you mean "etc/\\*"'),
        ("s3://bucket/*", "outside the root"),
        ("../*", "leads out of the root"),
        ("a/../../*", "leads out of the root"),
    ],
)
async def test_a_pattern_out_of_the_root_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(SandboxDenied, match=words):
        await globbed(MemoryBackend(store_of(PATHS)), pattern)


async def test_a_bad_pattern_is_refused_before_anything_is_listed() -> None:
    backend = ScriptedBackend(lambda _: Level(files=(), directories=()))
    with pytest.raises(PatternError):
        await globbed(backend, "[")
    assert backend.calls == []


async def test_a_search_out_of_time_tells_what_it_has() -> None:
    class Slow(ScriptedBackend):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            if directories[0].display_path != ".":
                await anyio.sleep_forever()
            return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)

    backend = Slow(lambda _: Level(files=["a"], directories=["d"]))
    result = await out_of_time(
        lambda bounds: globbed(backend, "*", bounds=bounds), has_all=lambda result: result.total > 0
    )
    assert (result.paths, result.total, result.is_exact, result.bound) == (("a",), 1, False, Bound.SECONDS)


async def test_more_names_than_are_looked_at_make_the_count_inexact() -> None:
    backend = ScriptedBackend(lambda _: Level(files=["a", "b", "c"], directories=()))
    result = await globbed(backend, "*", bounds=SearchBounds(directory_entries_max=2))
    assert (result.paths, result.total, result.is_exact) == (("a", "b"), 2, False)
    assert result.skipped == {SkipReason.TOO_LARGE: 1}


async def test_whoever_watches_is_told_how_far_it_is() -> None:
    told: list[Looked] = []
    backend = MemoryBackend(store_of(PATHS))
    root = await root_of(backend)
    await TreeSearch(backend).glob(root, "*.py", bounds=SearchBounds(), watch=told.append)
    assert told
    assert all(looked.directories and looked.files for looked in told)
