"""Making one connection, and what goes on beside the calls while it lasts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

import anyio
from mcp import Client, MCPError, types
from mcp.client.subscriptions import SubscriptionLost
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from progressive.gateway._ending import Ending
from progressive.gateway._faults import is_cut_short
from progressive.gateway._http import http_transport
from progressive.gateway._live import Live
from progressive.gateway._secrets import Secrets
from progressive.gateway._stdio import stdio_transport
from progressive.gateway._wire import Tap
from progressive.gateway.mounts import HttpMount, Mount, StdioMount
from progressive.gateway.options import GatewayOptions

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

__all__ = ["Changes", "connected", "follow", "is_handshake", "ping", "subscribe"]

# A list that takes long to take in is read the more rarely: nine tenths of the time are for others.
_REST_FACTOR = 9
_RESUBSCRIBE_S = 5.0


class Changes:
    """Notices that the list of tools has changed; however many, they are one."""

    def __init__(self) -> None:
        self._noticed = anyio.Event()

    def notice(self) -> None:
        """Note one."""
        self._noticed.set()

    async def next(self, *, debounce_s: float) -> None:
        """Wait for one, and a moment longer for others that come with it."""
        await self._noticed.wait()
        await anyio.sleep(debounce_s)
        self._noticed = anyio.Event()


@asynccontextmanager
async def connected(
    mount: Mount, options: GatewayOptions, *, mode: str, ending: Ending, changes: Changes, secrets: Secrets
) -> AsyncGenerator[Live]:
    """Start or reach the server of a mount and agree on a revision of the protocol.

    Raises:
        Exception: Whatever the transport or the SDK meets.
    """
    is_http = isinstance(mount, HttpMount)
    taps: list[Tap] = []

    @asynccontextmanager
    async def tapped() -> AsyncGenerator[TransportStreams]:
        match mount:
            case StdioMount():
                transport = stdio_transport(mount, options, ending=ending, secrets=secrets)
            case HttpMount():
                transport = http_transport(mount, options, ending=ending)
        async with transport as (incoming, outgoing):
            taps.append(
                Tap(
                    incoming,
                    ending=ending,
                    on_change=changes.notice,
                    has_headers=is_http,
                    tools_max=options.tools_max,
                )
            )
            yield taps[0], outgoing

    info = types.Implementation(name="seamfs", version=version("seamfs"))
    # No callbacks: what a server asks of its client (a completion, an answer of the user, roots) is declined.
    async with Client(tapped(), mode=mode, cache=None, client_info=info) as client, anyio.create_task_group() as tasks:
        yield Live(server=mount.name, client=client, tap=taps[0], tasks=tasks, ending=ending)


def is_handshake(client: Client) -> bool:
    """Whether the connection was made with `initialize`."""
    return client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS


async def follow(changes: Changes, refresh: Callable[[], Awaitable[float]], options: GatewayOptions) -> None:
    """Read the list again after notices, however many come, not too often.

    Args:
        changes: The notices.
        refresh: Reads it; returns how many seconds it took to take in, without what the server took.
        options: How often.
    """
    while True:
        await changes.next(debounce_s=options.list_debounce_s)
        with anyio.fail_after(options.connect_timeout_s):
            took_s = await refresh()
        await anyio.sleep(max(options.list_interval_s, _REST_FACTOR * took_s))


async def subscribe(client: Client, changes: Changes) -> None:
    """Ask a server without sessions for notices, which one with sessions sends by itself."""
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                # What has changed since the list was read was told to nobody.
                changes.notice()
                async for _event in subscription:
                    # The tap has noticed it already.
                    pass
        except MCPError:
            # It offers no notices; then its list is what it was when the connection was made.
            return
        except SubscriptionLost:
            pass
        await anyio.sleep(_RESUBSCRIBE_S)
        # A server that is gone shows when its list is read, not when it is asked for notices.
        changes.notice()


async def ping(client: Client, ending: Ending, options: GatewayOptions) -> None:
    """Notice that an HTTP server with sessions is gone, or has forgotten the session, before a call does."""
    while True:
        await anyio.sleep(options.ping_interval_s)
        try:
            with anyio.fail_after(options.ping_interval_s):
                await client.session.send_ping()
        except TimeoutError:
            ending.seal(f"the server has not answered a ping for {options.ping_interval_s:g} s")
        except MCPError as error:
            # Any other answer, a refusal included, is a sign of life.
            if is_cut_short(error):
                ending.seal()
