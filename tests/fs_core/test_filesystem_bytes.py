"""Files that programs carry whole: any bytes, and the same guards as for text."""

import pytest

from fs_core.digest import content_digest
from fs_core.edit import Edit
from fs_core.errors import NotFound, NotObserved, NotRegularFile, StaleVersion, TooLarge
from fs_core.filesystem import BackedFileSystem
from fs_core.policy import Absent, Present, Unguarded
from fs_core.session import FileSession
from tests.fs_core.seam import OTHER, Seam, SmallBackend, refused

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff"
MARKED = b"\xef\xbb\xbfone\r\ntwo\rthree"


@pytest.fixture
def seam() -> Seam:
    return Seam()


@pytest.mark.parametrize("data", [b"", PICTURE, MARKED])
async def test_bytes_come_and_go_as_they_are(seam: Seam, data: bytes) -> None:
    receipt = await seam.session().write_bytes("d/file", data)
    assert seam.get("d/file") == data
    assert (receipt.created, receipt.version.digest) == (True, content_digest(data))
    assert await seam.session(OTHER).read_bytes("d/file") == data


async def test_a_text_that_was_read_as_bytes_can_be_edited_and_replaced(seam: Seam) -> None:
    seam.put("a", MARKED)
    session = seam.session()
    await session.read_bytes("a")
    await session.edit("a", Edit("two", "2"))
    assert seam.get("a") == b"\xef\xbb\xbfone\r\n2\rthree"
    await session.write_bytes("a", PICTURE)
    assert seam.get("a") == PICTURE


async def test_bytes_that_are_no_text_can_be_replaced_and_not_edited(seam: Seam) -> None:
    seam.put("a", PICTURE)
    session = seam.session()
    await session.read_bytes("a")
    error = await refused(session, "edit", "a", NotObserved)
    assert "is no text" in error.reason
    await session.write_bytes("a", PICTURE + PICTURE)
    await refused(session, "edit", "a", NotObserved)
    await session.write_bytes("a", b"one")
    await session.edit("a", Edit("one", "two"))
    assert seam.get("a") == b"two"


async def test_bytes_do_not_replace_a_file_that_was_not_read(seam: Seam) -> None:
    seam.put("a", b"theirs")
    with pytest.raises(NotObserved):
        await seam.session().write_bytes("a", PICTURE)
    assert seam.get("a") == b"theirs"


async def test_bytes_do_not_replace_a_file_that_has_changed_since(seam: Seam) -> None:
    seam.put("a", PICTURE)
    session = seam.session()
    await session.read_bytes("a")
    seam.put("a", b"theirs")
    with pytest.raises(StaleVersion):
        await session.write_bytes("a", PICTURE)
    assert seam.get("a") == b"theirs"


async def test_without_a_policy_bytes_replace_whatever_is_there(seam: Seam) -> None:
    seam.put("a", b"theirs")
    await seam.unguarded().write_bytes("a", PICTURE)
    assert seam.get("a") == PICTURE


async def test_a_missing_file_is_noted_as_missing(seam: Seam) -> None:
    with pytest.raises(NotFound):
        await seam.session().read_bytes("a")
    assert await seam.seen("a") == Absent()


async def test_a_directory_has_no_bytes(seam: Seam) -> None:
    seam.make_directory("d")
    with pytest.raises(NotRegularFile):
        await seam.session().read_bytes("d")
    assert await seam.seen("d") is None


async def test_bytes_beyond_the_bound_are_neither_read_nor_written(seam: Seam) -> None:
    seam.put("a", b"more than ten")
    session = FileSession(BackedFileSystem(SmallBackend(seam.store)), policy=Unguarded())
    with pytest.raises(TooLarge):
        await session.read_bytes("a")
    with pytest.raises(TooLarge, match="b: the new content has 11 bytes; at most 10 are written"):
        await session.write_bytes("b", b"x" * 11)
    assert seam.get("b") is None


async def test_what_was_read_is_remembered_with_its_kind(seam: Seam) -> None:
    seam.put("a", PICTURE)
    await seam.session().read_bytes("a")
    seen = await seam.seen("a")
    assert isinstance(seen, Present)
    assert (seen.is_text, seen.version.digest) == (False, content_digest(PICTURE))
