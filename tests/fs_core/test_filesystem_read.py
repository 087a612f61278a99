from dataclasses import replace

import anyio
import pytest

from fs_core.digest import content_digest
from fs_core.edit import Edit
from fs_core.errors import (
    FsError,
    InvalidPath,
    NotDirectory,
    NotFound,
    NotRegularFile,
    NotText,
    OutOfRange,
    PermissionDenied,
    SandboxDenied,
    StaleVersion,
    Unavailable,
)
from fs_core.filesystem import ATTEMPTS_MAX, BackedFileSystem
from fs_core.page import Window
from fs_core.policy import Absent, MemoryObservations, Observation, OwnerId, Present, ReadBeforeWrite, Unguarded
from fs_core.protocol import SCAN_CHUNK_BYTES
from fs_core.session import FileSession
from fs_core.testing.faults import Block, Fail, Moment
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import FileKind, Snapshot, Target, TargetKey, Version
from tests.fs_core.seam import ME, Seam, perform, refused
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def seam() -> Seam:
    return Seam()


def changed() -> StaleVersion:
    return StaleVersion("changed while it was read", path="a.txt", operation="read")


async def test_a_page_comes_with_its_file_and_its_version(seam: Seam) -> None:
    seam.put("d/a.txt", b"1\n2\n3\n")
    read = await seam.session().read("d/a.txt", Window(first_line=2, lines_max=1))
    assert [(line.number, line.text) for line in read.page.lines] == [(2, "2")]
    assert (read.page.total_lines, read.page.next_line) == (3, 3)
    assert read.target.display_path == "d/a.txt"
    assert read.version == seam.store.files["d/a.txt"].version
    assert read.version.digest == content_digest(b"1\n2\n3\n")


async def test_a_window_past_the_end_is_refused_with_the_total(seam: Seam) -> None:
    seam.put("a.txt", b"1\n2\n")
    seam.put("one.txt", b"1")
    with pytest.raises(OutOfRange, match=r"^a\.txt: has 2 lines; line 3 is past the end$"):
        await seam.session().read("a.txt", Window(first_line=3))
    with pytest.raises(OutOfRange, match=r"^one\.txt: has 1 line; line 2 is past the end$"):
        await seam.session().read("one.txt", Window(first_line=2))


async def test_an_empty_file_has_a_first_window_and_no_second(seam: Seam) -> None:
    seam.put("a.txt", b"")
    read = await seam.session().read("a.txt", Window())
    assert (read.page.lines, read.page.total_lines) == ((), 0)
    with pytest.raises(OutOfRange, match="has 0 lines"):
        await seam.session().read("a.txt", Window(first_line=2))


async def test_what_is_no_text_is_told_with_offset_and_size(seam: Seam) -> None:
    seam.put("a.bin", b"ab\xffcd")
    error = await refused(seam.session(), "read", "a.bin", NotText)
    assert "byte 2 of 5" in error.reason
    assert error.operation == "read"


async def test_an_offence_outside_the_window_counts(seam: Seam) -> None:
    seam.put("a.bin", b"1\n2\n\0")
    with pytest.raises(NotText):
        await seam.session().read("a.bin", Window(first_line=1, lines_max=1))


@pytest.mark.parametrize(
    ("path", "kind"),
    [("", InvalidPath), ("a\0b", InvalidPath), ("../a", SandboxDenied), ("/etc/passwd", SandboxDenied)],
)
@pytest.mark.parametrize("operation", ["read", "write", "edit"])
async def test_a_path_is_checked_before_anything_else(
    seam: Seam, operation: str, path: str, kind: type[FsError]
) -> None:
    assert (await refused(seam.session(), operation, path, kind)).operation == "resolve"


@pytest.mark.parametrize("operation", ["read", "write", "edit"])
async def test_a_path_through_a_file_is_not_found(seam: Seam, operation: str) -> None:
    seam.put("a.txt", b"one\n")
    await refused(seam.session(), operation, "a.txt/b.txt", NotFound)
    assert seam.get("a.txt") == b"one\n"


@pytest.mark.parametrize("operation", ["read", "write", "edit"])
async def test_a_file_written_as_a_directory_is_not_found(seam: Seam, operation: str) -> None:
    seam.put("a.txt", b"one\n")
    error = await refused(seam.session(), operation, "a.txt/", NotFound)
    assert error.reason == "is not a directory; a file is named without a / after its name"


