"""What the seam asks of a store, counted: a page costs a page, an edit costs a write."""

import pytest

from fs_core.edit import Edit
from fs_core.errors import EditNotFound, OutOfRange, StaleVersion
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.protocol import Scanned, Sink
from fs_core.session import FileSession
from fs_core.splice import Splice
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import FileInfo, IfVersion, Snapshot, Target, Version, WriteCondition, WriteReceipt

pytestmark = pytest.mark.anyio

SLACK_BYTES = 128 << 10


class CountingBackend(MemoryBackend):
    """Writes down what it is asked for but for `resolve`, and how many bytes its reads gave."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.asked: list[str] = []
        self.read_bytes = 0
        self.is_settled = True

    def taken(self) -> list[str]:
        asked, self.asked, self.read_bytes = self.asked, [], 0
        return asked

    async def stat(self, target: Target) -> FileInfo | None:
        self.asked.append("stat")
        return await super().stat(target)

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        self.asked.append("read")
        snapshot = await super().read(target, offset=offset, limit=limit, pinned=pinned)
        self.read_bytes += len(snapshot.data)
        return snapshot

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        self.asked.append("read whole")
        return await super().read(target, limit=size_bytes_max)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        self.asked.append("scan")
        snapshot = await super().read(target)
        sink(snapshot.data)
        version = Version(snapshot.version.token, snapshot.version.digest, settled=self.is_settled)
        return Scanned(size_bytes=snapshot.size_bytes, version=version)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        self.asked.append("write")
        return await super().write(target, data, condition=condition)

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        self.asked.append("patch")
        return await super().write(target, splice.joined(), condition=condition)


class Bench:
    """A store with one file, and two sessions on it."""

    def __init__(self, data: bytes) -> None:
        self.store = MemoryStore()
        self.store.put("a.txt", data)
        self.backend = CountingBackend(self.store)
        files = BackedFileSystem(self.backend)
        self.session = FileSession(files, policy=ReadBeforeWrite(owner=OwnerId("me"), store=MemoryObservations()))
        self.unguarded = FileSession(files, policy=Unguarded())

    @property
    def data(self) -> bytes:
        return self.store.files["a.txt"].data


def lines(count: int) -> bytes:
    return b"".join(b"%06d a line of some length, as code has them\n" % number for number in range(1, count + 1))


LARGE = lines(60_000)  # 3 MB: too large to be kept as content


async def test_the_first_page_is_one_scan() -> None:
    bench = Bench(LARGE)
    await bench.session.read("a.txt", Window())
    assert bench.backend.taken() == ["scan"]


@pytest.mark.parametrize("first_line", [1, 2, 1_300, 30_001, 59_000, 60_000])
async def test_a_later_page_is_one_read_of_a_page(first_line: int) -> None:
    bench = Bench(LARGE)
    cold = await bench.session.read("a.txt", Window(first_line=first_line))
    bench.backend.taken()
    warm = await bench.session.read("a.txt", Window(first_line=first_line))
    page_bytes = sum(len(line.text) + 1 for line in warm.page.lines)
    assert bench.backend.read_bytes <= page_bytes + SLACK_BYTES
    assert bench.backend.taken() == ["read"]
    assert (warm.page, warm.version) == (cold.page, cold.version)
    assert warm.version.digest == cold.version.digest


async def test_every_page_of_a_file_together_reads_little_more_than_the_file() -> None:
    bench = Bench(LARGE)
    next_line: int | None = 1
    pages = 0
    while next_line is not None:
        read = await bench.session.read("a.txt", Window(first_line=next_line))
        next_line, pages = read.page.next_line, pages + 1
    assert bench.backend.read_bytes <= len(LARGE) + pages * SLACK_BYTES
    assert bench.backend.taken() == ["scan", *["read"] * (pages - 1)]


async def test_pages_of_one_long_line_read_its_ends() -> None:
    bench = Bench(b"x" * (8 << 20) + b"\nend\n")
    cold = await bench.session.read("a.txt", Window())
    bench.backend.taken()
    warm = await bench.session.read("a.txt", Window())
    assert bench.backend.read_bytes <= 4 * SLACK_BYTES
    assert warm.page == cold.page
    assert [line.length_chars for line in warm.page.lines] == [8 << 20, 3]


async def test_a_page_of_a_file_that_has_changed_is_scanned_again() -> None:
    bench = Bench(LARGE)
    await bench.session.read("a.txt", Window())
    bench.store.put("a.txt", b"new\n" + LARGE)
    bench.backend.taken()
    read = await bench.session.read("a.txt", Window(first_line=2, lines_max=1))
    assert [line.text for line in read.page.lines] == ["000001 a line of some length, as code has them"]
    assert read.page.total_lines == 60_001
    assert bench.backend.taken() == ["read", "scan"]


async def test_a_window_past_the_end_is_refused_after_a_look_whether_that_is_still_the_end() -> None:
    bench = Bench(LARGE)
    await bench.session.read("a.txt", Window())
    bench.backend.taken()
    with pytest.raises(OutOfRange):
        await bench.session.read("a.txt", Window(first_line=60_001))
    assert bench.backend.taken() == ["stat"]
    bench.store.put("a.txt", LARGE + b"more\n")
    read = await bench.session.read("a.txt", Window(first_line=60_001))
    assert [line.text for line in read.page.lines] == ["more"]
    assert bench.backend.taken() == ["stat", "scan"]


async def test_a_version_whose_token_proves_nothing_is_scanned_every_time() -> None:
    bench = Bench(LARGE)
    bench.backend.is_settled = False
    for _ in range(2):
        await bench.session.read("a.txt", Window(first_line=9))
    assert bench.backend.taken() == ["scan", "scan"]


async def test_a_small_file_is_scanned_every_time() -> None:
    bench = Bench(b"one\ntwo\n")
    for _ in range(2):
        await bench.session.read("a.txt", Window(first_line=2))
    assert bench.backend.taken() == ["scan", "scan"]


async def test_an_edit_after_a_read_is_one_patch_and_so_is_the_next() -> None:
    bench = Bench(b"one\ntwo\n")
    await bench.session.read("a.txt", Window())
    bench.backend.taken()
    await bench.session.edit("a.txt", Edit("one", "1"))
    await bench.session.edit("a.txt", Edit("two", "2"))
    assert bench.backend.taken() == ["patch", "patch"]
    assert bench.data == b"1\n2\n"


async def test_an_edit_after_a_write_is_one_patch() -> None:
    bench = Bench(b"")
    await bench.session.write("new.txt", "one\n")
    bench.backend.taken()
    await bench.session.edit("new.txt", Edit("one", "1"))
    assert bench.backend.taken() == ["patch"]


async def test_an_edit_of_a_large_file_reads_it_once() -> None:
    bench = Bench(LARGE)
    await bench.session.read("a.txt", Window())
    bench.backend.taken()
    await bench.session.edit("a.txt", Edit("030000 a line", "the line"))
    assert bench.backend.taken() == ["read whole", "patch"]
    assert bench.data == LARGE.replace(b"030000 a line", b"the line")


async def test_an_edit_without_a_policy_reads_the_file_once() -> None:
    bench = Bench(b"one\n")
    await bench.unguarded.edit("a.txt", Edit("one", "1"))
    assert bench.backend.taken() == ["read whole", "patch"]


async def test_an_edit_that_does_not_match_is_explained_on_what_the_file_holds_now() -> None:
    bench = Bench(b"one\n")
    await bench.session.read("a.txt", Window())
    bench.backend.taken()
    with pytest.raises(EditNotFound):
        await bench.session.edit("a.txt", Edit("two", "2"))
    assert bench.backend.taken() == ["read whole"]
    bench.store.put("a.txt", b"two\n")
    with pytest.raises(StaleVersion):
        await bench.session.edit("a.txt", Edit("two", "2"))
    assert bench.data == b"two\n"


async def test_an_edit_of_a_file_that_has_changed_is_refused_with_what_changed() -> None:
    bench = Bench(b"one\ntwo\n")
    await bench.session.read("a.txt", Window())
    bench.store.put("a.txt", b"one\nthree\n")
    bench.backend.taken()
    with pytest.raises(StaleVersion) as refused:
        await bench.session.edit("a.txt", Edit("one", "1"))
    assert bench.backend.taken() == ["patch", "read whole"]
    assert "+three" in (refused.value.diff or "")
    assert "old_string still occurs exactly once" in str(refused.value)
    assert bench.data == b"one\nthree\n"


@pytest.mark.parametrize("change", ["edit", "write"])
async def test_what_another_session_has_changed_is_not_tried_but_read(change: str) -> None:
    bench = Bench(b"one\ntwo\n")
    other = FileSession(bench.session.files, policy=ReadBeforeWrite(owner=OwnerId("other"), store=MemoryObservations()))
    for session in (bench.session, other):
        await session.read("a.txt", Window())
    await other.edit("a.txt", Edit("two", "2"))
    bench.backend.taken()
    with pytest.raises(StaleVersion):
        await (bench.session.edit("a.txt", Edit("one", "1")) if change == "edit" else bench.session.write("a.txt", ""))
    assert bench.backend.taken() == ["read whole" if change == "edit" else "read"]
    assert bench.data == b"one\n2\n"


async def test_a_write_after_a_read_is_one_write() -> None:
    bench = Bench(b"one\n")
    await bench.session.read("a.txt", Window())
    bench.backend.taken()
    written = await bench.session.write("a.txt", "two\n")
    assert bench.backend.taken() == ["write"]
    assert "-one\n+two\n" in (written.diff or "")


async def test_a_write_over_a_file_that_has_changed_is_refused_with_what_changed() -> None:
    bench = Bench(b"one\n")
    await bench.session.read("a.txt", Window())
    bench.store.put("a.txt", b"three\n")
    bench.backend.taken()
    with pytest.raises(StaleVersion) as refused:
        await bench.session.write("a.txt", "two\n")
    assert bench.backend.taken() == ["write", "read"]
    assert "-one\n+three\n" in (refused.value.diff or "")
    assert bench.data == b"three\n"
