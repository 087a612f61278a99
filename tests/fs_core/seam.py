"""A file system over the memory store, with faults where a test wants them and a look behind its back."""

from dataclasses import dataclass, field
from typing import TypeVar

from fs_core.edit import Edit
from fs_core.errors import FsError, TooLarge
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, Observation, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.protocol import Capabilities, Guard
from fs_core.session import FileSession
from fs_core.testing.faults import FaultBackend
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import Target, TargetKey, WriteCondition, WriteReceipt

__all__ = ["ME", "OTHER", "Seam", "SmallBackend", "perform", "refused"]

ME = OwnerId("me")
OTHER = OwnerId("other")

ErrorT = TypeVar("ErrorT", bound=FsError)


@dataclass
class Seam:
    """One workspace in memory. `put`, `get` and `remove` go to the store behind the seam's back."""

    store: MemoryStore = field(default_factory=MemoryStore)
    observations: MemoryObservations = field(default_factory=MemoryObservations)

    def __post_init__(self) -> None:
        self.backend = FaultBackend(MemoryBackend(self.store))
        self.files = BackedFileSystem(self.backend)

    def restart(self) -> None:
        """Forget what was kept of contents and lines; observations stay."""
        self.files = BackedFileSystem(self.backend)

    def session(self, owner: OwnerId = ME) -> FileSession:
        return FileSession(self.files, policy=ReadBeforeWrite(owner=owner, store=self.observations))

    def unguarded(self) -> FileSession:
        return FileSession(self.files, policy=Unguarded())

    async def seen(self, path: str, owner: OwnerId = ME) -> Observation | None:
        return await self.observations.get(owner, TargetKey(path))

    def put(self, path: str, data: bytes) -> None:
        self.store.make_parents(path)
        self.store.put(path, data)

    def get(self, path: str) -> bytes | None:
        file = self.store.files.get(path)
        return None if file is None else file.data

    def remove(self, path: str) -> None:
        del self.store.files[path]

    def make_directory(self, path: str) -> None:
        self.store.files.pop(path, None)
        self.store.make_parents(f"{path}/child")


class SmallBackend(MemoryBackend):
    """Takes files of at most ten bytes."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(create=Guard.NATIVE, replace=Guard.NATIVE, write_size_bytes_max=10)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        if len(data) > 10:
            raise TooLarge("more than 10 bytes", path=target.display_path, operation="write")
        return await super().write(target, data, condition=condition)


async def refused(session: FileSession, operation: str, path: str, kind: type[ErrorT], *, text: str = "one") -> ErrorT:
    """Return the error that an operation is refused with; an edit replaces `text` by `new`."""
    try:
        await perform(session, operation, path, text=text)
    except kind as error:
        return error
    raise AssertionError(f"{operation} of {path} was not refused")


async def perform(session: FileSession, operation: str, path: str, *, text: str = "one") -> None:
    match operation:
        case "read":
            await session.read(path, Window())
        case "write":
            await session.write(path, "new\n")
        case _:
            await session.edit(path, Edit(text, "new"))
