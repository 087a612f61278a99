"""What every backend must do, as tests: subclass `BackendConformance`, provide the fixture `harness`, collect.

    class TestMyStore(BackendConformance):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> StoreHarness:
            return MyHarness(tmp_path)

Needs pytest with anyio's plugin. Every promise of `fs_core.protocol.Backend` that can be seen from outside has a test
here; the harness looks at the store behind the backend's back. Nothing is skipped: a store without links or modes has
the tests of what it does instead.
"""

from collections.abc import AsyncGenerator
from typing import Final

import anyio
import pytest

from fs_core.digest import content_digest
from fs_core.errors import (
    ErrorCode,
    FsError,
    InvalidPath,
    NotDirectory,
    NotFound,
    NotRegularFile,
    Reason,
    SandboxDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)
from fs_core.paths import parse_path, staged_name
from fs_core.protocol import SCAN_CHUNK_BYTES, Backend, Guard
from fs_core.splice import Replacement, Splice
from fs_core.testing.harness import StoreHarness
from fs_core.types import Always, FileKind, IfAbsent, IfVersion, Level, NoteKind, Target, Version

__all__ = ["ODD_NAMES", "BackendConformance", "target_of"]

ODD_NAMES: Final = (
    " leading and trailing ",
    "a%20b.txt",
    "picture #1?.txt",
    "a+b&c=d;e.txt",
    "v1..v2.diff",
    "...",
    "~",
    "$HOME",
    "quote'\"`.txt",
    "emoji-\U0001f600.txt",
    "caf\u00e9.txt",
    "cafe\u0301.txt",
    "\u4e2d\u6587.txt",
    "[glob]*.txt",
    "-dash",
    ".hidden",
)
"""Names that are nothing but names: a URL, a shell, a glob or a normaliser would make something else of them."""

_RACERS: Final = 16
_TASKS: Final = 4
_INCREMENTS: Final = 6
_ABSENT: Final = Version(token="no such version", digest=content_digest(b"no such content"))


async def target_of(backend: Backend, path: str) -> Target:
    """Resolve a path as the seam does."""
    return await backend.resolve(parse_path(path, backend.root))


async def _read(backend: Backend, path: str) -> bytes:
    return (await backend.read(await target_of(backend, path))).data


