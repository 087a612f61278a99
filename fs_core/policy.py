"""Who has seen what, and what that allows. No I/O: an observation is a fact that a session reports."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NewType, Protocol

from fs_core.types import TargetKey, Version

__all__ = [
    "Absent",
    "MemoryObservations",
    "Observation",
    "ObservationPolicy",
    "ObservationStore",
    "OwnerId",
    "Present",
    "ReadBeforeWrite",
    "Unguarded",
]

OwnerId = NewType("OwnerId", str)
"""Who observes: one agent session."""

OBSERVATIONS_PER_OWNER_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Absent:
    """The owner looked and found nothing."""


@dataclass(frozen=True, slots=True)
class Present:
    """The owner saw this version. `is_text` is false when the read was refused as not text: it may be replaced."""

    version: Version
    is_text: bool = True


Observation = Absent | Present


class ObservationStore(Protocol):
    """Keeps observations. Losing one is safe: its owner has to read again."""

    def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        ...

    def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        """Replace what the owner last observed."""
        ...

    def forget(self, owner: OwnerId) -> None:
        """Drop everything of one owner."""
        ...


class MemoryObservations:
    """Observations in this process, at most `OBSERVATIONS_PER_OWNER_MAX` per owner; the oldest go first."""

    def __init__(self) -> None:
        self._owners: dict[OwnerId, OrderedDict[TargetKey, Observation]] = {}

    def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        seen = self._owners.get(owner)
        return None if seen is None else seen.get(key)

    def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        """Replace what the owner last observed."""
        seen = self._owners.setdefault(owner, OrderedDict())
        seen[key] = observation
        seen.move_to_end(key)
        if len(seen) > OBSERVATIONS_PER_OWNER_MAX:
            seen.popitem(last=False)

    def forget(self, owner: OwnerId) -> None:
        """Drop everything of one owner."""
        self._owners.pop(owner, None)


class ObservationPolicy(Protocol):
    """Answers under which condition one owner may change a file."""

    @property
    def requires_observation(self) -> bool:
        """Whether an existing file may only be changed by someone who has seen its present version."""
        ...

    def observed(self, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        ...

    def record(self, key: TargetKey, observation: Observation) -> None:
        """Note a fresh observation."""
        ...


class ReadBeforeWrite:
    """An existing file is changed only by an owner who has seen its present version; any window counts."""

    requires_observation: bool = True

    def __init__(self, *, owner: OwnerId, store: ObservationStore) -> None:
        self._owner = owner
        self._store = store

    def observed(self, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        return self._store.get(self._owner, key)

    def record(self, key: TargetKey, observation: Observation) -> None:
        """Note a fresh observation."""
        self._store.put(self._owner, key, observation)


class Unguarded:
    """Everything is allowed; writes are atomic all the same, and an edit never loses a concurrent update."""

    requires_observation: bool = False

    def observed(self, key: TargetKey) -> Observation | None:
        """Return `None`: nothing is remembered."""
        del key

    def record(self, key: TargetKey, observation: Observation) -> None:
        """Remember nothing."""
        del key, observation