async def test_similar_names_of_the_same_directory_come_with_a_missing_file(seam: Seam) -> None:
    for name in ("d/readme.md", "d/main.py", "readme2.md"):
        seam.put(name, b"")
    for operation in ("read", "edit"):
        error = await refused(seam.session(), operation, "d/raedme.md", NotFound)
        assert error.near_names == ("readme.md",)
        assert error.operation == operation


async def test_similar_names_are_found_where_the_directory_looks_like_a_url(seam: Seam) -> None:
    seam.put("d/s3:/main.py", b"")
    assert (await refused(seam.session(), "read", "d/s3:/mian.py", NotFound)).near_names == ("main.py",)
    seam.put("s3:/main.py", b"")
    assert (await refused(seam.session(), "read", "./s3:/mian.py", NotFound)).near_names == ("main.py",)


async def test_a_missing_directory_has_no_similar_names(seam: Seam) -> None:
    assert (await refused(seam.session(), "read", "no/such/file", NotFound)).near_names == ()


@pytest.mark.parametrize("primitive", ["list", "resolve"])
async def test_a_fault_while_looking_for_similar_names_does_no_harm(seam: Seam, primitive: str) -> None:
    seam.put("readme.md", b"")
    fault = Unavailable("no answer", path=".", operation="list")
    seam.backend.add(Fail("list", fault) if primitive == "list" else Fail("resolve", fault, call=2))
    error = await refused(seam.session(), "read", "raedme.md", NotFound)
    assert error.near_names == ()
    assert await seam.seen("raedme.md") == Absent()
    assert seam.backend.pending == ()


async def test_a_directory_that_was_to_be_read_names_what_is_in_it(seam: Seam) -> None:
    seam.put("d/a.txt", b"")
    seam.put("d/b/c.txt", b"")
    error = await refused(seam.session(), "read", "d", NotRegularFile)
    assert error.entry_names == ("a.txt", "b")


async def test_something_else_that_was_to_be_read_names_nothing(seam: Seam) -> None:
    special = NotRegularFile("is a FIFO, socket or device, not a file", path="a", operation="read")
    seam.backend.add(Fail("scan", special))
    error = await refused(seam.session(), "read", "a", NotRegularFile)
    assert error.entry_names == ()


@pytest.mark.parametrize("kind", [NotFound, NotRegularFile])
async def test_an_error_is_never_its_own_cause(seam: Seam, kind: type[FsError]) -> None:
    seam.backend.add(Fail("scan", kind("for some reason", path="a.txt", operation="read")))
    seam.backend.add(Fail("list", Unavailable("no answer", path=".", operation="list")))
    error: BaseException | None = await refused(seam.session(), "read", "a.txt", kind)
    chain: list[BaseException] = []
    while error is not None:
        assert error not in chain
        chain.append(error)
        error = error.__cause__


@pytest.mark.parametrize("kind", [Unavailable, PermissionDenied])
async def test_a_fault_of_the_store_passes_and_records_nothing(seam: Seam, kind: type[FsError]) -> None:
    seam.put("a.txt", b"one\n")
    fault = kind("for some reason", path="a.txt", operation="read", retryable=True)
    seam.backend.add(Fail("scan", fault))
    assert await refused(seam.session(), "read", "a.txt", kind) is fault
    assert await seam.seen("a.txt") is None


async def test_a_file_that_changes_while_it_is_read_is_read_again(seam: Seam) -> None:
    seam.put("a.txt", b"one\n")
    for call in range(1, ATTEMPTS_MAX):
        seam.backend.add(Fail("scan", changed(), Moment.AFTER, call=call))
    read = await seam.session().read("a.txt", Window())
    assert [line.text for line in read.page.lines] == ["one"]
    assert seam.backend.pending == ()


async def test_a_file_that_keeps_changing_is_stale_after_bounded_attempts(seam: Seam) -> None:
    seam.put("a.txt", b"one\n")
    for call in range(1, ATTEMPTS_MAX + 1):
        seam.backend.add(Fail("scan", changed(), call=call))
    await refused(seam.session(), "read", "a.txt", StaleVersion)
    assert await seam.seen("a.txt") is None
    assert seam.backend.pending == ()


