import anyio
import pytest

from fs_core import filesystem
from fs_core.edit import PLACES_COUNTED_MAX, Edit
from fs_core.errors import AmbiguousEdit, EditNotFound, NotFound, NotText, StaleVersion, TooLarge
from fs_core.filesystem import ATTEMPTS_MAX, BackedFileSystem
from fs_core.page import Window
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.testing.faults import Block, Fail
from tests.fs_core.seam import Seam, SmallBackend, refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def seam() -> Seam:
    seam = Seam()
    seam.put("a.txt", b"one\ntwo\r\none\n")
    return seam


async def test_an_edit_tells_places_version_and_difference(seam: Seam) -> None:
    await seam.session().read("a.txt", Window())
    edited = await seam.session().edit("a.txt", Edit("one", "1", replace_all=True))
    assert seam.get("a.txt") == b"1\ntwo\r\n1\n"
    assert edited.replacements == 2
    assert edited.version == seam.store.files["a.txt"].version
    assert edited.target.display_path == "a.txt"
    assert edited.diff == "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\r\n-one\n+1\n"
    assert edited.notes == ()


@pytest.mark.parametrize("inline_bytes_max", [0, 1 << 20])
async def test_large_and_small_files_are_edited_alike(
    seam: Seam, monkeypatch: pytest.MonkeyPatch, inline_bytes_max: int
) -> None:
    monkeypatch.setattr(filesystem, "INLINE_BYTES_MAX", inline_bytes_max)
    await seam.unguarded().edit("a.txt", Edit("two\n", "2\n"))
    assert seam.get("a.txt") == b"one\n2\r\none\n"
    with pytest.raises(EditNotFound):
        await seam.unguarded().edit("a.txt", Edit("two\n", "2\n"))


async def test_text_that_does_not_occur_is_refused_and_the_file_kept(seam: Seam) -> None:
    error = await refused(seam.unguarded(), "edit", "a.txt", EditNotFound, text="three")
    assert error.reason.startswith("old_string does not occur in the file")
    assert seam.get("a.txt") == b"one\ntwo\r\none\n"


async def test_text_that_occurs_more_than_once_is_refused_with_count_and_lines(seam: Seam) -> None:
    error = await refused(seam.unguarded(), "edit", "a.txt", AmbiguousEdit)
    assert error.reason.startswith("old_string has 2 possible places (lines 1, 3);")
    assert "replace_all" in error.reason
    assert seam.get("a.txt") == b"one\ntwo\r\none\n"


async def test_places_of_one_line_name_that_line(seam: Seam) -> None:
    seam.put("a.txt", b"\naaa")
    error = await refused(seam.unguarded(), "edit", "a.txt", AmbiguousEdit, text="aa")
    assert error.reason.startswith("old_string has 2 possible places (line 2);")


async def test_very_many_places_are_not_counted_to_the_end(seam: Seam) -> None:
    seam.put("a.txt", b"a" * (PLACES_COUNTED_MAX + 1))
    error = await refused(seam.unguarded(), "edit", "a.txt", AmbiguousEdit, text="a")
    assert f"{PLACES_COUNTED_MAX} or more possible places" in error.reason


async def test_a_file_that_is_no_text_is_not_edited(seam: Seam) -> None:
    seam.put("a.txt", b"one\0")
    error = await refused(seam.unguarded(), "edit", "a.txt", NotText)
    assert "byte 3 of 4" in error.reason
    assert error.operation == "edit"


async def test_an_edit_that_makes_a_file_too_large_is_refused(seam: Seam) -> None:
    seam.put("a.txt", b"a b")
    session = FileSession(BackedFileSystem(SmallBackend(seam.store)), policy=Unguarded())
    with pytest.raises(TooLarge, match="more than 10 bytes"):
        await session.edit("a.txt", Edit("a", "123456789x"))
    assert seam.get("a.txt") == b"a b"


async def test_a_lone_surrogate_occurs_nowhere(seam: Seam) -> None:
    await refused(seam.unguarded(), "edit", "a.txt", EditNotFound, text="\ud800")


async def test_without_a_policy_an_edit_is_made_again_on_newer_content(seam: Seam) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.unguarded().edit, "a.txt", Edit("two", "2"))
        await block.reached.wait()
        seam.put("a.txt", b"theirs, two\n")
        block.release.set()
    assert seam.get("a.txt") == b"theirs, 2\n"


async def test_without_a_policy_an_edit_whose_place_went_away_is_refused(seam: Seam) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: refused(seam.unguarded(), "edit", "a.txt", EditNotFound, text="two"))
        await block.reached.wait()
        seam.put("a.txt", b"theirs\n")
        block.release.set()
    assert seam.get("a.txt") == b"theirs\n"


@pytest.mark.parametrize("primitive", ["read", "write"])
async def test_without_a_policy_an_edit_is_retried_and_gives_up_in_the_end(seam: Seam, primitive: str) -> None:
    stale = StaleVersion("changed meanwhile", path="a.txt", operation="edit")
    for call in range(1, ATTEMPTS_MAX + 1):
        seam.backend.add(Fail("read", stale, call=call) if primitive == "read" else Fail("write", stale, call=call))
    await refused(seam.unguarded(), "edit", "a.txt", StaleVersion, text="two")
    assert seam.backend.pending == ()
    seam.backend.add(Fail("read", stale, call=ATTEMPTS_MAX + 1))
    await seam.unguarded().edit("a.txt", Edit("two", "2"))
    assert seam.backend.pending == ()
    assert seam.get("a.txt") == b"one\n2\r\none\n"


async def test_an_owner_who_is_stale_is_not_helped_by_trying_again(seam: Seam) -> None:
    await seam.session().read("a.txt", Window())
    seam.restart()
    seam.backend.add(Fail("write", StaleVersion("changed meanwhile", path="a.txt", operation="write")))
    await refused(seam.session(), "edit", "a.txt", StaleVersion, text="two")
    assert seam.get("a.txt") == b"one\ntwo\r\none\n"


async def test_a_file_deleted_under_an_edit_without_a_policy_is_not_found(seam: Seam) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: refused(seam.unguarded(), "edit", "a.txt", NotFound, text="two"))
        await block.reached.wait()
        seam.remove("a.txt")
        block.release.set()
    assert seam.get("a.txt") is None
