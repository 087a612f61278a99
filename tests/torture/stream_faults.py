"""A fault proxy for any protocol over TCP; SFTP is what it is made for. It knows bytes and nothing of their meaning."""

import random
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

import anyio
from anyio.abc import SocketStream

from tests.torture.faults import CONNECTION_ENDED, Connections, FaultPlan, Kind, Proxy, draw, owned, reset, run_proxy

__all__ = ["STREAM_UNIT_BYTES", "Direction", "PlannedFault", "planned_faults", "silenced", "stream_fault_proxy"]

STREAM_UNIT_BYTES: Final = 4096
"""What a probability of a plan is of; about one small operation of SFTP."""

Direction = Literal["up", "down"]
"""To the server, or to the client."""

_PER_BYTES: Final = (Kind.DELAY, Kind.CUT, Kind.TRUNCATE, Kind.DUPLICATE, Kind.SWALLOW)
_REPEATED_BYTES_MAX: Final = 64
_SEGMENT_BYTES: Final = 65536


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """What happens when `at_bytes`, at least 1, have passed in one direction."""

    at_bytes: int
    kind: Kind


def planned_faults(plan: FaultPlan, *, connection: int, direction: Direction) -> Iterator[PlannedFault]:
    """Yield what will happen in one direction of one connection, in the order of the bytes, without end."""
    dice = plan.dice("stream", connection, direction)
    start = 0
    if all(plan.probability(kind) == 0 for kind in _PER_BYTES):
        return
    while True:
        kind = draw(plan, dice, *_PER_BYTES)
        within = dice.randint(1, STREAM_UNIT_BYTES)
        if kind is not None:
            yield PlannedFault(start + within, kind)
        start += STREAM_UNIT_BYTES


def silenced(dice: random.Random, direction: Direction) -> tuple[Direction, ...]:
    """Return what falls silent when bytes of `direction` are swallowed: that, or both."""
    return dice.choice(((direction,), ("up", "down")))


@contextmanager
def stream_fault_proxy(port: int, plan: FaultPlan) -> Generator[Proxy]:
    """Run a proxy in front of a port of loopback until the block ends.

    delay: one direction stands still for a while. cut: both sides are reset, in flight or not. truncate: a part of a
    segment is delivered, then both sides are closed in order. duplicate: up to 64 bytes are delivered twice. swallow:
    one direction or both fall silent and the connection stays open, until one side leaves. refuse: a new connection is
    reset before it has carried a byte.
    """

    async def serve(client: SocketStream, connections: Connections) -> None:
        number = connections.number("connection")
        dice = plan.dice("refuse", number)
        if not connections.is_calm and draw(plan, dice, Kind.REFUSE):
            connections.count(Kind.REFUSE)
            reset(client)
            return
        async with owned(await anyio.connect_tcp("127.0.0.1", port)) as server:
            await _Pair(client, server, connections, number).run()

    with run_proxy(plan, serve) as proxy:
        yield proxy


class _Pair:
    """One connection through the proxy."""

    def __init__(self, client: SocketStream, server: SocketStream, connections: Connections, number: int) -> None:
        self._client = client
        self._server = server
        self._connections = connections
        self._number = number
        self._silent: set[Direction] = set()

    async def run(self) -> None:
        """Relay until both sides have ended, or one fault ends both."""
        async with anyio.create_task_group() as tasks:

            async def end_silence() -> None:
                await self._connections.calm.wait()
                if self._silent:
                    tasks.cancel_scope.cancel()

            async def relay(direction: Direction) -> None:
                is_orderly = await self._relay(direction)
                ended.add(direction)
                if not is_orderly or len(ended) == 2:
                    tasks.cancel_scope.cancel()

            ended: set[Direction] = set()
            tasks.start_soon(end_silence)
            tasks.start_soon(relay, "up")
            tasks.start_soon(relay, "down")

    async def _relay(self, direction: Direction) -> bool:
        """Relay one direction to its end; false when that is the end of the whole connection."""
        source, sink = (self._client, self._server) if direction == "up" else (self._server, self._client)
        faults = planned_faults(self._connections.plan, connection=self._number, direction=direction)
        dice = self._connections.plan.dice("detail", self._number, direction)
        passed, fault = 0, next(faults, None)
        try:
            while True:
                data = await source.receive(_SEGMENT_BYTES)
                while fault is not None and fault.at_bytes <= passed + len(data):
                    before, data = data[: fault.at_bytes - passed], data[fault.at_bytes - passed :]
                    passed += len(before)
                    if not self._connections.is_calm and not self._silent:
                        if not await self._inject(fault.kind, direction, before, sink, dice):
                            return False
                    elif direction not in self._silent:
                        await sink.send(before)
                    fault = next(faults, None)
                passed += len(data)
                if data and direction not in self._silent:
                    await sink.send(data)
        except anyio.EndOfStream:
            if self._silent:
                return False
            await sink.send_eof()
            return True
        except CONNECTION_ENDED:
            return False

    async def _inject(
        self, kind: Kind, direction: Direction, before: bytes, sink: SocketStream, dice: random.Random
    ) -> bool:
        """Deliver `before` and let `kind` happen; false when that ends the connection."""
        if kind is Kind.SWALLOW:
            self._silent.update(silenced(dice, direction))
        self._connections.count(kind)
        if kind is Kind.CUT:
            reset(self._client)
            reset(self._server)
            return False
        await sink.send(before)
        match kind:
            case Kind.DELAY:
                await self._connections.pause(dice)
            case Kind.DUPLICATE:
                await sink.send(before[-dice.randint(1, _REPEATED_BYTES_MAX) :])
            case Kind.TRUNCATE:
                return False
            case _:
                pass
        return True
