"""A fault proxy in front of an S3 service. It understands HTTP/1.1, so that every fault is of one request.

A request is read whole before anything happens to it, and an answer before it is passed on: what a proxy holds is
bounded by the size of the objects times the number of connections. Each request to the store has a connection of its
own, so no fault ever comes from a connection that the store had closed meanwhile.
"""

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import SocketStream

from tests.torture.faults import (
    CONNECTION_ENDED,
    Connections,
    FaultPlan,
    Kind,
    Proxy,
    draw,
    owned,
    reset,
    run_proxy,
)

__all__ = ["Moment", "RequestFault", "fault_of", "s3_fault_proxy"]

_KINDS: Final = (Kind.DELAY, Kind.CUT, Kind.TRUNCATE, Kind.DUPLICATE, Kind.SWALLOW, Kind.ERROR)
_RECEIVE_BYTES: Final = 1 << 18
_HEAD_BYTES_MAX: Final = 1 << 16
_REQUEST_TIMEOUT_S: Final = 60.0
"""Of a request that the proxy sends to the store; longer than any client of the bench waits."""

_BODILESS_SHARE: Final = 0.25
"""Of the requests that break off, how many do so just before their body, where stores have been found to err."""

_ERRORS: Final = {
    500: ("InternalError", "We encountered an internal error. Please try again."),
    503: ("SlowDown", "Please reduce your request rate."),
    409: ("ConditionalRequestConflict", "A conflicting operation occurred during the request."),
}


