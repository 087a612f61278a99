import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import pytest
from anyio import to_thread

from fs_core.errors import (
    FsError,
    IoFault,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    Reason,
    StaleVersion,
    Unavailable,
)
from fs_core.paths import RootedPath
from fs_core.protocol import Bulk, FileSink, Scanned, Sink
from fs_core.search import grepping
from fs_core.search.bounds import Looked, SearchBounds
from fs_core.search.grepping import LineQuery, grep
from fs_core.search.outcomes import Bound, Grepped, SkipReason
from fs_core.search.pattern import PatternError
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import FileInfo, FileKind, Level, Snapshot, Target, Version
from tests.fs_core.search.trees import out_of_time

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@dataclass
class Scripted(MemoryBackend):
    """A store in memory that does to a path what a test says, and notes what it is asked."""

    files: dict[str, bytes]
    bulk: Bulk = field(default_factory=lambda: Bulk(files=2, calls=2))  # pyright: ignore[reportIncompatibleVariableOverride]
    refusals: dict[str, FsError] = field(default_factory=dict[str, FsError])
    batches: list[list[str]] = field(default_factory=list[list[str]])
    ranges: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    running: int = 0
    running_max: int = 0

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        super().__init__(self.store)
        for path, data in self.files.items():
            self.store.make_parents(path)
            self.store.put(path, data)

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        paths = [file.display_path for file in files]
        if any(path.endswith(".gitignore") for path in paths):
            return await super().read_many(files, sink, size_bytes_max=size_bytes_max)
        self.batches.append(paths)
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        try:
            await self.begin_read()
            refusals = await super().read_many(files, sink, size_bytes_max=size_bytes_max)
        finally:
            self.running -= 1
        return [self.refusals.get(path, refusal) for path, refusal in zip(paths, refusals, strict=True)]

    async def begin_read(self) -> None:
        """Wait as long as a test wants it to."""

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        self.ranges.append((offset, limit))
        return await super().read(target, offset=offset, limit=limit, pinned=pinned)


async def search(
    backend: MemoryBackend, pattern: str | LineQuery, path: str = "", *, bounds: SearchBounds | None = None
) -> Grepped:
    query = pattern if isinstance(pattern, LineQuery) else LineQuery(pattern)
    start = await backend.resolve(RootedPath(tuple(path.split("/")) if path else ()))
    return await grep(backend, start, query, bounds=bounds or SearchBounds(), watch=None)


def shown(found: Grepped) -> list[str]:
    return [f"{file.path}:{line.number}:{line.text}" for file in found.files for line in file.lines]


def numbered(count: int) -> dict[str, bytes]:
    return {f"{number:02}": b"x\n" for number in range(count)}


async def test_lines_of_all_files_below_come_in_the_order_of_whole_paths() -> None:
    names = ["a0", "a/x", "a.c", "a-b", "b/c/d", "b/c.d"]
    found = await search(Scripted(dict.fromkeys(names, b"needle\n")), "needle")
    assert shown(found) == [f"{name}:1:needle" for name in ["a-b", "a.c", "a/x", "a0", "b/c.d", "b/c/d"]]
    assert (found.matches, found.files_searched, found.files_left, found.is_exact, found.bound) == (6, 6, 0, True, None)


