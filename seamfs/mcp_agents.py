"""Who is speaking over MCP: each client session is one owner of observations. See docs/decisions/0006-mcp-owner.md."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from mcp.server import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from fs_core.session import FileSession
from progressive import Surface
from seamfs.workspace import Workspace
from tool_runtime.call_queue import CallQueue

__all__ = ["Agent", "Agents", "Context", "is_sessionless"]

SESSION_HEADER: Final = "mcp-session-id"

Context = ServerRequestContext["Agents", Any]


@dataclass(frozen=True, slots=True)
class Agent:
    """One client session. `label` tells it from others in logs and is no secret, as a session id would be."""

    label: str
    calls: CallQueue


class Agents:
    """The client sessions of one running server: one on stdio, one per transport session over HTTP.

    An HTTP session ends unseen by handlers (the client deletes it, or it idles out), so the least recently used
    one is dropped above `sessions_max`, which is also how many the transport keeps open. An owner whose
    observations are lost has to read again; it can never change what it has not seen.
    """

    def __init__(self, workspace: Workspace, *, sessions_max: int, surface: Surface | None = None) -> None:
        """Start with no sessions; a surface decides what they may call, without one that is any tool there is."""
        self._workspace = workspace
        self._surface = surface
        self._sessions_max = sessions_max
        self._connection: Agent | None = None
        self._sessions: OrderedDict[str, Agent] = OrderedDict()
        self._labels: WeakKeyDictionary[FileSession, str] = WeakKeyDictionary()
        self._labelled = 0

    def of(self, ctx: Context) -> Agent:
        """Return whoever sent a request."""
        request = cast("Request | None", ctx.request)
        if request is None:
            if self._connection is None:
                self._connection = self._new()
            return self._connection
        # The transport has checked the session before a handler runs, but for a revision that knows none.
        session_id = None if is_sessionless(ctx) else request.headers.get(SESSION_HEADER)
        return self._new() if session_id is None else self._of_session(session_id)

    def label_of(self, owner: object) -> str | None:
        """Return the label of the session that owns a call; None for an owner that is no session of this server."""
        return self._labels.get(owner) if isinstance(owner, FileSession) else None

    def _of_session(self, session_id: str) -> Agent:
        if session_id not in self._sessions:
            self._sessions[session_id] = self._new()
            if len(self._sessions) > self._sessions_max:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session_id)
        return self._sessions[session_id]

    def _new(self) -> Agent:
        self._labelled += 1
        # Without a name the session owns its observations alone, and they go when it goes.
        owner = self._workspace.session()
        self._labels[owner] = label = f"s{self._labelled}"
        calls = CallQueue(self._workspace.tools, owner=owner) if self._surface is None else self._surface.queue(owner)
        return Agent(label=label, calls=calls)


def is_sessionless(ctx: Context) -> bool:
    """Tell whether nothing connects this request to others: HTTP in the newest revision of the protocol."""
    return ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