@pytest.mark.anyio
class BackendConformance:
    """One test per promise. Scenario and outcome stand in the name."""

    @pytest.fixture
    def harness(self) -> StoreHarness:
        """Return an empty root; every subclass provides its own."""
        raise NotImplementedError

    @pytest.fixture
    async def backend(self, harness: StoreHarness) -> AsyncGenerator[Backend]:
        """Open one backend on the root and close it."""
        backend = await harness.open()
        yield backend
        await backend.aclose()

    # -- identity ----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("spelling", ["./d/a.txt", "d//a.txt", "x/../d/a.txt", "d/./a.txt", "d/x/../a.txt"])
    async def test_every_spelling_of_a_file_has_one_key(self, backend: Backend, spelling: str) -> None:
        plain = await target_of(backend, "d/a.txt")
        other = await target_of(backend, spelling)
        assert other == plain
        assert plain.display_path == "d/a.txt"

    async def test_absolute_spellings_of_the_root_are_accepted(self, backend: Backend) -> None:
        plain = await target_of(backend, "d/a.txt")
        for prefix in backend.root.prefixes:
            assert await target_of(backend, f"{prefix}/d/a.txt") == plain

    async def test_a_key_is_the_same_before_and_after_creation(self, backend: Backend) -> None:
        before = await target_of(backend, "d/a.txt")
        await backend.write(before, b"x", condition=IfAbsent())
        assert await target_of(backend, "d/a.txt") == before

    async def test_different_files_have_different_keys(self, backend: Backend) -> None:
        keys = {(await target_of(backend, name)).key for name in ODD_NAMES}
        assert len(keys) == len(ODD_NAMES)

    async def test_a_path_through_a_file_is_not_found(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("file", b"x")
        with pytest.raises(NotFound) as refused:
            await backend.read(await target_of(backend, "file/below.txt"))
        assert refused.value.reason in {Reason.THROUGH_FILE, Reason.NO_SUCH_FILE}

    async def test_links_lead_to_their_target_inside_the_root(self, harness: StoreHarness, backend: Backend) -> None:
        if not harness.has_links:
            with pytest.raises(NotImplementedError):
                harness.link("l", "d")
            return
        harness.put("d/a.txt", b"x")
        harness.link("to-file", "d/a.txt")
        harness.link("to-directory", "d")
        harness.link("up/again", "../d/a.txt")
        plain = await target_of(backend, "d/a.txt")
        for spelling in ("to-file", "to-directory/a.txt", "up/again"):
            assert (await target_of(backend, spelling)).key == plain.key
        missing = await target_of(backend, "to-directory/new/b.txt")
        assert missing.key == (await target_of(backend, "d/new/b.txt")).key

    async def test_links_out_of_the_root_are_denied(self, harness: StoreHarness, backend: Backend) -> None:
        if not harness.has_links:
            return self._assert_no_links(harness)
        harness.mkdir("d")
        for name, text in (("d/parent", "../.."), ("absolute", "/etc/hostname"), ("dangling", "../nowhere/x")):
            harness.link(name, text)
            with pytest.raises(SandboxDenied) as refused:
                await backend.read(await target_of(backend, name))
            assert backend.root.url in str(refused.value)
        with pytest.raises(SandboxDenied):
            await backend.write(await target_of(backend, "d/parent/new.txt"), b"x", condition=IfAbsent())
        return None

    async def test_a_loop_of_links_is_an_invalid_path(self, harness: StoreHarness, backend: Backend) -> None:
        if not harness.has_links:
            return self._assert_no_links(harness)
        harness.link("loop", "loop")
        with pytest.raises(InvalidPath):
            await target_of(backend, "loop")
        return None

    async def test_writing_through_a_link_keeps_the_link(self, harness: StoreHarness, backend: Backend) -> None:
        if not harness.has_links:
            return self._assert_no_links(harness)
        harness.put("real.txt", b"old")
        harness.link("link.txt", "real.txt")
        harness.link("dangling.txt", "made.txt")
        await backend.write(await target_of(backend, "link.txt"), b"new", condition=Always())
        await backend.write(await target_of(backend, "dangling.txt"), b"made", condition=IfAbsent())
        assert harness.get("real.txt") == b"new"
        assert harness.get("made.txt") == b"made"
        assert harness.names() == ["dangling.txt", "link.txt", "made.txt", "real.txt"]
        return None

    def _assert_no_links(self, harness: StoreHarness) -> None:
        with pytest.raises(NotImplementedError):
            harness.link("link", "anywhere")

    # -- metadata ----------------------------------------------------------------------------------------------------

    async def test_stat_tells_what_is_there(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("d/a.txt", b"12345")
        harness.mkdir("empty")
        info = await backend.stat(await target_of(backend, "d/a.txt"))
        assert info is not None
        assert (info.kind, info.size_bytes) == (FileKind.FILE, 5)
        assert info.version is not None
        for path in (".", "d", "empty"):
            directory = await backend.stat(await target_of(backend, path))
            assert directory is not None
            assert directory.kind is FileKind.DIRECTORY
        assert await backend.stat(await target_of(backend, "missing")) is None
        assert await backend.stat(await target_of(backend, "missing/deep")) is None

    async def test_stat_is_fresh(self, harness: StoreHarness, backend: Backend) -> None:
        target = await target_of(backend, "late.txt")
        assert await backend.stat(target) is None
        harness.put("late.txt", b"x")
        first = await backend.stat(target)
        harness.put("late.txt", b"longer")
        second = await backend.stat(target)
        harness.delete("late.txt")
        assert first is not None
        assert second is not None
        assert (first.size_bytes, second.size_bytes) == (1, 6)
        assert first.version != second.version
        assert await backend.stat(target) is None

    # -- reading -----------------------------------------------------------------------------------------------------

    async def test_a_whole_read_has_bytes_size_version_and_digest(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        harness.put("a.txt", b"hello")
        target = await target_of(backend, "a.txt")
        snapshot = await backend.read(target)
        info = await backend.stat(target)
        assert (snapshot.data, snapshot.size_bytes, snapshot.is_whole) == (b"hello", 5, True)
        assert snapshot.version.digest == content_digest(b"hello")
        assert info is not None
        assert info.version == snapshot.version

    @pytest.mark.parametrize(
        ("offset", "limit", "expected"),
        [(0, 3, b"012"), (4, 3, b"456"), (8, 10, b"89"), (10, 5, b""), (99, 5, b""), (3, None, b"3456789")],
    )
    async def test_a_ranged_read_is_exact(
        self, harness: StoreHarness, backend: Backend, *, offset: int, limit: int | None, expected: bytes
    ) -> None:
        harness.put("a.txt", b"0123456789")
        snapshot = await backend.read(await target_of(backend, "a.txt"), offset=offset, limit=limit)
        assert (snapshot.data, snapshot.offset, snapshot.size_bytes) == (expected, offset, 10)

    async def test_an_empty_file_reads_as_empty(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("empty.txt", b"")
        target = await target_of(backend, "empty.txt")
        for limit in (None, 100):
            snapshot = await backend.read(target, limit=limit)
            assert (snapshot.data, snapshot.size_bytes) == (b"", 0)
            assert snapshot.version.digest == content_digest(b"")

    async def test_reading_nothing_or_a_directory_is_refused(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("d/a.txt", b"x")
        with pytest.raises(NotFound) as missing:
            await backend.read(await target_of(backend, "d/b.txt"))
        assert missing.value.reason == Reason.NO_SUCH_FILE
        for path in ("d", "."):
            with pytest.raises(NotRegularFile) as refused:
                await backend.read(await target_of(backend, path))
            assert refused.value.reason == Reason.IS_DIRECTORY

    async def test_a_pinned_read_refuses_another_version(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"0123456789")
        target = await target_of(backend, "a.txt")
        version = (await backend.read(target, limit=4)).version
        assert (await backend.read(target, offset=4, pinned=version)).data == b"456789"
        harness.put("a.txt", b"something else")
        with pytest.raises(StaleVersion):
            await backend.read(target, offset=4, pinned=version)

    async def test_a_scan_feeds_the_whole_file_in_order(self, harness: StoreHarness, backend: Backend) -> None:
        content = bytes(range(256)) * (2 * SCAN_CHUNK_BYTES // 256) + b"the end"
        harness.put("big.bin", content)
        pieces = bytearray()
        scanned = await backend.scan(await target_of(backend, "big.bin"), pieces.extend)
        assert pieces == content
        assert (scanned.size_bytes, scanned.version.digest) == (len(content), content_digest(content))

    async def test_a_whole_read_is_whole_or_refused(self, harness: StoreHarness, backend: Backend) -> None:
        content = bytes(range(256)) * (9 << 12) + b"the end"
        for name, data in {"big.bin": content, "empty.txt": b""}.items():
            harness.put(name, data)
            target = await target_of(backend, name)
            snapshot = await backend.read_whole(target, size_bytes_max=len(data))
            assert snapshot.is_whole
            assert snapshot.data == data
            assert snapshot.version.digest == content_digest(data)
        with pytest.raises(TooLarge):
            await backend.read_whole(await target_of(backend, "big.bin"), size_bytes_max=len(content) - 1)
        with pytest.raises(NotFound):
            await backend.read_whole(await target_of(backend, "missing.txt"), size_bytes_max=1)
        with pytest.raises(NotRegularFile):
            await backend.read_whole(await target_of(backend, "."), size_bytes_max=1)

    async def test_a_fault_of_the_sink_ends_the_scan(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"x" * 10)

        class SinkError(Exception):
            pass

        def sink(data: bytes | bytearray) -> None:
            raise SinkError(len(data))

        with pytest.raises(SinkError):
            await backend.scan(await target_of(backend, "a.txt"), sink)
        assert await _read(backend, "a.txt") == b"x" * 10

    # -- listing -----------------------------------------------------------------------------------------------------

    async def test_a_listing_is_sorted_and_hides_unfinished_writes(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        harness.put("d/b.txt", b"12")
        harness.put("d/a/below.txt", b"x")
        harness.put("d/a.txt", b"1")
        harness.put(f"d/{staged_name('0123456789abcdef')}", b"half")
        listing = await backend.list(await target_of(backend, "d"), limit=100)
        assert listing.is_complete
        assert [(entry.name, entry.kind, entry.size_bytes) for entry in listing.entries if entry.name != "a"] == [
            ("a.txt", FileKind.FILE, 1),
            ("b.txt", FileKind.FILE, 2),
        ]
        assert [entry.name for entry in listing.entries] == ["a", "a.txt", "b.txt"]
        assert listing.entries[0].kind is FileKind.DIRECTORY

    async def test_a_listing_is_bounded_and_says_so(self, harness: StoreHarness, backend: Backend) -> None:
        for number in range(5):
            harness.put(f"d/{number}.txt", b"x")
        listing = await backend.list(await target_of(backend, "d"), limit=3)
        assert [entry.name for entry in listing.entries] == ["0.txt", "1.txt", "2.txt"]
        assert not listing.is_complete

    async def test_listing_what_is_no_directory_is_refused(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("file", b"x")
        with pytest.raises(NotDirectory) as refused:
            await backend.list(await target_of(backend, "file"), limit=10)
        assert refused.value.reason == Reason.IS_NOT_DIRECTORY
        with pytest.raises(NotFound) as missing:
            await backend.list(await target_of(backend, "missing"), limit=10)
        assert missing.value.reason == Reason.NO_SUCH_DIRECTORY

    async def test_an_empty_root_lists_as_empty(self, backend: Backend) -> None:
        listing = await backend.list(await target_of(backend, "."), limit=10)
        assert (listing.entries, listing.is_complete) == ((), True)

    # -- many at once ------------------------------------------------------------------------------------------------

    async def test_many_directories_are_listed_like_each_alone(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("d/b.txt", b"12")
        harness.put("d/a/below.txt", b"x")
        harness.put("d/a.txt", b"")
        harness.put("d/Caf\u00e9 #1?.txt", b"123")
        harness.put(f"d/{staged_name('0123456789abcdef')}", b"half")
        harness.put("d-e/f/g.txt", b"x")
        harness.mkdir("empty")
        paths = ["d", "missing", "empty", "d/b.txt", ".", "d-e/f", "d/a"]
        targets = [await target_of(backend, path) for path in paths]
        for with_sizes in (False, True):
            found = await backend.list_many(targets, entries_max=100, with_sizes=with_sizes)
            names = [(list(one.files), list(one.directories)) for one in found if isinstance(one, Level)]
            assert names == [
                (["Caf\u00e9 #1?.txt", "a.txt", "b.txt"], ["a"]),
                ([], []),
                ([], ["d", "d-e", "empty"]),
                (["g.txt"], []),
                (["below.txt"], []),
            ]
            assert all(one.is_complete and not one.others for one in found if isinstance(one, Level))
            missing, no_directory = found[1], found[3]
            assert isinstance(missing, NotFound)
            assert (missing.reason, missing.path) == (Reason.NO_SUCH_DIRECTORY, "missing")
            assert isinstance(no_directory, NotDirectory)
            assert (no_directory.reason, no_directory.path) == (Reason.IS_NOT_DIRECTORY, "d/b.txt")
            if with_sizes:
                sizes = [one.sizes for one in found if isinstance(one, Level)]
                assert [list(one or ()) for one in sizes] == [[3, 0, 2], [], [], [1], [1]]
        assert await backend.list_many([], entries_max=100, with_sizes=False) == []

    async def test_of_a_large_directory_the_first_names_are_told(self, harness: StoreHarness, backend: Backend) -> None:
        for number in (3, 1, 4, 0, 2):
            harness.put(f"d/{number}.txt", b"x" * number)
        directory = await target_of(backend, "d")
        for entries_max, is_complete in ((3, False), (5, True)):
            (level,) = await backend.list_many([directory], entries_max=entries_max, with_sizes=True)
            assert isinstance(level, Level)
            assert list(level.files) == [f"{number}.txt" for number in range(entries_max)]
            assert list(level.sizes or ()) == list(range(entries_max))
            assert level.is_complete is is_complete

    async def test_links_are_marked_and_not_followed(self, harness: StoreHarness, backend: Backend) -> None:
        if not harness.has_links:
            return self._assert_no_links(harness)
        harness.put("d/a.txt", b"x")
        links = {"dangling": "nowhere", "loop": "loop", "outside": "/etc", "to-d": "d", "to-file": "d/a.txt"}
        for name, text in links.items():
            harness.link(name, text)
        root = await target_of(backend, ".")
        (level,) = await backend.list_many([root], entries_max=100, with_sizes=True)
        assert isinstance(level, Level)
        assert (list(level.files), list(level.directories)) == ([], ["d"])
        assert [entry.name for entry in level.others] == sorted(links)
        assert all(entry.is_link and entry.addressable for entry in level.others)
        listing = await backend.list(root, limit=100)
        assert [entry.name for entry in listing.entries if entry.is_link] == sorted(links)
        return None

    async def test_a_child_is_what_its_path_resolves_to(self, harness: StoreHarness, backend: Backend) -> None:
        for name in ("plain.txt", *ODD_NAMES):
            for parent in (".", "d", "d/e"):
                directory = await target_of(backend, parent)
                assert backend.child(directory, name) == await target_of(backend, f"{parent}/{name}")
        harness.put("d/a.txt", b"x")
        child = backend.child(await target_of(backend, "d"), "a.txt")
        assert (await backend.read(child)).data == b"x"

    async def test_many_files_are_fed_whole_and_refusals_stand_at_their_place(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        contents = {f"{'de'[number % 2]}/{number}.txt": b"content %d" % number for number in range(12)}
        contents |= {"d/empty.txt": b"", "d/[glob]*.txt": b"odd", "d/exact.bin": bytes(range(250)) * 400}
        for path, data in contents.items():
            harness.put(path, data)
        harness.put("d/large.bin", bytes(100_001))
        refused = {
            "d/large.bin": ErrorCode.TOO_LARGE,
            "d/missing.txt": ErrorCode.NOT_FOUND,
            "none/missing.txt": ErrorCode.NOT_FOUND,
            "d": ErrorCode.NOT_REGULAR_FILE,
        }
        paths = sorted([*contents, *refused])
        fed: dict[str, bytes] = {}

        def sink(index: int, data: bytes) -> None:
            assert paths[index] not in fed
            fed[paths[index]] = data

        targets = [await target_of(backend, path) for path in paths]
        found = await backend.read_many(targets, sink, size_bytes_max=100_000)
        assert fed == contents
        assert {path: one.code for path, one in zip(paths, found, strict=True) if one is not None} == refused
        assert all(one.path == path for path, one in zip(paths, found, strict=True) if one is not None)
        assert await backend.read_many([], sink, size_bytes_max=100_000) == []

    async def test_a_fault_of_the_sink_ends_the_reading_of_many(self, harness: StoreHarness, backend: Backend) -> None:
        for number in range(3):
            harness.put(f"{number}.txt", b"x")
        fed: list[int] = []

        class SinkError(Exception):
            pass

        def sink(index: int, data: bytes) -> None:
            fed.append(len(data))
            raise SinkError(index)

        targets = [await target_of(backend, f"{number}.txt") for number in range(3)]
        with pytest.raises(SinkError):
            await backend.read_many(targets, sink, size_bytes_max=10)
        assert fed == [1]
        assert await _read(backend, "0.txt") == b"x"

    async def test_files_below_a_directory_are_told_at_any_depth(self, harness: StoreHarness, backend: Backend) -> None:
        sizes = {"a/b/c.txt": 3, "a/d.txt": 1, "b.txt": 0, "b/e #1?.txt": 2, "b/f/g/h.txt": 5}
        for path, size in sizes.items():
            harness.put(f"d/{path}", b"x" * size)
        harness.put("d-e/beside.txt", b"x")
        harness.put(f"d/a/{staged_name('0123456789abcdef')}", b"half")
        directory = await target_of(backend, "d")
        if not backend.lists_below:
            with pytest.raises(Unsupported):
                await backend.list_below(directory)
            return
        assert await _below(backend, directory) == sizes
        behind = await _below(backend, directory, after="a")
        assert behind == {path: size for path, size in sizes.items() if path > "b"}
        with pytest.raises(NotFound):
            await backend.list_below(await target_of(backend, "missing"))
        with pytest.raises(NotDirectory):
            await backend.list_below(await target_of(backend, "d/b.txt"))

    async def test_a_closed_backend_lists_and_reads_nothing(self, harness: StoreHarness) -> None:
        harness.put("d/a.txt", b"x")
        backend = await harness.open()
        directory, file = await target_of(backend, "d"), await target_of(backend, "d/a.txt")
        await backend.aclose()
        fed: list[bytes] = []
        with pytest.raises(Unavailable):
            await backend.list_many([directory], entries_max=10, with_sizes=False)
        with pytest.raises(Unavailable):
            await backend.read_many([file], lambda _, data: fed.append(data), size_bytes_max=10)
        assert fed == []

    # -- writing -----------------------------------------------------------------------------------------------------

    async def test_creating_makes_the_file_and_its_parents(self, harness: StoreHarness, backend: Backend) -> None:
        harness.mkdir("there")
        receipt = await backend.write(await target_of(backend, "there/new/deep/a.txt"), b"hello", condition=IfAbsent())
        assert harness.get("there/new/deep/a.txt") == b"hello"
        assert receipt.created
        assert [(note.kind, note.detail) for note in receipt.notes] == [
            (NoteKind.PARENTS_CREATED, "there/new, there/new/deep")
        ]
        second = await backend.write(await target_of(backend, "there/new/b.txt"), b"", condition=IfAbsent())
        assert (second.created, second.notes) == (True, ())
        assert harness.get("there/new/b.txt") == b""

    async def test_creating_what_exists_is_refused(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"theirs")
        with pytest.raises(StaleVersion) as refused:
            await backend.write(await target_of(backend, "a.txt"), b"ours", condition=IfAbsent())
        assert refused.value.reason == Reason.EXISTS
        assert harness.get("a.txt") == b"theirs"
        assert harness.names() == ["a.txt"]

    async def test_replacing_the_expected_version_works(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"old")
        target = await target_of(backend, "a.txt")
        seen = await backend.read(target)
        receipt = await backend.write(target, b"new content", condition=IfVersion(seen.version))
        assert harness.get("a.txt") == b"new content"
        assert not receipt.created
        assert receipt.version != seen.version
        assert harness.names() == ["a.txt"]

    async def test_replacing_another_version_is_refused(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"first")
        target = await target_of(backend, "a.txt")
        seen = await backend.read(target)
        harness.put("a.txt", b"other")
        with pytest.raises(StaleVersion) as refused:
            await backend.write(target, b"ours", condition=IfVersion(seen.version))
        assert refused.value.reason == Reason.CHANGED
        assert harness.get("a.txt") == b"other"
        assert harness.names() == ["a.txt"]

    async def test_replacing_with_the_same_content_rewritten_behind_works(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        harness.put("a.txt", b"same")
        target = await target_of(backend, "a.txt")
        seen = await backend.read(target)
        harness.delete("a.txt")
        harness.put("a.txt", b"same")
        await backend.write(target, b"new", condition=IfVersion(seen.version))
        assert harness.get("a.txt") == b"new"

    async def test_replacing_what_is_gone_is_refused_and_leaves_no_parents(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        with pytest.raises(StaleVersion) as refused:
            await backend.write(await target_of(backend, "new/a.txt"), b"x", condition=IfVersion(_ABSENT))
        assert refused.value.reason == Reason.DELETED
        assert harness.names() == []

    @pytest.mark.parametrize("unit_bytes", [1, 700_001], ids=["small", "large"])
    async def test_a_patch_publishes_the_spliced_content(
        self, harness: StoreHarness, backend: Backend, unit_bytes: int
    ) -> None:
        old = b"".join(bytes((65 + number,)) * unit_bytes for number in range(8))
        harness.put("a.txt", old)
        target = await target_of(backend, "a.txt")
        seen = await backend.read_whole(target, size_bytes_max=len(old))
        ends = (0, unit_bytes), (3 * unit_bytes, 3 * unit_bytes), (5 * unit_bytes, 6 * unit_bytes)
        splice = Splice(seen.data, tuple(Replacement(start, end, b"new\n") for start, end in ends))
        receipt = await backend.patch(target, splice, condition=IfVersion(seen.version))
        assert harness.get("a.txt") == splice.joined()
        assert (receipt.created, receipt.version.digest) == (False, content_digest(splice.joined()))
        info = await backend.stat(target)
        assert info is not None
        assert (info.version, info.size_bytes) == (receipt.version, splice.size_bytes)
        assert harness.names() == ["a.txt"]

    async def test_a_patch_of_another_version_is_refused(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.txt", b"first")
        target = await target_of(backend, "a.txt")
        seen = await backend.read(target)
        harness.put("a.txt", b"other")
        splice = Splice(seen.data, (Replacement(0, 1, b"F"),))
        with pytest.raises(StaleVersion) as refused:
            await backend.patch(target, splice, condition=IfVersion(seen.version))
        assert refused.value.reason == Reason.CHANGED
        assert harness.get("a.txt") == b"other"
        assert harness.names() == ["a.txt"]

    async def test_writing_always_creates_or_replaces(self, harness: StoreHarness, backend: Backend) -> None:
        target = await target_of(backend, "a.txt")
        first = await backend.write(target, b"one", condition=Always())
        second = await backend.write(target, b"two", condition=Always())
        assert (first.created, second.created) == (True, False)
        assert harness.get("a.txt") == b"two"

    @pytest.mark.parametrize("condition", [Always(), IfAbsent(), IfVersion(_ABSENT)], ids=lambda c: type(c).__name__)
    async def test_writing_over_a_directory_is_refused(
        self, harness: StoreHarness, backend: Backend, condition: Always | IfAbsent | IfVersion
    ) -> None:
        harness.put("d/a.txt", b"x")
        harness.mkdir("empty")
        for path in ("d", "empty", "."):
            with pytest.raises(NotRegularFile) as refused:
                await backend.write(await target_of(backend, path), b"x", condition=condition)
            assert refused.value.reason == Reason.IS_DIRECTORY
        assert harness.get("d/a.txt") == b"x"
        assert harness.names() == ["d", "empty"]

    async def test_creating_below_a_file_is_not_found(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("file", b"x")
        with pytest.raises(NotFound) as refused:
            await backend.write(await target_of(backend, "file/below/a.txt"), b"x", condition=IfAbsent())
        assert refused.value.reason == Reason.THROUGH_FILE
        assert harness.names() == ["file"]

    async def test_too_large_a_write_is_refused_before_anything_happens(
        self, harness: StoreHarness, backend: Backend
    ) -> None:
        class Huge(bytes):
            """Claims to be too large without being so."""

            __slots__ = ()

            def __len__(self) -> int:
                return backend.capabilities.write_size_bytes_max + 1

        with pytest.raises(TooLarge):
            await backend.write(await target_of(backend, "new/a.txt"), Huge(), condition=IfAbsent())
        assert harness.names() == []

    async def test_a_returned_version_equals_stat_and_is_the_next_guard(self, backend: Backend) -> None:
        target = await target_of(backend, "a.txt")
        version = (await backend.write(target, b"0", condition=IfAbsent())).version
        for number in range(1, 4):
            info = await backend.stat(target)
            assert info is not None
            assert info.version == version
            content = str(number).encode()
            assert version.digest == content_digest(str(number - 1).encode())
            version = (await backend.write(target, content, condition=IfVersion(version))).version
        assert await _read(backend, "a.txt") == b"3"

    async def test_an_older_own_version_is_stale(self, backend: Backend) -> None:
        target = await target_of(backend, "a.txt")
        first = await backend.write(target, b"one", condition=IfAbsent())
        await backend.write(target, b"two", condition=IfVersion(first.version))
        with pytest.raises(StaleVersion):
            await backend.write(target, b"six", condition=IfVersion(first.version))
        assert await _read(backend, "a.txt") == b"two"

    @pytest.mark.parametrize("name", ODD_NAMES)
    async def test_odd_names_are_plain_names(self, harness: StoreHarness, backend: Backend, name: str) -> None:
        path = f"d/{name}"
        target = await target_of(backend, path)
        receipt = await backend.write(target, b"one", condition=IfAbsent())
        await backend.write(target, b"two", condition=IfVersion(receipt.version))
        listing = await backend.list(await target_of(backend, "d"), limit=10)
        assert [entry.name for entry in listing.entries] == [name]
        assert harness.names("d") == [name]
        assert harness.get(path) == b"two"
        assert target.display_path == path

    async def test_an_over_long_name_is_an_invalid_path(self, harness: StoreHarness, backend: Backend) -> None:
        with pytest.raises(InvalidPath):
            await backend.write(await target_of(backend, "x" * 5000), b"x", condition=IfAbsent())
        assert harness.names() == []

    async def test_the_mode_of_a_replaced_file_is_kept(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("a.sh", b"old")
        if not harness.has_modes:
            with pytest.raises(NotImplementedError):
                harness.chmod("a.sh", 0o755)
            return
        target = await target_of(backend, "a.sh")
        for mode in (0o755, 0o640, 0o600):
            harness.chmod("a.sh", mode)
            await backend.write(target, f"{mode}".encode(), condition=Always())
            assert harness.mode("a.sh") == mode

    # -- concurrency and cancellation --------------------------------------------------------------------------------

    async def test_of_many_creators_one_wins(self, harness: StoreHarness, backend: Backend) -> None:
        target = await target_of(backend, "race.txt")
        winners: list[int] = []
        codes: list[ErrorCode] = []

        async def create(number: int) -> None:
            try:
                await backend.write(target, str(number).encode(), condition=IfAbsent())
            except FsError as error:
                codes.append(error.code)
            else:
                winners.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(_RACERS):
                tasks.start_soon(create, number)
        assert len(winners) == 1
        assert set(codes) == {ErrorCode.STALE_VERSION}
        assert harness.get("race.txt") == str(winners[0]).encode()
        assert harness.names() == ["race.txt"]

    async def test_a_counter_raced_by_two_backends_ends_exact(self, harness: StoreHarness, backend: Backend) -> None:
        harness.put("counter", b"0")
        other = await harness.open()
        try:
            async with anyio.create_task_group() as tasks:
                for number in range(_TASKS):
                    tasks.start_soon(_increment, (backend, other)[number % 2])
        finally:
            await other.aclose()
        assert harness.get("counter") == str(_TASKS * _INCREMENTS).encode()
        assert harness.names() == ["counter"]

    @pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8])
    async def test_a_cancelled_write_leaves_old_or_new_and_no_residue(
        self, harness: StoreHarness, backend: Backend, steps: int
    ) -> None:
        harness.put("a.txt", b"old")
        target = await target_of(backend, "a.txt")
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                await backend.write(target, b"new" * 100_000, condition=Always())

            tasks.start_soon(write)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert harness.get("a.txt") in {b"old", b"new" * 100_000}
        assert harness.names() == ["a.txt"]
        receipt = await backend.write(target, b"after", condition=Always())
        assert not receipt.created
        assert harness.get("a.txt") == b"after"

    async def test_closing_twice_is_harmless(self, harness: StoreHarness) -> None:
        backend = await harness.open()
        await backend.aclose()
        await backend.aclose()
        assert backend.root.url

    async def test_the_guards_are_declared(self, backend: Backend) -> None:
        await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
        capabilities = backend.capabilities
        assert capabilities.create is not Guard.NONE
        assert capabilities.replace is not Guard.NONE
        assert capabilities.write_size_bytes_max > 0


async def _below(backend: Backend, directory: Target, *, after: str | None = None) -> dict[str, int]:
    """Return all files that are told to be below a directory, with their sizes."""
    found: dict[str, int] = {}
    resume: str | None = None
    while True:
        part = await backend.list_below(directory, resume=resume, after=after if resume is None else None)
        assert not part.others
        assert not found.keys() & set(part.files)
        found |= dict(zip(part.files, part.sizes, strict=True))
        if part.resume is None:
            return found
        resume = part.resume


async def _increment(backend: Backend) -> None:
    target = await target_of(backend, "counter")
    done = 0
    while done < _INCREMENTS:
        seen = await backend.read(target)
        try:
            await backend.write(target, str(int(seen.data) + 1).encode(), condition=IfVersion(seen.version))
        except StaleVersion:
            continue
        done += 1
