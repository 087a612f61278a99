"""The tools of a workspace for one agent, as every adapter calls them."""

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
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
from tool_runtime import JsonObject, ScopeId, ToolCall, ToolResult, ToolSchema
from tool_runtime.call_queue import CallQueue

__all__ = ["AgentTools", "open_agent_tools", "parameters_of"]

T = TypeVar("T")


class AgentTools:
    """The tools of a workspace, called for one session, which is one owner of what was read.

    Calls that come one by one run in the order in which they come, except that those that may overlap do, as in a
    turn: a framework may start all calls of a turn at once.

    Attributes:
        workspace: Whose tools they are.
        session: For whom they act.
        scope: Where tools are seen from, whichever there are at the time of a call; None is the global scope.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        session: FileSession | None = None,
        scope: ScopeId | None = None,
        home: Home | None = None,
    ) -> None:
        """Take the tools of a workspace that was opened on the running event loop.

        Args:
            workspace: Stays its opener's.
            session: By default a new one, which shares nothing with others.
            scope: See the attribute.
            home: See `open_agent_tools`, which makes one.

        Raises:
            RuntimeError: No event loop is running here.
        """
        self.workspace = workspace
        self.session = workspace.session() if session is None else session
        self.scope = scope
        self._home = Home() if home is None else home
        self._queue = CallQueue(workspace.tools, owner=self.session, scope=scope)
        self._call_ids = count(1)

    def for_new_session(self) -> "AgentTools":
        """Return the same tools for a session that has read nothing."""
        return AgentTools(self.workspace, scope=self.scope, home=self._home)

    def in_scope(self, scope: ScopeId) -> "AgentTools":
        """Return the tools that another scope sees, for the same session."""
        return AgentTools(self.workspace, session=self.session, scope=scope, home=self._home)

    def schemas(self) -> list[ToolSchema]:
        """Return what a model is told of the tools, sorted by name."""
        return self.workspace.tools.schemas(self.scope)

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
        return await self.run(partial(self._run_turn, calls))

    def run_turn_sync(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Do the same while this thread waits; see `call_sync`."""
        return self.run_sync(partial(self._run_turn, calls))

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something else on the event loop of the workspace."""
        return await self._home.run(work)

    def run_sync(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the same while this thread waits; see `call_sync`."""
        return self._home.run_sync(work)

    async def _run_turn(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        return await self.workspace.tools.run_turn(calls, scope=self.scope, owner=self.session)

    def _numbered(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolCall:
        return ToolCall(name, arguments, id=str(next(self._call_ids)))


@contextmanager
def open_agent_tools(
    url: str,
    *,
    owner: str | None = None,
    settings: Settings | None = None,
    read_only: bool = False,
    tools: Iterable[str] | None = None,
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
        read_only: Register those tools alone that change nothing.
        tools: Names of the tools to register, by default those of the settings.
        observations: Where what the owner has seen is kept.

    Raises:
        FsError: The store cannot be opened, or the file of observations.
        BadSettingError: No settings were given and those of this process are wrong, or no tool is left to register.
    """
    with start_blocking_portal() as portal:
        opening = open_workspace(url, settings=settings, read_only=read_only, tools=tools, observations=observations)
        with portal.wrap_async_context_manager(opening) as workspace:
            home = Home(portal)
            try:
                yield AgentTools(workspace, session=workspace.session(owner), home=home)
            finally:
                home.close()


def parameters_of(schema: ToolSchema) -> JsonObject:
    """Return the schema of the arguments, with the two keys that frameworks look for in any."""
    return {"type": "object", "properties": {}, **schema.parameters}
