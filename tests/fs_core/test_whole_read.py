"""The whole read that a backend has by default: two reads of one version, where one is not enough."""

import pytest

from fs_core.errors import StaleVersion
from fs_core.paths import parse_path
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import Snapshot, Target, Version

pytestmark = pytest.mark.anyio

DATA = b"0123456789"


@pytest.fixture(autouse=True)
def _two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fs_core.protocol.READ_FIRST_BYTES", 4)


class ChangedAfterFirstRead(MemoryBackend):
    """Somebody else replaces the file after the first read of it."""

    def __init__(self, store: MemoryStore, *, by: bytes) -> None:
        super().__init__(store)
        self._files = store
        self._by = by

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        snapshot = await super().read(target, offset=offset, limit=limit, pinned=pinned)
        self._files.put("a.txt", self._by)
        return snapshot


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", DATA)
    return store


async def test_a_file_that_is_read_in_two_steps_is_whole(store: MemoryStore) -> None:
    backend = MemoryBackend(store)
    target = await backend.resolve(parse_path("a.txt", backend.root))
    snapshot = await backend.read_whole(target, size_bytes_max=len(DATA))
    assert (snapshot.data, snapshot.is_whole) == (DATA, True)


@pytest.mark.parametrize("by", [b"9876543210", b"1", b"0123456789abc"])
async def test_a_change_between_the_two_steps_is_stale(store: MemoryStore, by: bytes) -> None:
    backend = ChangedAfterFirstRead(store, by=by)
    target = await backend.resolve(parse_path("a.txt", backend.root))
    with pytest.raises(StaleVersion):
        await backend.read_whole(target, size_bytes_max=1_000)
