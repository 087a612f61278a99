"""What every store of observations must do, as tests: subclass `ObservationConformance`, provide `store` and `bounded`.

    class TestMyStore(ObservationConformance):
        @pytest.fixture
        def store(self) -> ObservationStore: ...

        @pytest.fixture
        def bounded(self) -> ObservationStore: ...

Needs pytest with anyio's plugin, as `fs_core.testing.conformance` does.
"""

from dataclasses import replace
from typing import Final

import anyio
import pytest

from fs_core.policy import Absent, Observation, ObservationStore, OwnerId, Present
from fs_core.types import Digest, TargetKey, Version

__all__ = ["BOUNDED_OBSERVATIONS", "BOUNDED_OWNERS", "ObservationConformance"]

BOUNDED_OBSERVATIONS: Final = 3
BOUNDED_OWNERS: Final = 2

ME, OTHER, THIRD = OwnerId("me"), OwnerId("other"), OwnerId("third\n'; --")
KEY: Final = TargetKey("a.txt")
SEEN: Final = Present(Version("1", Digest("d1")))
OBSERVATIONS: Final = (
    Absent(),
    Present(Version("token")),
    Present(Version("token", Digest("digest"))),
    Present(Version("token", Digest("digest"), settled=False)),
    Present(Version("token", settled=False), is_text=False),
    Present(Version("")),
)
KEYS: Final = ("", " ", "a/b", "A/B", "caf\u00e9", "cafe\u0301", "line\nbreak", "quote'\"", "%", "\udcff", "x" * 5_000)


def _facts(observation: Observation | None) -> object:
    """Return everything an observation says; versions are equal by their token alone."""
    if isinstance(observation, Present):
        version = observation.version
        return version.token, version.digest, version.settled, observation.is_text
    return observation


def _keys(*names: str) -> list[TargetKey]:
    return [TargetKey(name) for name in names]


