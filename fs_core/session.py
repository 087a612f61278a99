"""One owner's view of a workspace: the file system and what this owner has seen of it."""

from fs_core.edit import Edit
from fs_core.filesystem import BackedFileSystem
from fs_core.outcomes import Edited, PageRead, Written
from fs_core.page import Window
from fs_core.policy import ObservationPolicy
from fs_core.types import WriteReceipt

__all__ = ["FileSession"]


class FileSession:
    """Read, write and edit by path, under one policy. The operations are those of `BackedFileSystem`."""

    def __init__(self, files: BackedFileSystem, *, policy: ObservationPolicy) -> None:
        self.files = files
        self._policy = policy

    async def read(self, path: str, window: Window) -> PageRead:
        """Return one window of a file and note its version as seen."""
        return await self.files.read(await self.files.resolve(path), window, policy=self._policy)

    async def write(self, path: str, content: str) -> Written:
        """Create a file, or replace one whose present version was seen."""
        return await self.files.write(await self.files.resolve(path), content, policy=self._policy)

    async def edit(self, path: str, edit: Edit) -> Edited:
        """Replace literal text in a file whose present version was seen."""
        return await self.files.edit(await self.files.resolve(path), edit, policy=self._policy)

    async def read_bytes(self, path: str) -> bytes:
        """Return a whole file, text or not, and note its version as seen."""
        return await self.files.read_bytes(await self.files.resolve(path), policy=self._policy)

    async def write_bytes(self, path: str, data: bytes) -> WriteReceipt:
        """Create a file, or replace one whose present version was seen, with content that need not be text."""
        return await self.files.write_bytes(await self.files.resolve(path), data, policy=self._policy)
