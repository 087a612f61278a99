import pytest

from fs_core.policy import Absent, MemoryObservations, OwnerId, Present, ReadBeforeWrite, Unguarded
from fs_core.types import Digest, TargetKey, Version

ME, OTHER = OwnerId("me"), OwnerId("other")
KEY = TargetKey("a.txt")
SEEN = Present(Version("1"))

pytestmark = pytest.mark.anyio


async def test_read_before_write_keeps_what_its_owner_saw() -> None:
    observations = MemoryObservations()
    mine = ReadBeforeWrite(owner=ME, store=observations)
    theirs = ReadBeforeWrite(owner=OTHER, store=observations)
    await mine.record(KEY, SEEN)
    assert mine.requires_observation
    assert await mine.observed(KEY) == SEEN
    assert await theirs.observed(KEY) is None
    assert not await theirs.replace(KEY, SEEN, Absent())
    assert await mine.replace(KEY, SEEN, Absent())
    assert await mine.observed(KEY) == Absent()


async def test_unguarded_remembers_nothing_and_requires_nothing() -> None:
    unguarded = Unguarded()
    await unguarded.record(KEY, SEEN)
    assert await unguarded.replace(KEY, None, SEEN)
    assert not unguarded.requires_observation
    assert await unguarded.observed(KEY) is None


ONE, TWO = Digest("1"), Digest("2")


@pytest.mark.parametrize(
    ("seen", "later", "same"),
    [
        pytest.param(Version("a", ONE), Version("a", ONE), True, id="same token and digest"),
        pytest.param(Version("a", ONE), Version("b", ONE), True, id="touched"),
        pytest.param(Version("a", ONE), Version("a", TWO), False, id="same token, other content"),
        pytest.param(Version("a", ONE), Version("b", TWO), False, id="changed"),
        pytest.param(Version("a", ONE), Version("a"), True, id="settled token"),
        pytest.param(Version("a", ONE, settled=False), Version("a"), None, id="token within the clock's tick"),
        pytest.param(Version("a", ONE, settled=False), Version("a", ONE), True, id="digest settles it"),
        pytest.param(Version("a", ONE), Version("b"), None, id="other token, content unknown"),
        pytest.param(Version("a"), Version("b", ONE), None, id="seen content unknown"),
    ],
)
def test_content_is_the_evidence(seen: Version, later: Version, *, same: bool | None) -> None:
    assert seen.same_content(later) is same
