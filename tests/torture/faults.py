"""What a fault proxy does to traffic, decided by a seed, and the loop that proxies run on.

All connections of a proxy live on one event loop in one thread: hundreds of them cost no threads of their own, what is
injected is counted without a lock, and the end of the `with` block ends every task and every socket.
"""

import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

__all__ = ["CONNECTION_ENDED", "Connections", "FaultPlan", "Kind", "Proxy", "draw", "owned", "reset", "run_proxy"]

CONNECTION_ENDED: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
"""What reading, writing or opening a connection raises when the other side is gone."""

_BACKLOG: Final = 512


class Kind(StrEnum):
    """What can happen to a request or to a connection. `ERROR` is of S3 alone, `REFUSE` of streams alone."""

    DELAY = "delay"
    CUT = "cut"
    TRUNCATE = "truncate"
    DUPLICATE = "duplicate"
    SWALLOW = "swallow"
    ERROR = "error"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How likely each kind is, and the seed that decides.

    On S3 a probability is of one request. On streams it is of `STREAM_UNIT_BYTES` that pass in one direction, and
    that of `refuse` of one new connection. Together they are at most 1.
    """

    seed: int
    delay: float = 0.0
    cut: float = 0.0
    truncate: float = 0.0
    duplicate: float = 0.0
    swallow: float = 0.0
    error: float = 0.0
    refuse: float = 0.0
    delay_s_max: float = 0.5

    def __post_init__(self) -> None:
        total = sum(self.probability(kind) for kind in Kind)
        if not 0.0 <= total <= 1.0:
            raise ValueError(f"the probabilities add up to {total:g}, more than 1")

    @classmethod
    def even(cls, probability: float, *, seed: int, delay_s_max: float = 0.5) -> "FaultPlan":
        """Return a plan in which every kind has the same probability."""
        rates = {field.name: probability for field in fields(cls) if field.name in set(Kind)}
        return cls(seed=seed, delay_s_max=delay_s_max, **rates)

    def probability(self, kind: Kind) -> float:
        """Return how likely `kind` is."""
        return float(getattr(self, kind))

    def dice(self, *place: object) -> random.Random:
        """Return the source of all choices about one place, such as a request by its number."""
        return random.Random("/".join(map(str, (self.seed, *place))))


def draw(plan: FaultPlan, dice: random.Random, *kinds: Kind) -> Kind | None:
    """Return which of `kinds` happens, or `None`."""
    left = dice.random()
    for kind in kinds:
        left -= plan.probability(kind)
        if left < 0:
            return kind
    return None


class Connections:
    """What the connections of one proxy share. Used in the proxy's loop only.

    Attributes:
        plan: What is injected.
        calm: Set when no more faults are wanted; what is held back is let go then.
        injected: How often each kind has happened.
        later: Runs what outlives its connection, until the proxy ends.
    """

    def __init__(self, plan: FaultPlan, later: TaskGroup) -> None:
        self.plan = plan
        self.calm = anyio.Event()
        self.injected: Counter[str] = Counter()
        self.later = later
        self._numbers: Counter[str] = Counter()

    @property
    def is_calm(self) -> bool:
        """Whether faults are over."""
        return self.calm.is_set()

    def number(self, what: str) -> int:
        """Return how many connections, or requests, came before this one."""
        self._numbers[what] += 1
        return self._numbers[what] - 1

    def count(self, kind: Kind) -> None:
        """Note that a fault has happened."""
        self.injected[kind] += 1

    async def pause(self, dice: random.Random) -> None:
        """Wait for a part of the longest delay, or until faults are over."""
        with anyio.move_on_after(dice.uniform(0, self.plan.delay_s_max)):
            await self.calm.wait()

    async def hold(self, stream: SocketStream) -> None:
        """Take what comes and answer nothing, until the peer leaves or faults are over."""
        async with anyio.create_task_group() as both:

            async def drain() -> None:
                try:
                    while True:
                        await stream.receive()
                except CONNECTION_ENDED:
                    both.cancel_scope.cancel()

            both.start_soon(drain)
            await self.calm.wait()
            both.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy, as the thread that started it sees it."""

    port: int
    _portal: BlockingPortal
    _connections: Connections

    @property
    def endpoint_url(self) -> str:
        """URL of the proxy, if what it speaks is HTTP."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def injected(self) -> Counter[str]:
        """How often each kind of fault has happened so far."""
        return Counter(self._connections.injected)

    def calm(self) -> None:
        """Inject nothing more; connections that were silenced are closed."""
        self._portal.call(self._connections.calm.set)


Serve = Callable[[SocketStream, Connections], Awaitable[None]]
"""Serves one connection; it is closed afterwards."""


@contextmanager
def run_proxy(plan: FaultPlan, serve: Serve) -> Generator[Proxy]:
    """Run a proxy on a free port of loopback, in a thread of its own, until the block ends."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(_listening(plan, serve)) as (port, connections),
    ):
        yield Proxy(port, portal, connections)


@asynccontextmanager
async def _listening(plan: FaultPlan, serve: Serve) -> AsyncGenerator[tuple[int, Connections]]:
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=_BACKLOG) as listener,
        anyio.create_task_group() as tasks,
    ):
        connections = Connections(plan, tasks)

        async def handle(client: SocketStream) -> None:
            async with owned(client):
                try:
                    await serve(client, connections)
                except* CONNECTION_ENDED:
                    pass  # one of the two sides has left, which ends this connection and nothing else

        tasks.start_soon(listener.serve, handle)
        yield int(listener.extra(SocketAttribute.local_port)), connections
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def owned(stream: SocketStream) -> AsyncGenerator[SocketStream]:
    """Close a connection with the block, also when the block is cancelled."""
    try:
        yield stream
    finally:
        with anyio.CancelScope(shield=True):
            await stream.aclose()


def reset(stream: SocketStream) -> None:
    """Make the end of a connection a reset: what has not been delivered is lost, and the peer's next use fails."""
    linger = struct.pack("ii", 1, 0)
    stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