class Moment(StrEnum):
    """When a fault happens, as seen from the store."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class RequestFault:
    """What happens to one request. `dice` decides the rest: places, lengths, durations.

    Attributes:
        kind: delay, cut, truncate, duplicate, swallow or error.
        moment: delay and cut: before the store acts, within the request (cut alone), or after. duplicate: within is
            at once, after is later. error: before is an answer in the store's stead, after one in place of its own.
        status: Of an error.
        dice: The source of further choices.
    """

    kind: Kind
    moment: Moment
    status: int
    dice: random.Random


def fault_of(plan: FaultPlan, *, number: int, method: str) -> RequestFault | None:
    """Return what happens to the request with this number, counted from 0 in the order of arrival."""
    dice = plan.dice("request", number)
    kind = draw(plan, dice, *_KINDS)
    if kind is None:
        return None
    moments = {
        Kind.DELAY: (Moment.BEFORE, Moment.AFTER),
        Kind.CUT: (Moment.BEFORE, Moment.WITHIN, Moment.AFTER),
        Kind.DUPLICATE: (Moment.WITHIN, Moment.AFTER),
        Kind.ERROR: (Moment.BEFORE, Moment.AFTER),
    }
    moment = dice.choice(moments.get(kind, (Moment.AFTER,)))
    status = dice.choice((500, 503, 409) if method == "PUT" else (500, 503))
    # Only an internal error may come after the store has acted; the other two say that it has not.
    return RequestFault(kind, moment, 500 if moment is Moment.AFTER else status, dice)


@contextmanager
def s3_fault_proxy(upstream: str, plan: FaultPlan) -> Generator[Proxy]:
    """Run a proxy in front of the service at the URL `upstream` until the block ends.

    delay: the request or the answer is held back for a while. cut: the connection is reset before the request reaches
    the store, when the store has got a part of it, or when it has acted. truncate: the store acts, a part of its answer
    comes and then the end of the connection. duplicate: the store gets the request twice, at once (either answer is
    passed on) or again later (its answer is dropped). swallow: the store acts, and no answer comes on an open
    connection. error: 500, 503 or, for PUT, 409 although the store was not asked, or 500 although it has acted.
    """
    address = urlsplit(upstream)
    store = _Store(address.hostname or "127.0.0.1", address.port or 80)

    async def serve(client: SocketStream, connections: Connections) -> None:
        await _Connection(client, store, connections).run()

    with run_proxy(plan, serve) as proxy:
        yield proxy


@dataclass(frozen=True, slots=True)
class _Request:
    head: h11.Request
    body: bytes


@dataclass(frozen=True, slots=True)
class _Answer:
    head: h11.Response
    body: bytes


@dataclass(frozen=True, slots=True)
class _Store:
    host: str
    port: int

    async def act(self, request: _Request) -> _Answer:
        """Send a request and return the whole answer.

        Raises:
            OSError, BrokenResourceError, EndOfStream: the store is not there, or did not answer whole.
        """
        wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES_MAX)
        with anyio.fail_after(_REQUEST_TIMEOUT_S):
            async with owned(await anyio.connect_tcp(self.host, self.port)) as stream:
                await stream.send(_request_bytes(wire, request))
                head, body = None, bytearray()
                while True:
                    match await _next_event(wire, stream):
                        case h11.Response() as head:
                            pass
                        case h11.Data(data=data):
                            body += data
                        case h11.EndOfMessage() if head is not None:
                            # A reset leaves no trace of the connection, so that thousands a minute use up no ports.
                            reset(stream)
                            return _Answer(head, bytes(body))
                        case h11.ConnectionClosed():
                            raise anyio.EndOfStream
                        case _:
                            pass

    async def break_off(self, request: _Request, dice: random.Random) -> None:
        """Send a part of a request, a part of its body if it has one, and end the connection.

        It ends in order: a reset could overtake the part that the store shall get.
        """
        wire = h11.Connection(h11.CLIENT)
        whole = _request_bytes(wire, request)
        body_from = len(whole) - len(request.body)
        is_bodiless = dice.random() < _BODILESS_SHARE
        last = body_from + 1 if is_bodiless else len(whole)
        length = dice.randrange(body_from, last) if request.body else dice.randrange(1, len(whole))
        async with owned(await anyio.connect_tcp(self.host, self.port)) as stream:
            await stream.send(whole[:length])


class _Connection:
    """One client's connection: requests one after the other, each with its fault."""

    def __init__(self, client: SocketStream, store: _Store, connections: Connections) -> None:
        self._client = client
        self._store = store
        self._connections = connections
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES_MAX)

    async def run(self) -> None:
        while (request := await self._next_request()) is not None:
            number = self._connections.number("request")
            fault = None
            if not self._connections.is_calm:
                fault = fault_of(self._connections.plan, number=number, method=request.head.method.decode())
            is_answered = await (self._pass(request) if fault is None else self._meet(request, fault))
            if not is_answered or self._wire.our_state is not h11.DONE or self._wire.their_state is not h11.DONE:
                return
            self._wire.start_next_cycle()

    async def _next_request(self) -> _Request | None:
        head, body = None, bytearray()
        while True:
            event = await _next_event(self._wire, self._client)
            match event:
                case h11.Request() as head:
                    if self._wire.they_are_waiting_for_100_continue:
                        go_on = h11.InformationalResponse(status_code=100, headers=[])
                        await self._client.send(self._wire.send(go_on) or b"")
                case h11.Data(data=data):
                    body += data
                case h11.EndOfMessage() if head is not None:
                    return _Request(head, bytes(body))
                case _:
                    return None

    async def _pass(self, request: _Request) -> bool:
        return await self._reply(await self._store.act(request))

    async def _meet(self, request: _Request, fault: RequestFault) -> bool:
        """Let a fault happen; false when it ends the connection."""
        match fault.kind:
            case Kind.DELAY:
                return await self._delay(request, fault)
            case Kind.CUT:
                return await self._cut(request, fault)
            case Kind.TRUNCATE:
                return await self._truncate(request, fault)
            case Kind.DUPLICATE:
                return await self._duplicate(request, fault)
            case Kind.SWALLOW:
                await self._store.act(request)
                self._connections.count(Kind.SWALLOW)
                await self._connections.hold(self._client)
                return False
            case _:
                if fault.moment is Moment.AFTER:
                    await self._store.act(request)
                self._connections.count(Kind.ERROR)
                return await self._reply(_error(fault.status, request.head.method))

    async def _delay(self, request: _Request, fault: RequestFault) -> bool:
        self._connections.count(Kind.DELAY)
        if fault.moment is Moment.BEFORE:
            await self._connections.pause(fault.dice)
            return await self._pass(request)
        answer = await self._store.act(request)
        await self._connections.pause(fault.dice)
        return await self._reply(answer)

    async def _cut(self, request: _Request, fault: RequestFault) -> bool:
        if fault.moment is Moment.WITHIN:
            await self._store.break_off(request, fault.dice)
        elif fault.moment is Moment.AFTER:
            await self._store.act(request)
        self._connections.count(Kind.CUT)
        reset(self._client)
        return False

    async def _truncate(self, request: _Request, fault: RequestFault) -> bool:
        head, body = self._framed(await self._store.act(request))
        part = head + body[: fault.dice.randrange(len(body))] if body else head[: fault.dice.randrange(1, len(head))]
        self._connections.count(Kind.TRUNCATE)
        await self._client.send(part)
        return False

    async def _duplicate(self, request: _Request, fault: RequestFault) -> bool:
        self._connections.count(Kind.DUPLICATE)
        if fault.moment is Moment.AFTER:
            answer = await self._store.act(request)
            self._connections.later.start_soon(self._act_later, request, fault.dice)
            return await self._reply(answer)
        answers: list[_Answer] = []

        async def act() -> None:
            answers.append(await self._store.act(request))

        async with anyio.create_task_group() as both:
            both.start_soon(act)
            both.start_soon(act)
        return await self._reply(fault.dice.choice(answers))

    async def _act_later(self, request: _Request, dice: random.Random) -> None:
        await self._connections.pause(dice)
        try:
            await self._store.act(request)
        except CONNECTION_ENDED:
            return  # the store has ended before the copy arrived

    async def _reply(self, answer: _Answer) -> bool:
        await self._client.send(b"".join(self._framed(answer)))
        return True

    def _framed(self, answer: _Answer) -> tuple[bytes, bytes]:
        """Return an answer as it goes to the client: its head, and what follows."""
        head = self._wire.send(answer.head) or b""
        data = (self._wire.send(h11.Data(answer.body)) or b"") if answer.body else b""
        return head, data + (self._wire.send(h11.EndOfMessage()) or b"")


