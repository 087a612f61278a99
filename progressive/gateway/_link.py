"""One mounted server: connecting, listing, and trying again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from secrets import SystemRandom
from typing import Literal, TypeAlias

import anyio
from mcp import types

from progressive.gateway._connection import Changes, connected, follow, is_handshake, ping, subscribe
from progressive.gateway._definitions import Definition
from progressive.gateway._ending import Ending
from progressive.gateway._faults import reason_of
from progressive.gateway._listing import read_list
from progressive.gateway._live import Live
from progressive.gateway._secrets import Secrets
from progressive.gateway._shelf import Shelf
from progressive.gateway._text import cleaned
from progressive.gateway._tools import ToolMaker
from progressive.gateway.codes import GatewayCode
from progressive.gateway.mounts import HttpMount, Mount
from progressive.gateway.options import GatewayOptions
from tool_runtime import JsonObject, Runtime, ToolError

__all__ = ["Link", "MountState", "MountStatus"]

logger = logging.getLogger(__name__)

MountState: TypeAlias = Literal["connecting", "connected", "waiting"]

Job: TypeAlias = Callable[[], Awaitable[None]]

_random = SystemRandom()

_MESSAGE_CHARS_MAX = 1_000
_CLOSED = ConnectionError("the server closed the connection")
# The SDK may have more to tell of the calls in flight than that the connection has ended, on a busy machine later.
_LAST_ANSWERS_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MountStatus:
    """How it stands with one mount.

    Attributes:
        name: Of the mount.
        state: Whether it is connected, being connected, or waiting for the next attempt.
        tools: How many of its tools are registered; they stay while it is gone.
        skipped: How many tools it lists that are not; those beyond where the reading of a list stops are not counted.
        left_out: Which these are and why, a few lines; also that a list was not read to its end.
        reason: Why it is not connected, in one line; empty if it is, and until the first attempt is through.
        attempts: How often it was started or reached for.
    """

    name: str
    state: MountState
    tools: int
    skipped: int
    reason: str
    attempts: int
    left_out: tuple[str, ...] = ()


class Link:
    """Keeps one server connected and its tools in the runtime."""

    def __init__(self, mount: Mount, runtime: Runtime, options: GatewayOptions) -> None:
        self._mount = mount
        self._options = options
        self._secrets = Secrets.of(mount)
        maker = ToolMaker(server=mount.name, call=self._call, secrets=self._secrets, options=options)
        self._shelf = Shelf(runtime, mount.name, maker, options)
        self._live: Live | None = None
        self._state: MountState = "connecting"
        self._reason = ""
        self._reason_logged = ""
        self._attempts = 0
        self._failures = 0
        self._retry_at_s: float | None = None
        # A server that says nothing to a method it does not know costs ten seconds each time it is asked.
        self._mode = "auto"
        self._ending = Ending()
        self._attempting: anyio.CancelScope | None = None
        self._closing = anyio.Event()
        self.settled = anyio.Event()

    @property
    def status(self) -> MountStatus:
        """How it stands now."""
        return MountStatus(
            name=self._mount.name,
            state=self._state,
            tools=len(self._shelf),
            skipped=self._shelf.skipped,
            left_out=self._left_out,
            reason=self._reason,
            attempts=self._attempts,
        )

    @property
    def absence(self) -> str | None:
        """Why tools of it may be missing, and what comes next; None while it is connected."""
        if self._state == "connected":
            return None
        if not self._reason:
            return f"the server {self._mount.name} is still being connected"
        return f"the server {self._mount.name} is not connected: {self._reason}; {self._outlook()}"

    def close(self) -> None:
        """Let `run` come to its end."""
        self._closing.set()
        self._ending.seal("the gateway was closed")
        if self._state == "connecting" and self._attempting is not None:
            self._attempting.cancel()

    async def run(self) -> None:
        """Connect, again and again, until closed; then no tool of the server is left."""
        try:
            while not self._closing.is_set():
                await self._attempt()
                if not self._closing.is_set():
                    await self._wait()
        finally:
            self._live = None
            self._shelf.clear()

    async def _attempt(self) -> None:
        self._state = "connecting"
        self._attempts += 1
        self._ending = Ending()
        fault: Exception = _CLOSED
        deadline_s = anyio.current_time() + self._options.connect_timeout_s
        self._attempting = anyio.CancelScope(deadline=deadline_s)
        try:
            # An error that came together with the cancellation leaves the scope, in a group.
            with self._attempting:
                await self._hold(self._attempting, self._ending)
        except Exception as error:  # noqa: BLE001 - whatever a foreign server brings about concerns its mount alone
            fault = error
        if self._attempting.cancelled_caught:
            # While closing there is a reason already, which stays.
            self._ending.seal(f"the server was not ready within {self._options.connect_timeout_s:g} s")
        if self._state == "connecting":
            self._mode = "auto"
        self._fall(reason_of(fault, self._ending, self._secrets))
        self.settled.set()
        if self._reason != self._reason_logged and not self._closing.is_set():
            self._reason_logged = self._reason
            logger.warning("mount %s: not connected: %s", self._mount.name, self._reason)

    async def _hold(self, scope: anyio.CancelScope, ending: Ending) -> None:
        """Connect, and stay so until the end; the deadline of the scope bounds the beginning and the end."""
        changes = Changes()
        async with connected(
            self._mount, self._options, mode=self._mode, ending=ending, changes=changes, secrets=self._secrets
        ) as live:
            listing = await read_list(live.client, live.tap, self._options)
            scope.deadline = float("inf")
            self._live = live  # a tool can be called from the moment when it is registered
            await self._shelf.arrange(listing)
            await self._stay(live, changes)
            scope.deadline = anyio.current_time() + self._options.close_timeout_s
            with anyio.move_on_after(_LAST_ANSWERS_S):
                await live.drained()
            live.tasks.cancel_scope.cancel()

    async def _stay(self, live: Live, changes: Changes) -> None:
        """Serve calls until the connection ends."""
        for job in self._jobs(live, changes):
            live.tasks.start_soon(self._run_job, job, live.ending)
        self._rise(live)
        started_s = anyio.current_time()
        try:
            await live.ending.wait()
        finally:
            # Also when the SDK cancels it: from here on the connection takes no more calls.
            if anyio.current_time() - started_s >= self._options.stable_after_s:
                self._failures = 0
            self._fall(reason_of(_CLOSED, live.ending, self._secrets))

    def _jobs(self, live: Live, changes: Changes) -> Iterator[Job]:
        """Yield what goes on beside the calls."""

        async def refresh() -> float:
            listing = await read_list(live.client, live.tap, self._options)
            started_s = anyio.current_time()
            await self._shelf.arrange(listing)
            return anyio.current_time() - started_s

        yield partial(follow, changes, refresh, self._options)
        if not is_handshake(live.client):
            yield partial(subscribe, live.client, changes)
        elif isinstance(self._mount, HttpMount):
            yield partial(ping, live.client, live.ending, self._options)

    async def _run_job(self, job: Job, ending: Ending) -> None:
        try:
            await job()
        except Exception as error:  # noqa: BLE001 - ends the connection with a reason
            ending.seal(reason_of(error, ending, self._secrets))

    async def _wait(self) -> None:
        """Wait for the next attempt: any time up to a bound that doubles with every failure in a row."""
        bound_s = min(self._options.backoff_max_s, self._options.backoff_initial_s * 2.0 ** min(self._failures, 60))
        self._failures += 1
        delay_s = _random.uniform(0, bound_s)
        self._retry_at_s = anyio.current_time() + delay_s
        with anyio.move_on_after(delay_s):
            await self._closing.wait()
        self._retry_at_s = None

    def _rise(self, live: Live) -> None:
        if live.ending.is_over:
            return
        self._state = "connected"
        self._reason = self._reason_logged = ""
        self._mode = "legacy" if is_handshake(live.client) else "auto"
        self.settled.set()
        logger.info(
            "mount %s: connected, %d tools; left out: %s",
            self._mount.name,
            len(self._shelf),
            "; ".join(self._left_out) or "none",
        )

    def _fall(self, reason: str) -> None:
        self._live = None
        self._state = "waiting"
        self._reason = reason

    async def _call(self, definition: Definition, arguments: JsonObject) -> types.CallToolResult:
        live = self._live
        if live is None or live.ending.is_over:
            raise ToolError(GatewayCode.TOOL_UNAVAILABLE, self._unavailable(), retryable=True)
        try:
            return await live.call(definition, arguments)
        except ToolError as error:
            message = cleaned(self._secrets.hidden_in(error.message), _MESSAGE_CHARS_MAX)
            raise ToolError(error.code, message, retryable=error.retryable) from error

    @property
    def _left_out(self) -> tuple[str, ...]:
        return tuple(map(self._secrets.hidden_in, self._shelf.left_out))

    def _unavailable(self) -> str:
        why = self._reason or "the server is not connected"
        return f"{self._mount.name}: {why}; {self._outlook()}"

    def _outlook(self) -> str:
        if self._state == "connecting":
            return "it is being connected now"
        if self._retry_at_s is None:
            return "it is tried again soon"
        return f"it is tried again in {max(0.1, self._retry_at_s - anyio.current_time()):.1f} s"