class Gated(Scripted):
    """Holds every batch until the test lets it go on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gates: list[anyio.Event] = []

    async def begin_read(self) -> None:
        gate = anyio.Event()
        self.gates.append(gate)
        await gate.wait()


async def test_batches_that_end_in_any_order_give_the_same_as_one_after_another() -> None:
    files = {f"{number:02}": b"x\n" * (number % 3) + b"-\n" for number in range(14)}
    bounds = SearchBounds(matches_max=9)
    alone = await search(Scripted(files, bulk=Bulk(files=1, calls=1)), LineQuery("x", context=1), bounds=bounds)
    backend, found = Gated(files, bulk=Bulk(files=2, calls=3)), list[Grepped]()

    async def run() -> None:
        found.append(await search(backend, LineQuery("x", context=1), bounds=bounds))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not found:
            await anyio.wait_all_tasks_blocked()
            if backend.gates:
                backend.gates.pop().set()  # the latest first
    assert found == [alone]
    assert alone.bound is Bound.MATCHES
    assert backend.running_max == 3


async def test_no_more_batches_are_read_ahead_than_the_store_likes() -> None:
    backend = Gated(numbered(20), bulk=Bulk(files=2, calls=3))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search, backend, "x")
        await anyio.wait_all_tasks_blocked()
        assert backend.batches == [["00", "01"], ["02", "03"], ["04", "05"]]
        backend.gates[1].set()
        await anyio.wait_all_tasks_blocked()
        assert len(backend.batches) == 3
        backend.gates[0].set()
        await anyio.wait_all_tasks_blocked()
        assert len(backend.batches) == 5
        tasks.cancel_scope.cancel()
    assert backend.running == 0


async def test_nothing_more_is_read_when_there_is_no_room_and_the_rest_is_counted() -> None:
    backend = Scripted(numbered(40), bulk=Bulk(files=2, calls=2))
    found = await search(backend, "x", bounds=SearchBounds(matches_max=3))
    assert [file.path for file in found.files] == ["00", "01", "02"]
    assert (found.matches, found.files_searched, found.files_left) == (3, 3, 37)
    assert (found.bound, found.is_exact) == (Bound.MATCHES, True)
    assert len(backend.batches) <= 4


async def test_what_is_found_is_searched_although_the_next_names_take_long() -> None:
    class Endless(Scripted):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            if directories[0].display_path != ".":
                await anyio.sleep_forever()
            return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)

    backend = Endless({"a": b"x\n", "b/c": b"x\n"}, bulk=Bulk(files=100, calls=1))
    found = await out_of_time(
        lambda bounds: search(backend, "x", bounds=bounds), has_all=lambda found: found.files_searched > 0
    )
    assert shown(found) == ["a:1:x"]
    assert (found.files_searched, found.bound, found.is_exact) == (1, Bound.SECONDS, False)


async def test_lines_that_just_fit_are_all_there_is() -> None:
    found = await search(Scripted(numbered(3)), "x", bounds=SearchBounds(matches_max=3))
    assert (found.matches, found.files_searched, found.files_left, found.bound) == (3, 3, 0, None)


@pytest.mark.parametrize(
    ("matches_max", "lines", "searched", "left"),
    [(1, ["a:1:x1", "a:2:-"], 0, 2), (2, ["a:1:x1", "a:2:-", "a:3:x2"], 1, 1)],
)
async def test_a_file_of_which_lines_are_left_counts_as_left(
    matches_max: int, lines: Sequence[str], searched: int, left: int
) -> None:
    backend = Scripted({"a": b"x1\n-\nx2\n", "b": b"-\n"})
    found = await search(backend, LineQuery("x", context=1), bounds=SearchBounds(matches_max=matches_max))
    assert shown(found) == lines
    assert (found.files_searched, found.files_left, found.bound) == (searched, left, Bound.MATCHES)


@pytest.mark.parametrize(
    ("size_bytes", "lines"),
    [
        (2 + 3 + 2 + 3 + 2, ["a:1:x1", "a:2:-", "a:3:x2", "a:4:-"]),
        (2 + 3 + 2 + 3, ["a:1:x1", "a:2:-", "a:3:x2"]),
        (2 + 3 + 2 + 2, ["a:1:x1", "a:2:-"]),
        (2 + 3, ["a:1:x1"]),
        (2 + 2, []),
        (0, []),
    ],
)
async def test_a_result_ends_with_the_last_line_for_which_there_are_bytes(
    size_bytes: int, lines: Sequence[str]
) -> None:
    backend = Scripted({"a": b"x1\n-\nx2\n-\n-\nx3", "b": b"x\n"})
    found = await search(backend, LineQuery("x", context=1), bounds=SearchBounds(result_bytes_max=size_bytes))
    assert shown(found) == lines
    assert found.matches == sum(":x" in line for line in lines)
    assert (found.files_searched, found.files_left, found.bound) == (0, 2, Bound.BYTES)


async def test_lines_before_a_match_are_not_shown_without_it() -> None:
    backend = Scripted({"a": b"x1\n1\n2\n3\n4\nx2"})
    found = await search(backend, LineQuery("x", context=1), bounds=SearchBounds(result_bytes_max=2 + 3 + 2 + 2 + 1))
    assert shown(found) == ["a:1:x1", "a:2:1"]


async def test_what_is_not_searched_is_counted_by_reason() -> None:
    files = {
        "binary": b"x\0",
        "changed": b"x",
        "denied": b"x",
        "gone": b"x",
        "pipe": b"x",
        "latin": b"x\xff",
        "failed": b"x",
        "large": b"x" * 200,
        "text": b"x\n",
        ".gitignore": b"ignored\n",
        "ignored": b"x",
    }
    backend = Scripted(files)
    backend.refusals = {
        "changed": StaleVersion("changed", path="changed", operation="read"),
        "denied": PermissionDenied("denied", path="denied", operation="read"),
        "gone": NotFound("gone", path="gone", operation="read"),
        "failed": IoFault("failed", path="failed", operation="read"),
        "pipe": NotRegularFile(Reason.IS_SPECIAL, path="pipe", operation="read"),
    }
    found = await search(backend, "x", bounds=SearchBounds(file_bytes_max=100))
    assert shown(found) == ["text:1:x"]
    assert found.skipped == {
        SkipReason.BINARY: 1,
        SkipReason.UNDECODABLE: 1,
        SkipReason.TOO_LARGE: 1,
        SkipReason.VANISHED: 3,
        SkipReason.DENIED: 1,
        SkipReason.FAILED: 1,
        SkipReason.IGNORED: 1,
    }
    assert (found.files_searched, found.files_left, found.bound) == (2, 0, None)


async def test_what_stands_behind_the_last_line_is_left_whatever_it_is() -> None:
    backend = Scripted({"a": b"x\n", "b": b"\0", "c": b"\0"}, bulk=Bulk(files=3, calls=1))
    found = await search(backend, "x", bounds=SearchBounds(matches_max=1))
    assert (found.files_searched, found.files_left, found.skipped) == (1, 2, {})


@pytest.mark.parametrize(
    ("include", "paths"),
    [
        (None, ["a.py", "src/b.py", "src/c/d.py", "src/e.txt"]),
        ("*.py", ["a.py", "src/b.py", "src/c/d.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/c/d.py", "src/e.txt"]),
        ("src/c/*", ["src/c/d.py"]),
        ("*.{txt,md}", ["src/e.txt"]),
        ("none/*.py", []),
        ("a.py/*", []),
    ],
)
async def test_only_files_that_are_included_are_read(include: str | None, paths: Sequence[str]) -> None:
    backend = Scripted(dict.fromkeys(["a.py", "src/b.py", "src/c/d.py", "src/e.txt"], b"x\n"))
    found = await search(backend, LineQuery("x", include=include))
    assert [file.path for file in found.files] == paths
    assert [path for batch in backend.batches for path in batch] == paths


async def test_what_is_included_is_relative_to_the_directory_that_is_searched() -> None:
    backend = Scripted(dict.fromkeys(["src/a/b.py", "src/b.py", "a/b.py"], b"x\n"))
    found = await search(backend, LineQuery("x", include="a/*.py"), "src")
    assert [file.path for file in found.files] == ["src/a/b.py"]


@pytest.mark.parametrize("include", ["../*.py", "[a", ""])
async def test_a_bad_pattern_of_files_is_refused(include: str) -> None:
    with pytest.raises(PatternError, match="glob"):
        await search(Scripted({"a": b"x"}), LineQuery("x", include=include))


async def test_a_bad_pattern_is_refused_before_anything_is_read() -> None:
    backend = Scripted({"a": b"x"})
    with pytest.raises(PatternError, match="bad pattern at position 1"):
        await search(backend, "x(")
    assert backend.batches == []


async def test_a_file_that_is_named_is_searched_alone_whatever_is_included() -> None:
    backend = Scripted({".gitignore": b"*.py\n", "a.py": b"-\nx\n", "b": b"x\n"})
    found = await search(backend, LineQuery("x", include="*.txt"), "a.py")
    assert shown(found) == ["a.py:2:x"]
    assert (found.start.display_path, found.matches, found.files_searched, found.bound) == ("a.py", 1, 1, None)
    assert (found.is_exact, found.skipped) == (True, {})


async def test_of_a_file_that_is_named_it_is_told_that_there_is_more() -> None:
    found = await search(Scripted({"a": b"x\nx\n"}), "x", "a", bounds=SearchBounds(matches_max=1))
    assert (found.matches, found.files_searched, found.files_left, found.bound) == (1, 0, 1, Bound.MATCHES)


async def test_a_binary_file_that_is_named_is_told_as_skipped() -> None:
    found = await search(Scripted({"a": b"x\0"}), "x", "a")
    assert (found.matches, found.skipped, found.files_left) == (0, {SkipReason.BINARY: 1}, 0)


async def test_what_keeps_a_file_that_is_named_from_being_read_is_raised() -> None:
    backend = Scripted({"a": b"x"}, refusals={"a": PermissionDenied("no", path="a", operation="read")})
    with pytest.raises(PermissionDenied):
        await search(backend, "x", "a")


async def test_a_start_that_is_not_there_is_told_with_similar_names() -> None:
    with pytest.raises(NotFound) as refused:
        await search(Scripted({"source/a": b"x"}), "x", "sourec")
    assert refused.value.near_names == ("source",)


async def test_a_start_that_is_neither_file_nor_directory_is_refused() -> None:
    class Special(Scripted):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            del entries_max, with_sizes
            return [NotDirectory("is no directory", path="fifo", operation="list") for _ in directories]

        async def stat(self, target: Target) -> FileInfo | None:
            del target
            return FileInfo(FileKind.OTHER)

    with pytest.raises(NotDirectory):
        await search(Special({"fifo": b""}), "x", "fifo")


async def test_a_directory_without_files_has_no_lines() -> None:
    found = await search(Scripted({}), "x")
    assert (found.files, found.matches, found.files_searched, found.bound) == ((), 0, 0, None)


@pytest.mark.parametrize("pattern", ["needle", "ne+dle"])
async def test_a_file_that_is_not_held_as_a_whole_gives_the_same_lines(pattern: str) -> None:
    data = b"line\r\n" * (3 * MIB) + b"needle\r\n" + b"line\n" * MIB
    backend = Scripted({"a": b"needle\n", "big": data, "c": b"needle\n"})
    found = await search(backend, LineQuery(pattern, context=1))
    assert shown(found) == [
        "a:1:needle",
        "big:3145728:line",
        "big:3145729:needle",
        "big:3145730:line",
        "c:1:needle",
    ]
    assert found.files_searched == 3


async def test_a_pattern_that_takes_long_does_not_keep_an_event_loop_from_its_work() -> None:
    threads = set[int]()

    class Watched(Scripted):
        async def scan(self, target: Target, sink: Sink) -> Scanned:
            threads.add(threading.get_ident())
            return await super().scan(target, sink)

    backend = Watched({"big": b"a\n" * MIB + b"ab\n", "small": b"a\n" * 100_000 + b"ab\n"})
    found = await search(backend, "[a]{50}|ab")
    assert shown(found) == ["big:1048577:ab", "small:100001:ab"]
    assert threads == {threading.get_ident()}
    assert (0, 8 * MIB) in backend.ranges  # it was read in ranges instead, that are searched in threads


async def test_a_large_file_that_changes_while_it_is_searched_is_counted() -> None:
    class Changing(Scripted):
        async def scan(self, target: Target, sink: Sink) -> Scanned:
            del sink
            raise StaleVersion("changed while it was read", path=target.display_path, operation="read")

    found = await search(Changing({"big": b"x\n" * MIB}), "x")
    assert (found.matches, found.skipped) == (0, {SkipReason.VANISHED: 1})


async def test_a_large_binary_file_is_not_read_to_its_end() -> None:
    backend = Scripted({"big": b"x\0" + b"x\n" * (2 * MIB)})
    found = await search(backend, "x")
    assert found.skipped == {SkipReason.BINARY: 1}
    assert [offset for offset, _ in backend.ranges if offset] == []


@pytest.mark.parametrize("primitive", ["read_many", "scan", "list_many"])
async def test_a_store_that_cannot_be_asked_ends_the_search_with_its_error(primitive: str) -> None:
    error = Unavailable("no answer", path="a", operation="read")

    class Broken(Scripted):
        def __getattribute__(self, name: str) -> object:
            if name != primitive:
                return super().__getattribute__(name)

            async def broken(*_: object, **__: object) -> object:
                raise error

            return broken

    with pytest.raises(Unavailable) as raised:
        await search(Broken({"a": b"x\n" * MIB, "b": b"x\n"}), "x")
    assert raised.value is error


async def test_a_search_that_has_no_time_left_ends_with_what_it_has() -> None:
    class Stuck(Scripted):
        async def begin_read(self) -> None:
            if len(self.batches) == 3:
                await anyio.sleep_forever()

    backend = Stuck(numbered(10), bulk=Bulk(files=2, calls=2))

    async def begin(bounds: SearchBounds) -> Grepped:
        backend.batches.clear()
        return await search(backend, "x", bounds=bounds)

    found = await out_of_time(begin, has_all=lambda found: found.files_searched == 4)
    assert [file.path for file in found.files] == ["00", "01", "02", "03"]
    assert (found.bound, found.is_exact) == (Bound.SECONDS, False)
    assert (found.files_searched, found.files_left) == (4, 6)
    assert backend.running == 0


async def test_names_are_counted_for_a_bounded_time_behind_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Scripted):
        async def list_many(
            self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
        ) -> Sequence[Level | FsError]:
            if directories[0].display_path != ".":
                await anyio.sleep_forever()
            return await super().list_many(directories, entries_max=entries_max, with_sizes=with_sizes)

    monkeypatch.setattr(grepping, "COUNTING_S_MAX", 0.05)
    found = await search(Endless({"a": b"x", "b": b"x", "c/d": b"x"}), "x", bounds=SearchBounds(matches_max=1))
    assert (found.matches, found.files_left, found.bound, found.is_exact) == (1, 1, Bound.MATCHES, False)


async def test_a_search_in_a_thread_that_is_cancelled_ends_at_its_next_file() -> None:
    begun = threading.Event()

    class Endless(Scripted):
        async def read_many(
            self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
        ) -> Sequence[FsError | None]:
            del files, size_bytes_max

            def feed() -> None:
                while True:
                    sink(0, b"-\n")
                    begun.set()

            await to_thread.run_sync(feed)
            raise AssertionError("it ends with what the sink raises")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search, Endless({"a": b""}), "x")
        await to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancelled_caught


async def test_whoever_watches_is_told_how_far_a_search_has_come() -> None:
    told: list[Looked] = []
    backend = Scripted({"a/b": b"x\n", "c": b"x\n"})
    await grep(backend, await backend.resolve(RootedPath(())), LineQuery("x"), bounds=SearchBounds(), watch=told.append)
    assert told
    assert told[0].directories >= 1


async def test_a_search_can_be_made_twice_at_once() -> None:
    backend, found = Scripted(numbered(6)), list[Grepped]()

    async def run() -> None:
        found.append(await search(backend, "x"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(run)
    assert found[0] == found[1]
    assert found[0].matches == 6