class ChangingBackend(MemoryBackend):
    """Changes a file behind the reader's back at chosen reads, counted from 1."""

    def __init__(self, store: MemoryStore, changes: dict[int, bytes]) -> None:
        super().__init__(store)
        self.changes = changes
        self.reads = 0

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        self.reads += 1
        if self.reads in self.changes:
            self._store.put(target.key, self.changes[self.reads])
        return await super().read(target, offset=offset, limit=limit, pinned=pinned)


async def test_a_page_is_never_mixed_of_two_versions() -> None:
    store = MemoryStore()
    store.put("a.txt", b"old\n" * SCAN_CHUNK_BYTES)
    backend = ChangingBackend(store, {2: b"new\n" * SCAN_CHUNK_BYTES, 5: b"last\n"})
    session = FileSession(BackedFileSystem(backend), policy=Unguarded())
    read = await session.read("a.txt", Window())
    assert [line.text for line in read.page.lines] == ["last"]
    assert read.page.total_lines == 1
    assert read.version == store.files["a.txt"].version


async def test_a_write_that_ends_during_a_read_of_the_same_owner_stays_known(seam: Seam) -> None:
    await seam.session().write("a.txt", "one\n")
    block = Block("scan", Moment.AFTER)
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.session().read, "a.txt", Window())
        await block.reached.wait()
        await seam.session().write("a.txt", "two\n")
        block.release.set()
    await seam.session().edit("a.txt", Edit("two", "three"))
    assert seam.get("a.txt") == b"three\n"


async def test_a_file_created_during_a_read_of_the_same_owner_stays_known(seam: Seam) -> None:
    missing = NotFound("no such file", path="a.txt", operation="read")
    block = Block("scan")
    seam.backend.add(block)
    seam.backend.add(Fail("scan", missing))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refused, seam.session(), "read", "a.txt", NotFound)
        await block.reached.wait()
        await seam.session().write("a.txt", "one\n")
        block.release.set()
    assert isinstance(await seam.seen("a.txt"), Present)


class CopyingObservations(MemoryObservations):
    """Observations that come back as other objects, as they do from another process."""

    async def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        seen = await super().get(owner, key)
        return None if seen is None else replace(seen)


async def test_a_store_of_observations_may_hand_out_copies(seam: Seam) -> None:
    seam.observations = CopyingObservations()
    await refused(seam.session(), "read", "a.txt", NotFound)
    seam.put("a.txt", b"one\n")
    await perform(seam.session(), "read", "a.txt")
    await perform(seam.session(), "edit", "a.txt")
    seam.put("a.txt", b"one\n")
    await perform(seam.session(), "read", "a.txt")
    await perform(seam.session(), "edit", "a.txt")
    seam.remove("a.txt")
    await refused(seam.session(), "read", "a.txt", NotFound)
    assert await seam.seen("a.txt") == Absent()


async def test_reading_does_not_wait_for_a_change_in_progress(seam: Seam) -> None:
    seam.put("a.txt", b"one\n")
    await perform(seam.session(), "read", "a.txt")
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.session().edit, "a.txt", Edit("one", "two"))
        await block.reached.wait()
        with anyio.fail_after(WAIT_S):
            read = await seam.session().read("a.txt", Window())
        assert read.page.lines[0].text == "one"
        block.release.set()
    assert seam.get("a.txt") == b"two\n"


async def test_listing_and_metadata_pass_through(seam: Seam) -> None:
    seam.put("d/a.txt", b"one\n")
    target = await seam.files.resolve("d/a.txt")
    info = await seam.files.stat(target)
    assert info is not None
    assert (info.kind, info.size_bytes) == (FileKind.FILE, 4)
    assert await seam.files.stat(await seam.files.resolve("d/b.txt")) is None
    listing = await seam.files.list(await seam.files.resolve("d/"), limit=9)
    assert [entry.name for entry in listing.entries] == ["a.txt"]
    with pytest.raises(NotDirectory):
        await seam.files.list(target, limit=9)
    assert seam.files.root == seam.backend.root
    assert seam.files.capabilities == seam.backend.capabilities


async def test_owners_may_share_one_file_system(seam: Seam) -> None:
    seam.put("a.txt", b"one\n")
    policy = ReadBeforeWrite(owner=ME, store=seam.observations)
    await FileSession(seam.files, policy=policy).read("a.txt", Window())
    assert isinstance(await seam.seen("a.txt"), Present)
