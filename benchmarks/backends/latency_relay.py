"""A TCP relay in a process of its own that delays both directions and counts the round trips that were waited for.

`python -m benchmarks.backends.latency_relay PORT RTT_S` relays to a loopback port. It writes one JSON line with its own
port, and one more for every line on standard input: `count` (what passed since the last `reset`) and `reset` (answered
when nothing is under way). The end of the input ends it.

Bytes wait half a round trip in a queue, so that as many are under way as a real line would hold. A new connection costs
the round trip that TCP's handshake would: its first bytes start when that is over. Bandwidth and TCP's slow start are
not modelled.
"""

import json
import queue
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Final

__all__ = ["Passed", "Relay", "Turns"]

_CHUNK_BYTES: Final = 256 << 10
_QUEUED_MAX: Final = 1_024
_QUIET_POLL_S: Final = 0.002


@dataclass(frozen=True, slots=True)
class Passed:
    """What a relay saw: round trips that had to follow one another, bytes of each direction, new connections."""

    turns: int
    sent_bytes: int
    received_bytes: int
    connections: int


@dataclass(slots=True)
class _Causes:
    """Of one connection: the depth at which it was made, and that of the last bytes that its server has got."""

    epoch: int
    made: int
    at_server: int = 0


@dataclass(slots=True)
class Turns:
    """How deep the longest chain of cause and effect is, as Lamport's clocks tell it.

    What a client sends may depend on every answer that it has had, and an answer on every request that its server has
    had on that connection. So bytes sent have the depth of the deepest answer delivered plus one, and an answer has
    the depth of the deepest request delivered. `delivered` is the depth of the deepest answer that the client has:
    requests whose answers nobody waited for are not in it, and a chain takes no fewer round trips than it is deep.
    """

    epoch: int = 0
    delivered: int = 0

    def connected(self) -> _Causes:
        """Note a new connection, whose handshake is a round trip."""
        return _Causes(self.epoch, made=self.delivered + 1)

    def sent(self, causes: _Causes) -> int:
        """Return the depth of bytes that the client has just sent."""
        self._forget(causes)
        return max(self.delivered, causes.made) + 1

    def answered(self, causes: _Causes) -> int:
        """Return the depth of bytes that the server has just sent; a greeting needs no request."""
        self._forget(causes)
        return max(causes.at_server, causes.made + 1 if causes.made else 0)

    def forwarded(self, causes: _Causes, depth: int) -> None:
        """Note that bytes of that depth are at the server."""
        self._forget(causes)
        causes.at_server = max(causes.at_server, depth)

    def returned(self, depth: int) -> None:
        """Note that bytes of that depth are at the client."""
        self.delivered = max(self.delivered, depth)

    def reset(self) -> None:
        """Count from zero; nothing is under way."""
        self.epoch += 1
        self.delivered = 0

    def _forget(self, causes: _Causes) -> None:
        """Drop what a connection remembers from before a reset."""
        if causes.epoch != self.epoch:
            causes.epoch, causes.made, causes.at_server = self.epoch, 0, 0


@dataclass(slots=True)
class Relay:
    """Relays to `port` of loopback with a round trip of `rtt_s`."""

    port: int
    rtt_s: float
    turns: Turns = field(default_factory=Turns)
    sent_bytes: int = 0
    received_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _connections: int = 0
    _used_at_s: float = 0.0

    def serve(self, listener: socket.socket) -> None:
        """Accept until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._connect, args=(client, time.monotonic()), daemon=True).start()

    def count(self) -> Passed:
        """Return what passed since the last reset."""
        with self._lock:
            return Passed(self.turns.delivered, self.sent_bytes, self.received_bytes, self._connections)

    def reset(self) -> None:
        """Wait until all that was sent has been answered, then count from zero."""
        quiet_s = 1.5 * self.rtt_s + 0.01
        while True:
            with self._lock:
                if time.monotonic() - self._used_at_s > quiet_s:
                    self.turns.reset()
                    self.sent_bytes = self.received_bytes = self._connections = 0
                    return
            time.sleep(_QUIET_POLL_S)

    def _connect(self, client: socket.socket, accepted_at_s: float) -> None:
        with self._lock:
            causes = self.turns.connected()
            self._connections += 1
            self._used_at_s = accepted_at_s
        # The client may send when it has the second packet of the handshake, the server when it has the third.
        client_from_s, server_from_s = accepted_at_s + self.rtt_s, accepted_at_s + 1.5 * self.rtt_s
        _sleep_until(client_from_s)
        try:
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            client.close()
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(
            target=self._pump, args=(server, client, server_from_s, _Back(self, causes)), daemon=True
        )
        back.start()
        self._pump(client, server, client_from_s, _There(self, causes))
        back.join()
        client.close()
        server.close()

    def _pump(self, source: socket.socket, sink: socket.socket, not_before_s: float, counted: "_There | _Back") -> None:
        """Take bytes and have another thread give them when they are due, until the source ends."""
        waiting: queue.Queue[tuple[float, int, bytes]] = queue.Queue(_QUEUED_MAX)
        giving = threading.Thread(target=self._give, args=(waiting, sink, counted), daemon=True)
        giving.start()
        data = b"-"
        while data:
            try:
                data = source.recv(_CHUNK_BYTES)
            except OSError:
                data = b""
            now_s = time.monotonic()
            with self._lock:
                self._used_at_s = now_s
                depth = counted.taken(len(data)) if data else 0
            waiting.put((max(now_s, not_before_s) + self.rtt_s / 2, depth, data))
        giving.join()

    def _give(
        self, waiting: "queue.Queue[tuple[float, int, bytes]]", sink: socket.socket, counted: "_There | _Back"
    ) -> None:
        while True:
            due_s, depth, data = waiting.get()
            _sleep_until(due_s)
            with self._lock:
                self._used_at_s = time.monotonic()
                counted.given(depth)
            # A broken sink is no end of this direction: its source may still be waiting to be read.
            with suppress(OSError):
                if data:
                    sink.sendall(data)
                else:
                    sink.shutdown(socket.SHUT_WR)
            if not data:
                return


@dataclass(frozen=True, slots=True)
class _There:
    """Counts what goes from a client to its server; the relay's lock is held."""

    relay: Relay
    causes: _Causes

    def taken(self, size_bytes: int) -> int:
        self.relay.sent_bytes += size_bytes
        return self.relay.turns.sent(self.causes)

    def given(self, depth: int) -> None:
        self.relay.turns.forwarded(self.causes, depth)


@dataclass(frozen=True, slots=True)
class _Back:
    """Counts what comes from a server to its client; the relay's lock is held."""

    relay: Relay
    causes: _Causes

    def taken(self, size_bytes: int) -> int:
        self.relay.received_bytes += size_bytes
        return self.relay.turns.answered(self.causes)

    def given(self, depth: int) -> None:
        self.relay.turns.returned(depth)


def _sleep_until(due_s: float) -> None:
    remaining_s = due_s - time.monotonic()
    if remaining_s > 0:
        time.sleep(remaining_s)


def main() -> None:
    """Relay until standard input ends."""
    relay = Relay(int(sys.argv[1]), float(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    threading.Thread(target=relay.serve, args=(listener,), daemon=True).start()
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    for line in sys.stdin:
        if line.strip() == "reset":
            relay.reset()
        print(json.dumps(asdict(relay.count())), flush=True)


if __name__ == "__main__":
    main()
