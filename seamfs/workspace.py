"""The composition root: one opened store with its file system, its tools and its owners' observations."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from pydantic import JsonValue

from backends.registry import open_backend
from fs_core.errors import InvalidPath
from fs_core.filesystem import BackedFileSystem
from fs_core.paths import Root
from fs_core.policy import MemoryObservations, ObservationStore, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.protocol import Backend, Capabilities
from fs_core.session import FileSession
from seamfs.config import Settings, load_settings
from seamfs.file_tools import change_files, file_tool_names, make_file_tools
from seamfs.state_path import real_path
from tool_runtime import ToolCall, ToolResult, ToolRuntime

__all__ = ["Workspace", "open_workspace"]

CLOSE_TIMEOUT_S: Final = 15.0
ANONYMOUS: Final = OwnerId("")
"""The only owner in the store of a session that nobody named."""


class Workspace:
    """Files and tools over one store. Everything it hands out ends with it; it never closes the store.

    Attributes:
        files: The seam, without any policy.
        settings: What it was opened with.
        read_only: Whether the tools leave out those that change something.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        settings: Settings,
        read_only: bool = False,
        tools: Iterable[str] | None = None,
        observations: ObservationStore | None = None,
    ) -> None:
        """Take a store that was opened; see `open_workspace`."""
        names = file_tool_names(settings.tools if tools is None else tools, read_only=read_only)
        self.settings = settings
        self.read_only = not change_files(names)
        self.files = BackedFileSystem(backend)
        self._tool_names = names
        self._observations = MemoryObservations() if observations is None else observations
        self._call_ids = count(1)

    @cached_property
    def tools(self) -> ToolRuntime:
        """Return read, write, edit, list_dir, glob and grep, or those of them that were chosen, and room for more.

        They are made when they are first asked for: 30 ms that a program which reads and writes by itself does without.
        """
        tools = ToolRuntime()
        for tool in make_file_tools(self._tool_names, self.settings):
            tools.register(tool)
        return tools

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
        return _remembers(self.settings, read_only=self.read_only)

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

    async def export_session(self, owner: str) -> str:
        """Return what an owner has seen as a JSON document, for `import_session` here or in another process.

        Raises:
            FsError: The store of observations cannot be read.
            BadSessionError: It would be longer than a document may be.
        """
        from seamfs.session_document import dump_session

        return dump_session(await self._observations.export(OwnerId(owner)), root_url=self.root.url)

    async def import_session(self, owner: str, text: str) -> None:
        """Make what a document says everything that an owner has seen.

        It is believed: whoever can write a document can let its owner change files unread. Files that changed since it
        was made are stale, as ever.

        Raises:
            BadSessionError: The document is none, of an unknown version, or of another root. Nothing is changed.
            FsError: The store of observations cannot be written.
        """
        from seamfs.session_document import load_session

        await self._observations.restore(OwnerId(owner), load_session(text, root_url=self.root.url))

    async def call(self, session: FileSession, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run one tool for a session; whatever goes wrong is in the result."""
        return await self.tools.execute(ToolCall(name, arguments, id=str(next(self._call_ids))), owner=session)


@asynccontextmanager
async def open_workspace(
    url: str,
    *,
    settings: Settings | None = None,
    read_only: bool = False,
    tools: Iterable[str] | None = None,
    observations: ObservationStore | None = None,
) -> AsyncGenerator[Workspace]:
    """Open the store that `url` names and close it with the block.

    Args:
        url: A path, `file://`, `s3://bucket/prefix`, `sftp://[user@]host[:port]/path`, `memory://`, or any fsspec URL.
        settings: By default those of this process, see `load_settings`.
        read_only: Register those tools alone that change nothing.
        tools: Names of the tools to register, by default those of the settings, which by default are all six. With
            `read_only` those of them that change nothing.
        observations: Where what owners have seen is kept; by default in the file that `settings.state` names, and
            without one in this process, until the block ends.

    Raises:
        FsError: The store cannot be opened, or the file of observations.
        BadSettingError: No settings were given and those of this process are wrong, or no tool is left to register.
    """
    chosen = load_settings() if settings is None else settings
    names = file_tool_names(chosen.tools if tools is None else tools, read_only=read_only)
    remembers = _remembers(chosen, read_only=not change_files(names))
    async with AsyncExitStack() as opened:
        backend = await open_backend(url, chosen.backends)
        opened.push_async_callback(_close, backend)
        if observations is None and chosen.state is not None and remembers:
            await _refuse_state_in_root(chosen.state, backend)
            # A server without a file does without the library too.
            from seamfs.state import open_observations

            saved = open_observations(chosen.state, root_url=backend.root.url)
            observations = await opened.enter_async_context(saved)
        yield Workspace(backend, settings=chosen, tools=names, observations=observations)


def _remembers(settings: Settings, *, read_only: bool) -> bool:
    return settings.policy != "none" and not read_only


async def _close(backend: Backend) -> None:
    with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
        await backend.aclose()


async def _refuse_state_in_root(state: Path, backend: Backend) -> None:
    """Refuse to keep what agents have read where they can write."""
    file = await to_thread.run_sync(real_path, state)
    if backend.scheme == "file" and file.is_relative_to(backend.root.url):
        reason = "lies in the root, where an agent may change it; keep the observation state elsewhere"
        raise InvalidPath(reason, path=str(state), operation="open")
