import math
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks.backends.latency_relay import Passed, Turns
from benchmarks.backends.slow_link import slow_link
from tests.support.waiting import WAIT_S

RTT_S = 0.04
TRIES_MAX = 20


def test_requests_that_go_out_together_are_one_round_trip() -> None:
    turns = Turns()
    causes = turns.connected()
    turns.reset()
    for _ in range(3):
        turns.forwarded(causes, turns.sent(causes))
    for _ in range(3):
        turns.returned(turns.answered(causes))
    assert turns.delivered == 1


def test_a_request_after_an_answer_is_one_more_round_trip_on_any_connection() -> None:
    turns = Turns()
    one, other = turns.connected(), turns.connected()
    turns.reset()
    for causes in (one, other, one):
        turns.forwarded(causes, turns.sent(causes))
        turns.returned(turns.answered(causes))
    assert turns.delivered == 3


def test_an_answer_that_did_not_come_yet_is_not_counted() -> None:
    turns = Turns()
    causes = turns.connected()
    turns.reset()
    turns.forwarded(causes, turns.sent(causes))
    turns.answered(causes)
    assert turns.delivered == 0


def test_a_greeting_takes_the_handshake_and_its_own_way() -> None:
    turns = Turns()
    turns.returned(turns.answered(turns.connected()))
    assert turns.delivered == 2


def test_a_reset_forgets_the_depth_of_connections() -> None:
    turns = Turns()
    causes = turns.connected()
    turns.forwarded(causes, turns.sent(causes))
    turns.returned(turns.answered(causes))
    turns.reset()
    turns.forwarded(causes, turns.sent(causes))
    turns.returned(turns.answered(causes))
    assert turns.delivered == 1


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server of one connection that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while data := connection.recv(1 << 16):
                    connection.sendall(data)

        server = threading.Thread(target=serve)
        server.start()
        yield listener.getsockname()[1]
        server.join(WAIT_S)


def echoed_s(client: socket.socket, sent: bytes) -> float:
    """Send bytes and return after how many seconds all of them were back."""
    started_s = time.monotonic()
    sender = threading.Thread(target=client.sendall, args=(sent,))
    sender.start()
    left = len(sent)
    while left > 0:
        left -= len(client.recv(1 << 20))
    elapsed_s = time.monotonic() - started_s
    sender.join(WAIT_S)
    return elapsed_s


def test_a_slow_line_delays_each_turn_and_holds_what_is_under_way(echo_port: int) -> None:
    with slow_link(echo_port, rtt_s=RTT_S) as link:
        with socket.create_connection(("127.0.0.1", link.port), timeout=WAIT_S) as client:
            client.sendall(b"a")
            assert client.recv(1) == b"a"
            assert link.count() == Passed(turns=2, sent_bytes=1, received_bytes=1, connections=1)
            link.reset()
            times_s: list[float] = []
            # With a delay for each piece none would take so little; this machine may hold some of them up.
            while min(times_s, default=math.inf) >= 3 * RTT_S:
                assert len(times_s) < TRIES_MAX, times_s
                times_s.append(echoed_s(client, b"b" * (1 << 20)))
        passed = link.count()
    assert min(times_s) >= RTT_S
    assert passed.sent_bytes == passed.received_bytes == len(times_s) << 20
    assert passed.connections == 0
    assert passed.turns >= len(times_s)
