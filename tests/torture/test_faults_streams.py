"""Each fault on a stream does what it says, at the byte that the seed decides."""

import socket
import threading
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.support.census import Census
from tests.support.waiting import WAIT_S, wait_until
from tests.torture.faults import FaultPlan, Kind
from tests.torture.stream_faults import STREAM_UNIT_BYTES, Direction, planned_faults, silenced, stream_fault_proxy

DATA = bytes(range(256)) * 16


class Sink:
    """A server that greets each connection, keeps what comes, and answers nothing."""

    def __init__(self, greeting: bytes) -> None:
        self.received = bytearray()
        self.ended = threading.Event()
        self.peers: list[socket.socket] = []
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(WAIT_S)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            self._threads.append(threading.Thread(target=self._take, args=(peer,)))
            self._threads[-1].start()

    def _take(self, peer: socket.socket) -> None:
        with peer:
            try:
                peer.sendall(self._greeting)
                while data := peer.recv(65536):
                    self.received += data
            except ConnectionError:
                pass
            finally:
                self.ended.set()


@pytest.fixture
def sink() -> Iterator[Sink]:
    server = Sink(b"")
    yield server
    server.stop()


@pytest.fixture
def greeting_sink() -> Iterator[Sink]:
    server = Sink(DATA)
    yield server
    server.stop()


def first_fault(plan: FaultPlan, direction: Direction) -> int:
    """Return after how many bytes the first fault of the first connection happens; always within `DATA`."""
    return next(planned_faults(plan, connection=0, direction=direction)).at_bytes


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65536), b""))


