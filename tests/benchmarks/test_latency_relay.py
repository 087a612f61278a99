import socket
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks.backends.latency_relay import Passed, Turns
from benchmarks.backends.slow_link import slow_link

RTT_S = 0.04


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
        server.join(10)


def test_a_slow_line_delays_each_turn_and_holds_what_is_under_way(echo_port: int) -> None:
    with slow_link(echo_port, rtt_s=RTT_S) as link:
        with socket.create_connection(("127.0.0.1", link.port), timeout=10) as client:
            client.sendall(b"a")
            assert client.recv(1) == b"a"
            assert link.count() == Passed(turns=2, sent_bytes=1, received_bytes=1, connections=1)
            link.reset()
            started_s = time.monotonic()
            for _ in range(2):
                sent = b"b" * (1 << 20)
                sender = threading.Thread(target=client.sendall, args=(sent,))
                sender.start()
                got = b""
                while len(got) < len(sent):
                    got += client.recv(1 << 20)
                sender.join(10)
            elapsed_s = time.monotonic() - started_s
        passed = link.count()
    assert passed.sent_bytes == passed.received_bytes == 2 << 20
    assert passed.connections == 0
    # A delay for each piece of 64 KiB would take longer by far.
    assert 2 * RTT_S <= elapsed_s < 16 * RTT_S
    assert passed.turns >= 2
