"""Who is speaking over MCP: each client session is one owner of observations. See docs/decisions/0006-mcp-owner.md."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from fs_core.session import FileSession
from progressive import Surface
from seamfs.config import session_name
from seamfs.workspace import Workspace
from tool_runtime.call_queue import CallQueue

__all__ = ["NAME_HEADER", "Agent", "Agents", "Context", "is_sessionless", "requested_name"]

SESSION_HEADER: Final = "mcp-session-id"
NAME_HEADER: Final = "seamfs-session"
HTTP_OWNERS: Final = "http:"
"""Before the names that clients choose over HTTP, so that none of them is a session of stdio; no name holds a colon."""

Context = ServerRequestContext["Agents", Any]


@dataclass(frozen=True, slots=True)
class Agent:
    """One client session. `label` tells it from others in logs and is no secret, as a session id would be."""

    label: str
    calls: CallQueue


class Agents:
    """The client sessions of one running server: one on stdio, one per transport session over HTTP.

    Over HTTP a client may name its session, and whoever gives the same name shares what was seen under it, across
    transport sessions and, where there is a state file, restarts. On stdio the server was started with the name.

    An HTTP session ends unseen by handlers (the client deletes it, or it idles out), so the least recently used
    one is dropped above `sessions_max`, which is also how many the transport keeps open. An owner whose
    observations are lost has to read again; it can never change what it has not seen.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        sessions_max: int,
        surface: Surface | None = None,
        stdio_session: str | None = None,
    ) -> None:
        """Start with no sessions; a surface decides what they may call, without one that is any tool there is."""
        self._workspace = workspace
        self._surface = surface
        self._stdio_session = stdio_session
        self._sessions_max = sessions_max
        self._connection: Agent | None = None
        self._sessions: OrderedDict[tuple[str | None, str | None], Agent] = OrderedDict()
        self._labels: WeakKeyDictionary[FileSession, str] = WeakKeyDictionary()
        self._labelled = 0

    def of(self, ctx: Context) -> Agent:
        """Return whoever sent a request.

        Raises:
            MCPError: It gives a name that a session cannot have.
        """
        request = cast("Request | None", ctx.request)
        if request is None:
            if self._connection is None:
                self._connection = self._new(self._stdio_session)
            return self._connection
        # The transport has checked the session before a handler runs, but for a revision that knows none.
        session_id = None if is_sessionless(ctx) else request.headers.get(SESSION_HEADER)
        name = requested_name(ctx) if self._workspace.remembers else None
        if session_id is None and name is None:
            return self._new(None)
        return self._of_session((session_id, name))

    def label_of(self, owner: object) -> str | None:
        """Return the label of the session that owns a call; None for an owner that is no session of this server."""
        return self._labels.get(owner) if isinstance(owner, FileSession) else None

    def _of_session(self, session: tuple[str | None, str | None]) -> Agent:
        if session not in self._sessions:
            name = session[1]
            self._sessions[session] = self._new(None if name is None else f"{HTTP_OWNERS}{name}")
            if len(self._sessions) > self._sessions_max:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session)
        return self._sessions[session]

    def _new(self, name: str | None) -> Agent:
        self._labelled += 1
        # Without a name the session owns its observations alone, and they go when it goes.
        owner = self._workspace.session(name)
        self._labels[owner] = label = f"s{self._labelled}"
        calls = CallQueue(self._workspace.tools, owner=owner) if self._surface is None else self._surface.queue(owner)
        return Agent(label=label, calls=calls)


def is_sessionless(ctx: Context) -> bool:
    """Tell whether nothing connects this request to others: HTTP in the newest revision of the protocol."""
    return ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def requested_name(ctx: Context) -> str | None:
    """Return the name that a client gives its session over HTTP.

    Raises:
        MCPError: A session cannot have that name.
    """
    request = cast("Request | None", ctx.request)
    name = None if request is None else request.headers.get(NAME_HEADER)
    if name is None:
        return None
    try:
        return session_name(name)
    except ValueError as error:
        raise MCPError(types.INVALID_REQUEST, f"header {NAME_HEADER}: {error}") from None
