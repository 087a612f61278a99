"""The composition root: one opened store with its file system, its tools and its owners' observations."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

import anyio
from pydantic import JsonValue

from backends.registry import open_backend
from fs_core.filesystem import BackedFileSystem
from fs_core.paths import Root
from fs_core.policy import MemoryObservations, ObservationStore, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.protocol import Backend, Capabilities
from fs_core.session import FileSession
from seamfs.config import Settings, load_settings
from tool_fs.toolset import file_tools
from tool_runtime import ToolCall, ToolResult, ToolRuntime

__all__ = ["Workspace", "open_workspace"]

CLOSE_TIMEOUT_S: Final = 15.0
ANONYMOUS: Final = OwnerId("")
"""The only owner in the store of a session that nobody named."""


class Workspace:
    """Files and tools over one store. Everything it hands out ends with it; it never closes the store.

    Attributes:
        files: The seam, without any policy.
        tools: read, write and edit (only read if `read_only`), and room for more.
        settings: What it was opened with.
        read_only: Whether the tools leave out those that change something.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        settings: Settings,
        read_only: bool = False,
        observations: ObservationStore | None = None,
    ) -> None:
        self.settings = settings
        self.read_only = read_only
        self.files = BackedFileSystem(backend)
        self.tools = ToolRuntime()
        self._observations = MemoryObservations() if observations is None else observations
        self._call_ids = count(1)
        for tool in file_tools(limits=settings.read, read_only=read_only, guarded=settings.policy != "none"):
            self.tools.register(tool)

    @property
    def root(self) -> Root:
        """Return where the workspace begins."""
        return self.files.root

    @property
    def capabilities(self) -> Capabilities:
        """Return what the store can do."""
        return self.files.capabilities

    @property
    def remembers(self) -> bool:
        """Whether what an owner has read decides what it may change: a policy, and something to change."""
        return self.settings.policy != "none" and not self.read_only

    def session(self, owner: str | None = None) -> FileSession:
        """Return one owner's view of the files, under the policy of the settings.

        Sessions of the same owner share what it has seen. Without an owner the session is one of its own, and what
        it has seen is kept in memory and dropped with it.
        """
        if self.settings.policy == "none":
            return FileSession(self.files, policy=Unguarded())
        if owner is None:
            policy = ReadBeforeWrite(owner=ANONYMOUS, store=MemoryObservations())
        else:
            policy = ReadBeforeWrite(owner=OwnerId(owner), store=self._observations)
        return FileSession(self.files, policy=policy)

    async def forget(self, owner: str) -> None:
        """Drop what an owner has seen; it has to read again."""
        await self._observations.forget(OwnerId(owner))

    async def call(self, session: FileSession, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run one tool for a session; whatever goes wrong is in the result."""
        return await self.tools.execute(ToolCall(name, arguments, id=str(next(self._call_ids))), owner=session)


@asynccontextmanager
async def open_workspace(
    url: str,
    *,
    settings: Settings | None = None,
    read_only: bool = False,
    observations: ObservationStore | None = None,
) -> AsyncGenerator[Workspace]:
    """Open the store that `url` names and close it with the block.

    Args:
        url: A path, `file://`, `s3://bucket/prefix`, `sftp://[user@]host[:port]/path`, `memory://`, or any fsspec URL.
        settings: By default those of this process, see `load_settings`.
        read_only: Register the tool read alone.
        observations: Where what owners have seen is kept; by default in this process, until the block ends.

    Raises:
        FsError: The store cannot be opened.
        BadSettingError: No settings were given and those of this process are wrong.
    """
    chosen = load_settings() if settings is None else settings
    backend = await open_backend(url, chosen.backends)
    try:
        yield Workspace(backend, settings=chosen, read_only=read_only, observations=observations)
    finally:
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            await backend.aclose()
