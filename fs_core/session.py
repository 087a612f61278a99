"""One owner's view of a workspace: the file system and what this owner has seen of it."""

from typing import TYPE_CHECKING

from fs_core.edit import Edit
from fs_core.filesystem import BackedFileSystem
from fs_core.outcomes import Edited, PageRead, Written
from fs_core.page import Window
from fs_core.policy import ObservationPolicy
from fs_core.types import WriteReceipt

if TYPE_CHECKING:
    # Whoever reads one file does without.
    from fs_core.search.bounds import SearchBounds, Watch
    from fs_core.search.grepping import LineQuery
    from fs_core.search.outcomes import Globbed, Grepped, TreeListed

__all__ = ["FileSession"]


class FileSession:
    """Read, write and edit by path, under one policy, and search. The operations are those of `BackedFileSystem`.

    A search is no look at a file: nothing is noted as seen.
    """

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

    async def list_tree(
        self, path: str, *, depth: int, bounds: "SearchBounds", watch: "Watch | None" = None
    ) -> "TreeListed":
        """Return the entries below a directory."""
        start = await self.files.resolve(path)
        return await self.files.search.list_tree(start, depth=depth, bounds=bounds, watch=watch)

    async def glob(self, path: str, pattern: str, *, bounds: "SearchBounds", watch: "Watch | None" = None) -> "Globbed":
        """Return the paths below a directory that a pattern means."""
        return await self.files.search.glob(await self.files.resolve(path), pattern, bounds=bounds, watch=watch)

    async def grep(
        self, path: str, query: "LineQuery", *, bounds: "SearchBounds", watch: "Watch | None" = None
    ) -> "Grepped":
        """Return the lines that match in a file, or in the files below a directory."""
        return await self.files.search.grep(await self.files.resolve(path), query, bounds=bounds, watch=watch)
