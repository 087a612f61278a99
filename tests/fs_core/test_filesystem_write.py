from dataclasses import replace

import anyio
import pytest

from fs_core import filesystem, outcomes
from fs_core.digest import content_digest
from fs_core.edit import Edit
from fs_core.errors import NotFound, NotObserved, NotText, PermissionDenied, StaleVersion, TooLarge, Unavailable
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import ReadBeforeWrite, Unguarded
from fs_core.session import FileSession
from fs_core.testing.faults import Block, Fail
from fs_core.testing.memory import MemoryBackend
from fs_core.types import NoteKind, Snapshot, Target, Version
from tests.fs_core.seam import ME, Seam, SmallBackend, perform, refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def seam() -> Seam:
    return Seam()


async def read(seam: Seam, path: str = "a.txt") -> None:
    await seam.session().read(path, Window())


async def test_a_new_file_holds_exactly_the_given_text(seam: Seam) -> None:
    written = await seam.session().write("d/é.txt", "é\r\nb\rc")
    assert seam.get("d/é.txt") == "é\r\nb\rc".encode()
    assert (written.created, written.size_bytes) == (True, 7)
    assert written.target.display_path == "d/é.txt"
    assert written.version == seam.store.files["d/é.txt"].version
    assert written.version.digest == content_digest("é\r\nb\rc".encode())
    assert [note.kind for note in written.notes] == [NoteKind.PARENTS_CREATED]
    assert written.diff is not None
    assert "+é\r\n+b\rc\n\\ No newline" in written.diff


async def test_a_replaced_file_comes_with_the_difference_and_what_changed_besides(seam: Seam) -> None:
    seam.put("a.txt", b"1\r\n2\r\n")
    await read(seam)
    written = await seam.session().write("a.txt", "1\n3\n")
    assert not written.created
    assert written.diff == "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-1\r\n-2\r\n+1\n+3\n"
    assert [note.detail for note in written.notes] == ["line endings changed from CRLF to LF"]


async def test_writing_what_is_there_already_is_no_difference(seam: Seam) -> None:
    seam.put("a.txt", b"1\n")
    await read(seam)
    written = await seam.session().write("a.txt", "1\n")
    assert (written.created, written.diff, written.notes) == (False, "", ())


async def test_an_empty_file_can_be_written(seam: Seam) -> None:
    assert (await seam.session().write("a.txt", "")).size_bytes == 0
    assert seam.get("a.txt") == b""


async def test_there_is_no_difference_to_what_was_no_text(seam: Seam) -> None:
    seam.put("a.txt", b"\xff")
    await refused(seam.session(), "read", "a.txt", NotText)
    written = await seam.session().write("a.txt", "1\n")
    assert (written.created, written.diff, written.notes) == (False, None, ())


@pytest.mark.parametrize(("before", "after"), [(b"1" * 40, "2\n"), (b"1\n", "2" * 40)])
async def test_there_is_no_difference_of_large_files(
    seam: Seam, monkeypatch: pytest.MonkeyPatch, before: bytes, after: str
) -> None:
    for module in (filesystem, outcomes):
        monkeypatch.setattr(module, "DIFF_SOURCE_BYTES_MAX", 30)
    seam.put("a.txt", before)
    await read(seam)
    seam.restart()
    assert (await seam.session().write("a.txt", after)).diff is None
    assert seam.get("a.txt") == after.encode()


class ForgetfulBackend(MemoryBackend):
    """Knows the digest of what it read whole alone, as most stores do."""

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        snapshot = await super().read(target, offset=offset, limit=limit, pinned=pinned)
        return snapshot if snapshot.is_whole else replace(snapshot, version=replace(snapshot.version, digest=None))


@pytest.mark.parametrize(("rewritten", "is_stale"), [(b"1" * 40, False), (b"1" * 39 + b"2", True), (b"2", True)])
async def test_the_content_of_a_large_file_decides_whether_it_changed(
    seam: Seam, monkeypatch: pytest.MonkeyPatch, rewritten: bytes, *, is_stale: bool
) -> None:
    for module in (filesystem, outcomes):
        monkeypatch.setattr(module, "DIFF_SOURCE_BYTES_MAX", 30)
    files = BackedFileSystem(ForgetfulBackend(seam.store))
    session = FileSession(files, policy=ReadBeforeWrite(owner=ME, store=seam.observations))
    seam.put("a.txt", b"1" * 40)
    await session.read("a.txt", Window())
    seam.put("a.txt", rewritten)
    if is_stale:
        await refused(session, "write", "a.txt", StaleVersion)
        assert seam.get("a.txt") == rewritten
    else:
        await perform(session, "write", "a.txt")
        assert seam.get("a.txt") == b"new\n"


async def test_a_text_is_encoded_once(seam: Seam) -> None:
    encodings: list[str] = []

    class Text(str):
        __slots__ = ()

        def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
            encodings.append(encoding)
            return super().encode(encoding, errors)

    await seam.session().write("a", Text("abc"))
    assert (seam.get("a"), encodings) == (b"abc", ["utf-8"])


