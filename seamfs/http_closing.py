"""Ending open requests in good order when the HTTP server is told to stop."""

import math
from typing import Final

import anyio
from anyio import CancelScope
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["ClosingApp"]

STREAM_METHOD: Final = "GET"
"""Such a request waits for what the server has to say of itself, for as long as the client lives."""


class ClosingApp:
    """Passes requests on, and ends those that are open once `close` was called.

    Left to the web server, each of them would be cancelled from outside and reported as a failure of ours.
    """

    def __init__(self, app: ASGIApp, *, grace_s: float) -> None:
        """Wrap an application.

        Args:
            app: Serves the requests.
            grace_s: How long a call may still take after `close`, in seconds.
        """
        self._app = app
        self._grace_s = grace_s
        self._deadline_s = math.inf
        self._streams: set[CancelScope] = set()
        self._calls: set[CancelScope] = set()

    def close(self) -> None:
        """End idle streams now, and calls when their time is over."""
        self._deadline_s = anyio.current_time() + self._grace_s
        for stream in self._streams:
            stream.cancel()
        for call in self._calls:
            call.deadline = self._deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        group = self._streams if scope["method"] == STREAM_METHOD else self._calls
        with CancelScope(deadline=self._deadline_s) as ending:
            group.add(ending)
            try:
                await self._app(scope, receive, answer.send)
            finally:
                group.discard(ending)
        if ending.cancelled_caught:
            await answer.complete(scope, receive)


class _Answer:
    """Notes how far an answer has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = False
        self._is_complete = False

    async def send(self, message: Message) -> None:
        await self._send(message)
        # A message that was cancelled while it waited for the client to read has not been sent.
        self._is_started = True
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def complete(self, scope: Scope, receive: Receive) -> None:
        """Send what is missing of the answer."""
        if not self._is_started:
            refusal = JSONResponse({"error": "the server is shutting down"}, status_code=503)
            await refusal(scope, receive, self._send)
        elif not self._is_complete:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
