"""The tools of a workspace for one agent, as every adapter calls them."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TypeVar

from anyio.from_thread import start_blocking_portal
from pydantic import JsonValue

from fs_core.policy import ObservationStore
from fs_core.session import FileSession
from seamfs.config import Settings
from seamfs.integrations._home import Home
from seamfs.workspace import Workspace, open_workspace
from tool_runtime import JsonObject, ToolCall, ToolResult, ToolSchema
from tool_runtime.call_queue import CallQueue

__all__ = ["AgentTools", "open_agent_tools", "parameters_of"]

T = TypeVar("T")


class AgentTools:
    """The tools of a workspace, called for one session, which is one owner of what was read.

    Calls that come one by one run in the order in which they come, except that those that may overlap do, as in a
    turn: a framework may start all calls of a turn at once.

    Attributes:
        workspace: Whose tools they are: all that its runtime has at the time of a call.
        session: For whom they act.
    """

    def __init__(self, workspace: Workspace, *, session: FileSession | None = None, home: Home | None = None) -> None:
        """Take the tools of a workspace that was opened on the running event loop.

        Args:
            workspace: Stays its opener's.
            session: By default a new one, which shares nothing with others.
            home: See `open_agent_tools`, which makes one.

        Raises:
            RuntimeError: No event loop is running here.
        """
        self.workspace = workspace
        self.session = workspace.session() if session is None else session
        self._home = Home() if home is None else home
        self._queue = CallQueue(workspace.tools, owner=self.session)
        self._call_ids = count(1)

    def for_session(self, session: FileSession | None = None) -> "AgentTools":
        """Return the same tools for another session, by default a new one."""
        return AgentTools(self.workspace, session=session, home=self._home)

    def schemas(self) -> list[ToolSchema]:
        """Return what a model is told of the tools, sorted by name."""
        return self.workspace.tools.schemas()

    async def call(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run one tool; whatever goes wrong with it is in the result.

        Raises:
            RuntimeError: This event loop is not that of the workspace, and cannot reach it.
        """
        return await self.run(partial(self._queue.run, self._numbered(name, arguments)))

    def call_sync(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run one tool while this thread waits; see `open_agent_tools`.

        Raises:
            RuntimeError: The workspace has no thread of its own, or this is it.
        """
        return self.run_sync(partial(self._queue.run, self._numbered(name, arguments)))

    async def run_turn(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Run all calls of one turn by the schedule of the runtime and return their results in the same order."""
        return await self.run(partial(self.workspace.tools.run_turn, calls, owner=self.session))

    def run_turn_sync(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Do the same while this thread waits; see `call_sync`."""
        return self.run_sync(partial(self.workspace.tools.run_turn, calls, owner=self.session))

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something else on the event loop of the workspace."""
        return await self._home.run(work)

    def run_sync(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the same while this thread waits; see `call_sync`."""
        return self._home.run_sync(work)

    def _numbered(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolCall:
        return ToolCall(name, arguments, id=str(next(self._call_ids)))


@contextmanager
def open_agent_tools(
    url: str,
    *,
    owner: str | None = None,
    settings: Settings | None = None,
    read_only: bool = False,
    observations: ObservationStore | None = None,
) -> Generator[AgentTools]:
    """Open a workspace on an event loop of its own, in a thread, and close it with the block.

    Its tools can be called from any thread and awaited on any event loop, also on several one after another. Opening
    waits for the store, and closing for what still runs, so an application with one event loop does better to open the
    workspace there and to make `AgentTools` of it.

    Args:
        url: See `open_workspace`, as for the other arguments.
        owner: Name of the session; without one it is new, and forgotten with the block.
        settings: By default those of this process.
        read_only: Leave out the tools that change something.
        observations: Where what the owner has seen is kept.

    Raises:
        FsError: The store cannot be opened, or the file of observations.
        BadSettingError: No settings were given and those of this process are wrong.
    """
    with start_blocking_portal() as portal:
        opening = open_workspace(url, settings=settings, read_only=read_only, observations=observations)
        with portal.wrap_async_context_manager(opening) as workspace:
            home = Home(portal)
            try:
                yield AgentTools(workspace, session=workspace.session(owner), home=home)
            finally:
                home.close()


def parameters_of(schema: ToolSchema) -> JsonObject:
    """Return the schema of the arguments, with the two keys that frameworks look for in any."""
    return {"type": "object", "properties": {}, **schema.parameters}