def reads_the_end(client: socket.socket) -> bool:
    """Whether the connection ends before another byte comes; its end is a reset while some bytes are on their way."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def use(client: socket.socket) -> None:
    """Send and receive until the system says that the connection is no more."""
    while client.recv(100) == b"":
        client.sendall(b"x")


def test_without_faults_bytes_and_the_end_of_each_side_pass(greeting_sink: Sink) -> None:
    with stream_fault_proxy(greeting_sink.port, FaultPlan(seed=0)) as proxy, connected(proxy.port) as client:
        client.sendall(DATA * 50)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == DATA
        assert greeting_sink.ended.wait(WAIT_S)
    assert greeting_sink.received == DATA * 50
    assert not proxy.injected


def test_a_cut_resets_both_sides(sink: Sink) -> None:
    with stream_fault_proxy(sink.port, FaultPlan(seed=1, cut=1.0)) as proxy, connected(proxy.port) as client:
        client.sendall(DATA)
        assert sink.ended.wait(WAIT_S)
        with pytest.raises(ConnectionResetError):
            use(client)
    assert (bytes(sink.received), proxy.injected) == (b"", {Kind.CUT: 1})


def test_a_truncated_segment_arrives_in_part_and_then_the_end(sink: Sink) -> None:
    plan = FaultPlan(seed=1, truncate=1.0)
    with stream_fault_proxy(sink.port, plan) as proxy, connected(proxy.port) as client:
        client.sendall(DATA)
        assert sink.ended.wait(WAIT_S)
        assert client.recv(100) == b""
    assert (bytes(sink.received), proxy.injected) == (DATA[: first_fault(plan, "up")], {Kind.TRUNCATE: 1})


def test_a_truncated_answer_arrives_in_part_and_then_the_end(greeting_sink: Sink) -> None:
    plan = FaultPlan(seed=1, truncate=1.0)
    with stream_fault_proxy(greeting_sink.port, plan) as proxy, connected(proxy.port) as client:
        assert read_all(client) == DATA[: first_fault(plan, "down")]
        assert greeting_sink.ended.wait(WAIT_S)


def test_duplicated_bytes_arrive_twice(sink: Sink) -> None:
    plan = FaultPlan(seed=1, duplicate=1.0)
    at = first_fault(plan, "up")
    with stream_fault_proxy(sink.port, plan) as proxy, connected(proxy.port) as client:
        client.sendall(DATA)
        client.shutdown(socket.SHUT_WR)
        assert sink.ended.wait(WAIT_S)
    repeated = len(sink.received) - len(DATA)
    assert 1 <= repeated <= 64
    assert bytes(sink.received) == DATA[:at] + DATA[at - repeated : at] + DATA[at:]
    assert proxy.injected == {Kind.DUPLICATE: 1}


def test_a_delay_holds_one_direction_back_until_its_time_or_until_faults_are_over(sink: Sink) -> None:
    plan = FaultPlan(seed=1, delay=1.0, delay_s_max=600.0)
    with stream_fault_proxy(sink.port, plan) as proxy, connected(proxy.port) as client:
        client.sendall(DATA)
        wait_until(lambda: len(sink.received) == first_fault(plan, "up"))
        assert not sink.ended.is_set()
        proxy.calm()
        wait_until(lambda: bytes(sink.received) == DATA)
    assert proxy.injected == {Kind.DELAY: 1}


def test_a_silenced_connection_stays_open_until_faults_are_over(sink: Sink) -> None:
    plan = FaultPlan(seed=1, swallow=1.0)
    with stream_fault_proxy(sink.port, plan) as proxy, connected(proxy.port) as client:
        client.sendall(DATA * 100)
        wait_until(lambda: proxy.injected[Kind.SWALLOW] == 1)
        wait_until(lambda: len(sink.received) == first_fault(plan, "up"))
        assert not sink.ended.is_set()
        proxy.calm()
        assert reads_the_end(client)
        assert sink.ended.wait(WAIT_S)
        with connected(proxy.port) as other:
            other.sendall(b"passes again")
            wait_until(lambda: sink.received.endswith(b"passes again"))
    assert bytes(sink.received[:-12]) == DATA[: first_fault(plan, "up")]


def test_a_silenced_connection_ends_for_the_server_when_its_client_leaves(sink: Sink) -> None:
    with stream_fault_proxy(sink.port, FaultPlan(seed=1, swallow=1.0)) as proxy:
        with connected(proxy.port) as client:
            client.sendall(DATA)
            wait_until(lambda: proxy.injected[Kind.SWALLOW] == 1)
        assert sink.ended.wait(WAIT_S)


@pytest.mark.parametrize("is_of_both", [False, True])
def test_silence_is_of_one_direction_or_of_both(sink: Sink, is_of_both: bool) -> None:
    plan = next(
        plan
        for plan in (FaultPlan(seed=seed, swallow=1.0) for seed in range(100))
        if ("down" in silenced(plan.dice("detail", 0, "up"), "up")) == is_of_both
    )
    with stream_fault_proxy(sink.port, plan) as proxy, connected(proxy.port) as client:
        client.sendall(DATA)
        wait_until(lambda: proxy.injected[Kind.SWALLOW] == 1)
        wait_until(lambda: bool(sink.peers))
        sink.peers[0].sendall(b"answer")
        if is_of_both:
            proxy.calm()
        assert reads_the_end(client) if is_of_both else client.recv(100) == b"answer"


def test_a_refused_connection_is_reset_and_never_reaches_the_server(sink: Sink) -> None:
    with stream_fault_proxy(sink.port, FaultPlan(seed=1, refuse=1.0)) as proxy:
        # The reset may come before the call that connects has returned.
        with pytest.raises(ConnectionResetError), connected(proxy.port) as client:
            use(client)
        assert (sink.peers, proxy.injected) == ([], {Kind.REFUSE: 1})
        proxy.calm()
        with connected(proxy.port) as client:
            client.sendall(b"now")
            wait_until(lambda: bytes(sink.received) == b"now")


def test_the_seed_alone_decides_and_faults_come_all_over_the_life_of_a_connection() -> None:
    def planned(seed: int, direction: Direction) -> list[tuple[int, Kind]]:
        faults = planned_faults(FaultPlan.even(0.02, seed=seed), connection=3, direction=direction)
        return [(fault.at_bytes, fault.kind) for fault in islice(faults, 500)]

    first = planned(5, "up")
    assert first == planned(5, "up")
    assert first != planned(5, "down")
    assert first != planned(6, "up")
    positions = [at for at, _ in first]
    assert positions == sorted(set(positions))
    # Five kinds of 0.02 each: one fault in ten units.
    assert 7 < positions[-1] / STREAM_UNIT_BYTES / len(first) < 13
    assert {kind for _, kind in first} == {Kind.DELAY, Kind.CUT, Kind.TRUNCATE, Kind.DUPLICATE, Kind.SWALLOW}


def test_a_server_that_is_not_there_ends_its_clients_connection_alone(sink: Sink) -> None:
    # What is bound and does not listen refuses, and nobody else is given its port.
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with stream_fault_proxy(int(unused.getsockname()[1]), FaultPlan(seed=1)) as proxy:
            for _ in range(2):
                with connected(proxy.port) as client:
                    assert client.recv(1) == b""


def test_the_end_of_a_proxy_leaves_no_thread_and_no_socket(sink: Sink) -> None:
    before = Census.take()
    plan = FaultPlan(seed=0, swallow=0.5, delay=0.5, delay_s_max=600.0)
    with stream_fault_proxy(sink.port, plan) as proxy:
        clients = [connected(proxy.port) for _ in range(50)]
        for client in clients:
            client.sendall(DATA)
        wait_until(lambda: proxy.injected.total() == len(clients))
    for client in clients:
        client.close()
    before.wait_until_back()