@pytest.mark.anyio
class ObservationConformance:
    """One test per promise. Scenario and outcome stand in the name."""

    @pytest.fixture
    def store(self) -> ObservationStore:
        """Return an empty store; every subclass provides its own."""
        raise NotImplementedError

    @pytest.fixture
    def bounded(self) -> ObservationStore:
        """Return one that keeps `BOUNDED_OBSERVATIONS` of each of `BOUNDED_OWNERS`."""
        raise NotImplementedError

    async def test_what_was_never_put_is_unseen(self, store: ObservationStore) -> None:
        assert await store.get(ME, KEY) is None
        assert await store.export(ME) == {}

    @pytest.mark.parametrize("observation", OBSERVATIONS)
    async def test_an_observation_comes_back_whole(self, store: ObservationStore, observation: Observation) -> None:
        await store.put(ME, KEY, observation)
        assert _facts(await store.get(ME, KEY)) == _facts(observation)
        assert [_facts(seen) for seen in (await store.export(ME)).values()] == [_facts(observation)]

    async def test_any_text_is_a_key(self, store: ObservationStore) -> None:
        for number, key in enumerate(KEYS):
            await store.put(ME, TargetKey(key), Present(Version(str(number))))
        seen = [await store.get(ME, TargetKey(key)) for key in KEYS]
        assert seen == [Present(Version(str(number))) for number in range(len(KEYS))]
        assert list(await store.export(ME)) == list(KEYS)

    async def test_owners_and_keys_do_not_know_of_each_other(self, store: ObservationStore) -> None:
        await store.put(ME, KEY, SEEN)
        assert await store.get(OTHER, KEY) is None
        assert await store.get(ME, TargetKey("b.txt")) is None
        assert await store.export(OTHER) == {}

    async def test_a_later_observation_replaces_an_earlier_one(self, store: ObservationStore) -> None:
        await store.put(ME, KEY, SEEN)
        await store.put(ME, KEY, Absent())
        assert await store.get(ME, KEY) == Absent()

    @pytest.mark.parametrize("seen", [None, *OBSERVATIONS])
    async def test_replacing_what_is_as_it_was_seen_puts(
        self, store: ObservationStore, seen: Observation | None
    ) -> None:
        if seen is not None:
            await store.put(ME, KEY, seen)
        assert await store.replace(ME, KEY, seen, SEEN)
        assert _facts(await store.get(ME, KEY)) == _facts(SEEN)

    @pytest.mark.parametrize("seen", [None, *OBSERVATIONS])
    @pytest.mark.parametrize("present", [None, *OBSERVATIONS])
    async def test_replacing_what_is_not_as_it_was_seen_puts_nothing(
        self, store: ObservationStore, seen: Observation | None, present: Observation | None
    ) -> None:
        if present is not None:
            await store.put(ME, KEY, present)
        put = await store.replace(ME, KEY, seen, SEEN)
        assert put is (_facts(seen) == _facts(present))
        if not put:
            assert _facts(await store.get(ME, KEY)) == _facts(present)

    async def test_of_many_who_saw_the_same_one_replaces_it(self, store: ObservationStore) -> None:
        outcomes: list[bool] = []

        async def race(number: int) -> None:
            outcomes.append(await store.replace(ME, KEY, SEEN, Present(Version(f"racer {number}"))))

        await store.put(ME, KEY, SEEN)
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(race, number)
        assert sorted(outcomes) == [False] * 7 + [True]

    async def test_forgetting_one_owner_leaves_the_others(self, store: ObservationStore) -> None:
        await store.put(ME, KEY, SEEN)
        await store.put(OTHER, KEY, SEEN)
        await store.forget(ME)
        await store.forget(THIRD)
        assert await store.get(ME, KEY) is None
        assert await store.get(OTHER, KEY) == SEEN

    async def test_what_was_exported_can_be_restored_for_anyone(self, store: ObservationStore) -> None:
        for number, observation in enumerate(OBSERVATIONS):
            await store.put(ME, TargetKey(str(number)), observation)
        exported = await store.export(ME)
        assert [_facts(seen) for seen in exported.values()] == [_facts(seen) for seen in OBSERVATIONS]
        await store.put(THIRD, KEY, SEEN)
        await store.restore(THIRD, exported)
        restored = await store.export(THIRD)
        assert [(key, _facts(seen)) for key, seen in restored.items()] == [
            (key, _facts(seen)) for key, seen in exported.items()
        ]

    async def test_an_export_stays_as_it_was(self, store: ObservationStore) -> None:
        await store.put(ME, KEY, SEEN)
        exported = await store.export(ME)
        await store.put(ME, KEY, Absent())
        await store.put(ME, TargetKey("b.txt"), SEEN)
        assert exported == {KEY: SEEN}

    async def test_restoring_nothing_forgets(self, store: ObservationStore) -> None:
        await store.put(ME, KEY, SEEN)
        await store.restore(ME, {})
        assert await store.get(ME, KEY) is None

    async def test_the_observation_that_was_put_longest_ago_goes_first(self, bounded: ObservationStore) -> None:
        for key in _keys("1", "2", "3", "1"):
            await bounded.put(ME, key, SEEN)
        assert await bounded.replace(ME, TargetKey("2"), SEEN, replace(SEEN, is_text=False))
        await bounded.put(ME, TargetKey("4"), SEEN)
        assert list(await bounded.export(ME)) == ["1", "2", "4"]

    async def test_the_owner_who_put_nothing_for_longest_goes_first(self, bounded: ObservationStore) -> None:
        for owner in (ME, OTHER, ME, THIRD):
            await bounded.put(owner, KEY, SEEN)
        assert [await bounded.get(owner, KEY) for owner in (ME, OTHER, THIRD)] == [SEEN, None, SEEN]

    async def test_of_more_than_a_store_keeps_the_latest_are_restored(self, bounded: ObservationStore) -> None:
        await bounded.restore(ME, dict.fromkeys(_keys("1", "2", "3", "4", "5"), SEEN))
        assert list(await bounded.export(ME)) == ["3", "4", "5"]