@pytest.mark.parametrize(("text", "what"), [("a\0b", "a NUL character"), ("a\ud800", "a lone surrogate")])
async def test_text_that_cannot_be_stored_is_refused_before_anything_is_looked_at(
    seam: Seam, text: str, what: str
) -> None:
    with pytest.raises(NotText) as write:
        await seam.session().write("a.txt", text)
    with pytest.raises(NotText) as edit:
        await seam.session().edit("a.txt", Edit("a", text))
    assert write.value.reason == edit.value.reason == f"the new text holds {what}"
    assert (write.value.operation, edit.value.operation) == ("write", "edit")
    assert seam.get("a.txt") is None


async def test_more_than_the_store_takes_is_refused(seam: Seam) -> None:
    seam.put("a.txt", b"more than ten bytes")
    session = FileSession(BackedFileSystem(SmallBackend(seam.store)), policy=Unguarded())
    with pytest.raises(TooLarge, match="the new text has 12 bytes; at most 10 are written") as write:
        await session.write("a.txt", "é" * 6)
    with pytest.raises(TooLarge, match="has 19 bytes; at most 10 are held at once") as edit:
        await session.edit("a.txt", Edit("ten", "10"))
    assert (write.value.operation, edit.value.operation) == ("write", "edit")
    assert seam.get("a.txt") == b"more than ten bytes"
    await session.write("b.txt", "é" * 5)
    assert seam.get("b.txt") == ("é" * 5).encode()


@pytest.mark.parametrize("operation", ["write", "edit"])
@pytest.mark.parametrize("left", [pytest.param(b"theirs\n", id="changed"), pytest.param(None, id="deleted")])
async def test_a_change_just_before_publication_is_kept(seam: Seam, operation: str, left: bytes | None) -> None:
    seam.put("a.txt", b"one\n")
    await read(seam)
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refused, seam.session(), operation, "a.txt", StaleVersion)
        await block.reached.wait()
        if left is None:
            seam.remove("a.txt")
        else:
            seam.put("a.txt", left)
        block.release.set()
    assert seam.get("a.txt") == left


async def test_a_file_that_appears_just_before_publication_is_kept(seam: Seam) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refused, seam.session(), "write", "a.txt", NotObserved)
        await block.reached.wait()
        seam.put("a.txt", b"theirs\n")
        block.release.set()
    assert seam.get("a.txt") == b"theirs\n"
    assert await seam.seen("a.txt") is None


@pytest.mark.parametrize("operation", ["write", "edit"])
async def test_a_write_that_fails_records_nothing_new(seam: Seam, operation: str) -> None:
    seam.put("a.txt", b"one\n")
    await read(seam)
    before = await seam.seen("a.txt")
    seam.backend.add(Fail("write", Unavailable("no answer", path="a.txt", operation="write", retryable=True)))
    error = await refused(seam.session(), operation, "a.txt", Unavailable)
    assert error.retryable
    assert await seam.seen("a.txt") is before
    await perform(seam.session(), operation, "a.txt")
    assert seam.get("a.txt") == b"new\n"


async def test_without_a_policy_a_file_that_keeps_changing_is_replaced_all_the_same(seam: Seam) -> None:
    seam.put("a.txt", b"one\n")
    seam.backend.add(Fail("read", StaleVersion("changed while it was read", path="a.txt", operation="read")))
    written = await seam.unguarded().write("a.txt", "new\n")
    assert (written.created, written.diff) == (False, None)
    assert seam.get("a.txt") == b"new\n"


async def test_a_new_file_may_be_written_with_a_slash_at_its_end(seam: Seam) -> None:
    await seam.session().write("d/a.txt/", "1\n")
    assert seam.get("d/a.txt") == b"1\n"


async def test_a_parent_that_is_a_file_is_not_found_and_kept(seam: Seam) -> None:
    seam.put("a", b"one\n")
    await refused(seam.session(), "write", "a/b/c.txt", NotFound)
    assert seam.get("a") == b"one\n"


async def test_without_a_policy_a_file_that_may_be_written_and_not_read_is_replaced_without_a_diff(seam: Seam) -> None:
    seam.put("a.txt", b"old\n")
    seam.backend.add(Fail("read", PermissionDenied("permission denied", path="a.txt", operation="read")))
    written = await seam.unguarded().write("a.txt", "new\n")
    assert (written.created, written.diff) == (False, None)
    assert seam.get("a.txt") == b"new\n"


async def test_giving_up_a_large_change_while_it_is_described_still_reports_it(
    seam: Seam, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = outcomes.content_diff
    created: list[bool] = []
    scope = anyio.CancelScope()

    def give_up(before: bytes, after: bytes, *, path: str) -> str:
        anyio.from_thread.run_sync(scope.cancel)
        return original(before, after, path=path)

    monkeypatch.setattr(outcomes, "content_diff", give_up)
    with scope:
        created.append((await seam.session().write("a.txt", "x" * (filesystem.INLINE_BYTES_MAX + 1))).created)
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert created == [True]
