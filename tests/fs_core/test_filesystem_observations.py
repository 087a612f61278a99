"""What the seam does when what was seen cannot be kept, or the caller leaves while it is."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import pytest

from fs_core.edit import Edit
from fs_core.errors import FsError, NoSpace
from fs_core.filesystem import BackedFileSystem
from fs_core.outcomes import Edited, Written
from fs_core.page import Window
from fs_core.policy import MemoryObservations, Observation, OwnerId, Present, ReadBeforeWrite
from fs_core.session import FileSession
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import NoteKind, TargetKey

pytestmark = pytest.mark.anyio

ME, KEY = OwnerId("me"), TargetKey("a.txt")
NO_SPACE = NoSpace("no space is left for the observation state", path="/var/state.db", operation="write")


@dataclass
class HeldObservations(MemoryObservations):
    """Fails with `error` while there is one; puts wait for `release` once `is_held`."""

    error: FsError | None = None
    is_held: bool = False
    reached: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        super().__init__()

    async def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        if self.error is not None:
            raise self.error
        if self.is_held:
            self.reached.set()
            await self.release.wait()
        await super().put(owner, key, observation)

    async def replace(self, owner: OwnerId, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        if self.error is not None:
            raise self.error
        return await super().replace(owner, key, seen, observation)


@pytest.fixture
async def observations() -> HeldObservations:
    return HeldObservations()


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", b"one\n")
    return store


@pytest.fixture
async def session(store: MemoryStore, observations: HeldObservations) -> FileSession:
    session = FileSession(BackedFileSystem(MemoryBackend(store)), policy=ReadBeforeWrite(owner=ME, store=observations))
    await session.read("a.txt", Window())
    return session


async def write(session: FileSession) -> Written:
    return await session.write("a.txt", "two\n")


async def edit(session: FileSession) -> Edited:
    return await session.edit("a.txt", Edit("one", "two"))


@pytest.mark.parametrize("change", [write, edit])
async def test_a_change_that_cannot_be_remembered_is_a_success_that_says_so(
    session: FileSession,
    store: MemoryStore,
    observations: HeldObservations,
    change: Callable[[FileSession], Awaitable[Written | Edited]],
) -> None:
    observations.error = NO_SPACE
    changed = await change(session)
    assert store.files["a.txt"].data == b"two\n"
    (note,) = changed.notes
    assert note.kind is NoteKind.OBSERVATION_NOT_KEPT
    assert note.detail == (
        "not remembered for this session (/var/state.db: no space is left for the observation state); "
        "read the file again before the next change"
    )


@pytest.mark.parametrize("path", ["a.txt", "missing.txt"])
async def test_a_read_that_cannot_be_remembered_fails_with_the_fault_of_the_observations(
    session: FileSession, observations: HeldObservations, path: str
) -> None:
    observations.error = NO_SPACE
    with pytest.raises(NoSpace) as caught:
        await session.read(path, Window())
    assert caught.value is NO_SPACE


@pytest.mark.parametrize("change", [write, edit])
async def test_a_caller_that_is_cancelled_while_its_change_is_remembered_hears_of_it_first(
    session: FileSession,
    observations: HeldObservations,
    change: Callable[[FileSession], Awaitable[Written | Edited]],
) -> None:
    observations.is_held = True
    results: list[Written | Edited] = []

    async def run() -> None:
        results.append(await change(session))
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await observations.reached.wait()
        tasks.cancel_scope.cancel()
        observations.release.set()
    (changed,) = results
    assert await observations.get(ME, KEY) == Present(changed.version)
    observations.is_held = False
    await session.write("a.txt", "three\n")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_is_cancelled_while_its_change_is_remembered_hears_of_it_first(
    session: FileSession, observations: HeldObservations
) -> None:
    observations.is_held = True
    results: list[Written] = []

    async def run() -> None:
        results.append(await write(session))
        await asyncio.sleep(60)

    task = asyncio.ensure_future(run())
    await observations.reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    observations.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    (changed,) = results
    assert await observations.get(ME, KEY) == Present(changed.version)
