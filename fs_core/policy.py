"""Who has seen what, and what that allows. No I/O: an observation is a fact that a session reports."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NewType, Protocol

from fs_core.types import TargetKey, Version

__all__ = [
    "OBSERVATIONS_PER_OWNER_MAX",
    "OWNERS_MAX",
    "Absent",
    "MemoryObservations",
    "Observation",
    "ObservationPolicy",
    "ObservationState",
    "ObservationStore",
    "OwnerId",
    "Present",
    "ReadBeforeWrite",
    "Unguarded",
]

OwnerId = NewType("OwnerId", str)
"""Who observes: one agent session."""

OBSERVATIONS_PER_OWNER_MAX: Final = 10_000
OWNERS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Absent:
    """The owner looked and found nothing."""


@dataclass(frozen=True, slots=True)
class Present:
    """The owner saw this version. `is_text` is false when the read was refused as not text: it may be replaced."""

    version: Version
    is_text: bool = True


Observation = Absent | Present

ObservationState = Mapping[TargetKey, Observation]
"""Everything that one owner has seen, in the order in which it was put, the oldest first."""


class ObservationStore(Protocol):
    """Keeps observations, for several processes at once if it can. Losing one is safe: its owner has to read again.

    Every method raises `FsError` with a line that names the store when it cannot do what it is asked.
    """

    async def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        ...

    async def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        """Replace what the owner last observed."""
        ...

    async def replace(self, owner: OwnerId, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Put `observation` only while what the owner last observed is still `seen`; tell whether it was put."""
        ...

    async def forget(self, owner: OwnerId) -> None:
        """Drop everything of one owner."""
        ...

    async def export(self, owner: OwnerId) -> ObservationState:
        """Return everything that the owner has seen."""
        ...

    async def restore(self, owner: OwnerId, state: ObservationState) -> None:
        """Make `state` everything that the owner has seen; what exceeds the bound of the store is unseen."""
        ...


class MemoryObservations:
    """Observations in this process, so many of so many owners; those put longest ago go first."""

    def __init__(
        self, *, observations_per_owner_max: int = OBSERVATIONS_PER_OWNER_MAX, owners_max: int = OWNERS_MAX
    ) -> None:
        self._observations_per_owner_max = observations_per_owner_max
        self._owners_max = owners_max
        self._owners: OrderedDict[OwnerId, OrderedDict[TargetKey, Observation]] = OrderedDict()

    async def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        return self._get(owner, key)

    async def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        """Replace what the owner last observed."""
        self._put(owner, key, observation)

    async def replace(self, owner: OwnerId, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Put `observation` only while what the owner last observed is still `seen`; tell whether it was put."""
        is_as_seen = _facts(self._get(owner, key)) == _facts(seen)
        if is_as_seen:
            self._put(owner, key, observation)
        return is_as_seen

    async def forget(self, owner: OwnerId) -> None:
        """Drop everything of one owner."""
        self._owners.pop(owner, None)

    async def export(self, owner: OwnerId) -> ObservationState:
        """Return everything that the owner has seen."""
        return dict(self._owners.get(owner, {}))

    async def restore(self, owner: OwnerId, state: ObservationState) -> None:
        """Make `state` everything that the owner has seen; what exceeds the bound of the store is unseen."""
        self._owners.pop(owner, None)
        for key, observation in state.items():
            self._put(owner, key, observation)

    def _get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        seen = self._owners.get(owner)
        return None if seen is None else seen.get(key)

    def _put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        seen = self._owners.setdefault(owner, OrderedDict())
        seen[key] = observation
        seen.move_to_end(key)
        self._owners.move_to_end(owner)
        if len(seen) > self._observations_per_owner_max:
            seen.popitem(last=False)
        if len(self._owners) > self._owners_max:
            self._owners.popitem(last=False)


def _facts(observation: Observation | None) -> tuple[object, ...]:
    """Return everything an observation says; `==` of versions leaves the digest out, which tells equal tokens apart."""
    if isinstance(observation, Present):
        version = observation.version
        return (version.token, version.digest, version.settled, observation.is_text)
    return (observation,)


class ObservationPolicy(Protocol):
    """Answers under which condition one owner may change a file."""

    @property
    def requires_observation(self) -> bool:
        """Whether an existing file may only be changed by someone who has seen its present version."""
        ...

    async def observed(self, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        ...

    async def record(self, key: TargetKey, observation: Observation) -> None:
        """Note a fresh observation.

        Raises:
            FsError: It cannot be kept.
        """
        ...

    async def replace(self, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Note a fresh observation, unless what the owner last observed is no longer `seen`; tell which it was.

        Raises:
            FsError: It cannot be kept.
        """
        ...


class ReadBeforeWrite:
    """An existing file is changed only by an owner who has seen its present version; any window counts."""

    requires_observation: bool = True

    def __init__(self, *, owner: OwnerId, store: ObservationStore) -> None:
        self._owner = owner
        self._store = store

    async def observed(self, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        return await self._store.get(self._owner, key)

    async def record(self, key: TargetKey, observation: Observation) -> None:
        """Note a fresh observation."""
        await self._store.put(self._owner, key, observation)

    async def replace(self, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Note a fresh observation, unless what the owner last observed is no longer `seen`; tell which it was."""
        return await self._store.replace(self._owner, key, seen, observation)


class Unguarded:
    """Everything is allowed; writes are atomic all the same, and an edit never loses a concurrent update."""

    requires_observation: bool = False

    async def observed(self, key: TargetKey) -> Observation | None:
        """Return `None`: nothing is remembered."""
        del key

    async def record(self, key: TargetKey, observation: Observation) -> None:
        """Remember nothing."""
        del key, observation

    async def replace(self, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Remember nothing."""
        del key, seen, observation
        return True
