"""A stale refusal says what has changed, as far as that is known, and whether the edit would still find its place."""

import pytest

from fs_core import contents, outcomes
from fs_core.edit import Edit
from fs_core.errors import StaleVersion
from fs_core.page import Window
from fs_core.policy import OwnerId
from tests.fs_core.seam import Seam

pytestmark = pytest.mark.anyio


async def stale_edit(seam: Seam, before: bytes, after: bytes, edit: Edit) -> StaleVersion:
    seam.put("a.txt", before)
    agent = seam.session()
    await agent.read("a.txt", Window())
    seam.put("a.txt", after)
    with pytest.raises(StaleVersion) as refused:
        await agent.edit("a.txt", edit)
    assert seam.get("a.txt") == after
    return refused.value


@pytest.mark.parametrize(
    ("after", "clause"),
    [
        (b"one\nTWO\nthree\n", "old_string still occurs exactly once"),
        (b"un\ntwo\nthree\n", "old_string does not occur in it any more"),
        (b"one\none\none\n", "old_string has 3 possible places in it now"),
        (b"\xff\xfe", "old_string does not occur in it any more"),
    ],
)
async def test_a_stale_edit_says_whether_its_place_is_still_there(after: bytes, clause: str) -> None:
    error = await stale_edit(Seam(), b"one\ntwo\nthree\n", after, Edit("one", "1"))
    assert error.reason == f"changed since it was read; nothing was written; {clause}"


async def test_a_stale_edit_shows_the_change_since_the_read() -> None:
    error = await stale_edit(Seam(), b"one\r\ntwo\r\n", b"one\r\nTWO\r\n", Edit("one", "1"))
    assert error.diff == "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n"


async def test_a_stale_write_shows_the_change_since_the_owners_own_write() -> None:
    seam = Seam()
    agent = seam.session()
    await agent.write("a.txt", "mine\n")
    seam.put("a.txt", b"theirs\n")
    with pytest.raises(StaleVersion) as refused:
        await agent.write("a.txt", "mine again\n")
    assert refused.value.diff == "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-mine\n+theirs\n"
    assert refused.value.reason == "changed since it was read; nothing was written"


async def test_a_stale_edit_shows_the_change_since_the_owners_own_edit() -> None:
    seam = Seam()
    seam.put("a.txt", b"one\n")
    agent = seam.session()
    await agent.read("a.txt", Window())
    await agent.edit("a.txt", Edit("one", "two"))
    seam.put("a.txt", b"three\n")
    with pytest.raises(StaleVersion) as refused:
        await agent.edit("a.txt", Edit("two", "four"))
    assert refused.value.diff == "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-two\n+three\n"


async def test_the_change_is_shown_in_part_when_it_is_long() -> None:
    before = b"".join(b"line %d\n" % number for number in range(300))
    error = await stale_edit(Seam(), before, before.replace(b"line", b"row"), Edit("line 1\n", "x\n"))
    assert error.diff is not None
    rows = error.diff.splitlines()
    assert len(rows) == 2 + outcomes.STALE_DIFF_LINES_MAX + 1
    assert rows[-1].endswith("more lines of the diff are not shown]")


async def test_without_the_seen_content_at_hand_the_refusal_has_no_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "TOTAL_BYTES_MAX", 0)
    error = await stale_edit(Seam(), b"one\n", b"two\n", Edit("one", "1"))
    assert error.diff is None
    assert "changed since it was read" in error.reason


async def test_a_large_file_is_refused_without_a_diff() -> None:
    large = b"x\n" * contents.ENTRY_BYTES_MAX
    error = await stale_edit(Seam(), large, large + b"one\n", Edit("one", "1"))
    assert error.diff is None
    assert error.reason.endswith("old_string still occurs exactly once")


async def test_owners_that_saw_the_same_content_are_told_the_same_change() -> None:
    seam = Seam()
    seam.put("a.txt", b"one\n")
    agents = [seam.session(OwnerId("first")), seam.session(OwnerId("second"))]
    for agent in agents:
        await agent.read("a.txt", Window())
    await agents[0].edit("a.txt", Edit("one", "two"))
    with pytest.raises(StaleVersion) as refused:
        await agents[1].edit("a.txt", Edit("one", "three"))
    assert refused.value.diff == "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\n"
