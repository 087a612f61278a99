"""Why there is no connection, in one line that holds no secret."""

from __future__ import annotations

from typing import cast

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, PARSE_ERROR
from pydantic import ValidationError

from progressive.gateway._ending import Ending
from progressive.gateway._process import SpawnError
from progressive.gateway._secrets import Secrets
from progressive.gateway._text import one_line
from progressive.gateway._wire import UNREADABLE

__all__ = ["is_cut_short", "reason_of"]

_CHARS_MAX = 300
# How the SDK (mcp/client/streamable_http.py) begins what it says when the answer to one request ended too soon.
_CUT_SHORT = "SSE stream "


def reason_of(error: Exception, ending: Ending, secrets: Secrets) -> str:
    """Return why an attempt failed or a connection ended."""
    # What the transport saw comes first: what the SDK makes of it is that the connection is closed.
    reason = ending.reason or _reason(_innermost(error))
    if ending.hint and not ending.reason:
        reason = f"{reason}; {ending.hint}"
    return one_line(secrets.hidden_in(reason), _CHARS_MAX)


def is_cut_short(error: MCPError) -> bool:
    """Whether the SDK gave up a request over HTTP; its code for that is also the commonest of the servers' own."""
    return error.code == CONNECTION_CLOSED and error.error.message.startswith(_CUT_SHORT)


def _innermost(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


def _reason(error: Exception) -> str:
    match error:
        case SpawnError() | ConnectionError():
            return str(error)
        case MCPError():
            return _refusal(error)
        case ValidationError():
            return "the server answered with something that the protocol does not allow"
        case httpx2.TimeoutException() | TimeoutError():
            return "the server does not answer"
        case httpx2.TransportError():
            return f"the server cannot be reached: {error}"
        case _:
            return f"{type(error).__name__}: {error}"


def _refusal(error: MCPError) -> str:
    message = error.error.message
    is_ours = error.code == PARSE_ERROR and message.startswith(UNREADABLE)
    return message if is_ours else f"the server refused: {message} ({error.code})"