async def _next_event(wire: h11.Connection, stream: SocketStream) -> h11.Event:
    """Return the next thing that the peer says.

    Raises:
        EndOfStream, BrokenResourceError: the peer has left in the middle of a message, or speaks no HTTP.
    """
    while True:
        try:
            event = wire.next_event()
        except h11.RemoteProtocolError as error:
            raise anyio.EndOfStream from error
        if isinstance(event, h11.Event):
            return event
        try:
            wire.receive_data(await stream.receive(_RECEIVE_BYTES))
        except anyio.EndOfStream:
            wire.receive_data(b"")


def _request_bytes(wire: h11.Connection, request: _Request) -> bytes:
    """Return a request as it goes to the store. It is never asked to wait: its body is there."""
    head = request.head
    headers = [pair for pair in head.headers.raw_items() if pair[0].lower() != b"expect"]
    plain = h11.Request(method=head.method, target=head.target, headers=headers)
    pieces = [wire.send(plain) or b""]
    if request.body:
        pieces.append(wire.send(h11.Data(request.body)) or b"")
    pieces.append(wire.send(h11.EndOfMessage()) or b"")
    return b"".join(pieces)


def _error(status: int, method: bytes) -> _Answer:
    code, message = _ERRORS[status]
    body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
    return _Answer(h11.Response(status_code=status, headers=headers), b"" if method == b"HEAD" else body.encode())
