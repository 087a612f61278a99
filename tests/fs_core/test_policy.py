import pytest

from fs_core import policy
from fs_core.policy import Absent, MemoryObservations, OwnerId, Present, ReadBeforeWrite, Unguarded
from fs_core.types import Digest, TargetKey, Version

ME, OTHER = OwnerId("me"), OwnerId("other")
KEY = TargetKey("a.txt")
SEEN = Present(Version("1"))


def test_what_was_never_put_is_unseen() -> None:
    assert MemoryObservations().get(ME, KEY) is None


def test_owners_and_keys_do_not_know_of_each_other() -> None:
    observations = MemoryObservations()
    observations.put(ME, KEY, SEEN)
    assert observations.get(ME, KEY) == SEEN
    assert observations.get(OTHER, KEY) is None
    assert observations.get(ME, TargetKey("b.txt")) is None


def test_a_later_observation_replaces_an_earlier_one() -> None:
    observations = MemoryObservations()
    observations.put(ME, KEY, SEEN)
    observations.put(ME, KEY, Absent())
    assert observations.get(ME, KEY) == Absent()


def test_forgetting_one_owner_leaves_the_others() -> None:
    observations = MemoryObservations()
    observations.put(ME, KEY, SEEN)
    observations.put(OTHER, KEY, SEEN)
    observations.forget(ME)
    observations.forget(OwnerId("never seen"))
    assert observations.get(ME, KEY) is None
    assert observations.get(OTHER, KEY) == SEEN


def test_the_observation_that_was_put_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "OBSERVATIONS_PER_OWNER_MAX", 2)
    observations = MemoryObservations()
    first, second, third = TargetKey("1"), TargetKey("2"), TargetKey("3")
    observations.put(ME, first, SEEN)
    observations.put(ME, second, SEEN)
    observations.put(ME, first, SEEN)
    observations.put(ME, third, SEEN)
    assert [observations.get(ME, key) for key in (first, second, third)] == [SEEN, None, SEEN]


def test_read_before_write_keeps_what_its_owner_saw() -> None:
    observations = MemoryObservations()
    mine = ReadBeforeWrite(owner=ME, store=observations)
    theirs = ReadBeforeWrite(owner=OTHER, store=observations)
    mine.record(KEY, SEEN)
    assert mine.requires_observation
    assert mine.observed(KEY) == SEEN
    assert theirs.observed(KEY) is None


def test_unguarded_remembers_nothing_and_requires_nothing() -> None:
    unguarded = Unguarded()
    unguarded.record(KEY, SEEN)
    assert not unguarded.requires_observation
    assert unguarded.observed(KEY) is None


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
