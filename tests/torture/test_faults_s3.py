"""Each fault on S3's protocol does what it says, proved against a small HTTP server."""

import http.client
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.census import Census
from tests.support.waiting import WAIT_S, wait_until
from tests.torture.faults import FaultPlan, Kind, Proxy
from tests.torture.s3_faults import Moment, RequestFault, fault_of, s3_fault_proxy

BODY = bytes(range(256)) * 400
Answer = tuple[int, bytes]


class Store:
    """What a small HTTP server has seen: whole requests, and requests that broke off."""

    def __init__(self) -> None:
        self.whole: list[tuple[str, str, bytes]] = []
        self.broken: list[bytes] = []
        self.url = ""
        self._lock = threading.Lock()

    def take(self, request: tuple[str, str, bytes]) -> int:
        """Note a whole request and return its number, counted from 1."""
        with self._lock:
            self.whole.append(request)
            return len(self.whole)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


@pytest.fixture
def store() -> Iterator[Store]:
    """A server of one test: what another one has sent may come when that is over."""
    store = Store()
    with _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": store})) as server:
        store.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        yield store
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    store: Store
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:
            self.store.broken.append(body)
            self.close_connection = True
            return
        number = self.store.take((self.command, self.path, body))
        answer = BODY if self.command in {"GET", "HEAD"} else b""
        self.send_response_only(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(answer), answer))
            return
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("X-Number", str(number))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = handle_any  # noqa: N815 - names set by http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name set by http.server
        """Keep quiet."""


def plan_with(
    kind: Kind, is_wanted: Callable[[RequestFault], bool], *, method: str, delay_s: float = 60.0
) -> FaultPlan:
    """Return a plan whose first request meets `kind` in the wanted form, and all others `kind` in some form."""
    for seed in range(1000):
        plan = FaultPlan(seed=seed, delay_s_max=delay_s, **{kind.value: 1.0})
        fault = fault_of(plan, number=0, method=method)
        if fault is not None and is_wanted(fault):
            return plan
    raise AssertionError(f"no seed gives {kind}")


@contextmanager
def requesting(proxy: Proxy, method: str, body: bytes | None = None) -> Generator[Future[Answer]]:
    """Send one request on a connection of its own; what comes of it is in the future."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)

    def send() -> Answer:
        connection.request(method, "/bucket/key", body=body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(send)
        try:
            yield future
        finally:
            future.exception(WAIT_S)
            connection.close()


def test_without_faults_one_connection_carries_requests_and_answers_of_every_form(store: Store) -> None:
    with s3_fault_proxy(store.url, FaultPlan(seed=0)) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
        connection.connect()
        kept = connection.sock
        answers: list[Answer] = []
        for method, path, body, headers in (
            ("GET", "/a%20b?x=%2F", None, {}),
            ("HEAD", "/k", None, {}),
            ("PUT", "/k", b"whole", {"Expect": "100-continue"}),
            ("GET", "/chunked", None, {}),
            ("POST", "/k", b"", {}),
        ):
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            answers.append((answer.status, answer.read()))
        assert connection.sock is kept
        connection.close()
    assert answers == [(200, BODY), (200, b""), (200, b""), (200, BODY), (200, b"")]
    assert store.whole == [
        ("GET", "/a%20b?x=%2F", b""),
        ("HEAD", "/k", b""),
        ("PUT", "/k", b"whole"),
        ("GET", "/chunked", b""),
        ("POST", "/k", b""),
    ]
    assert not proxy.injected


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(store: Store) -> None:
    head = b"PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    with (
        s3_fault_proxy(store.url, FaultPlan(seed=0)) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S) as client,
    ):
        client.sendall(head)
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"after")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert store.whole == [("PUT", "/k", b"after")]


def test_a_request_in_chunks_reaches_the_store_in_chunks(store: Store) -> None:
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take_one() -> None:
            peer, _ = listener.accept()
            with peer:
                data = b""
                while not data.endswith(b"0\r\n\r\n"):
                    data += peer.recv(4096)
                received.append(data)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=take_one)
        thread.start()
        upstream = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with s3_fault_proxy(upstream, FaultPlan(seed=0)) as proxy:
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
            headers = {"Transfer-Encoding": "chunked"}
            connection.request("PUT", "/k", body=iter([b"in ", b"pieces"]), headers=headers, encode_chunked=True)
            assert connection.getresponse().status == 200
            connection.close()
        thread.join(WAIT_S)
    assert b"9\r\nin pieces\r\n0\r\n" in received[0]


def test_a_delay_before_the_store_acts_holds_the_request_back(store: Store) -> None:
    plan = plan_with(Kind.DELAY, lambda fault: fault.moment is Moment.BEFORE, method="PUT")
    with s3_fault_proxy(store.url, plan) as proxy, requesting(proxy, "PUT", b"x") as answer:
        wait_until(lambda: proxy.injected[Kind.DELAY] == 1)
        assert (store.whole, answer.done()) == ([], False)
        proxy.calm()
        assert answer.result(WAIT_S) == (200, b"")
    assert store.whole == [("PUT", "/bucket/key", b"x")]


def test_a_delay_after_the_store_has_acted_holds_the_answer_back(store: Store) -> None:
    plan = plan_with(Kind.DELAY, lambda fault: fault.moment is Moment.AFTER, method="PUT")
    with s3_fault_proxy(store.url, plan) as proxy, requesting(proxy, "PUT", b"x") as answer:
        wait_until(lambda: store.whole == [("PUT", "/bucket/key", b"x")])
        assert not answer.done()
        proxy.calm()
        assert answer.result(WAIT_S) == (200, b"")
    assert proxy.injected == {Kind.DELAY: 1}


@pytest.mark.parametrize(
    ("moment", "whole", "broken"), [(Moment.BEFORE, 0, 0), (Moment.WITHIN, 0, 1), (Moment.AFTER, 1, 0)]
)
def test_a_cut_leaves_the_store_with_nothing_a_part_or_the_whole(
    store: Store, moment: Moment, whole: int, broken: int
) -> None:
    plan = plan_with(Kind.CUT, lambda fault: fault.moment is moment, method="PUT")
    with s3_fault_proxy(store.url, plan) as proxy, requesting(proxy, "PUT", BODY) as answer:
        assert isinstance(answer.exception(WAIT_S), ConnectionError)
        wait_until(lambda: (len(store.whole), len(store.broken)) == (whole, broken))
    assert all(len(part) < len(BODY) and BODY.startswith(part) for part in store.broken)
    assert proxy.injected == {Kind.CUT: 1}


def test_a_truncated_answer_ends_in_the_middle_of_its_body(store: Store) -> None:
    with (
        s3_fault_proxy(store.url, FaultPlan(seed=3, truncate=1.0)) as proxy,
        requesting(proxy, "GET") as answer,
    ):
        error = answer.exception(WAIT_S)
        assert isinstance(error, http.client.IncompleteRead)
        assert BODY.startswith(error.partial)
    assert (len(store.whole), proxy.injected) == (1, {Kind.TRUNCATE: 1})


def test_a_truncated_answer_without_a_body_ends_in_its_head(store: Store) -> None:
    with (
        s3_fault_proxy(store.url, FaultPlan(seed=3, truncate=1.0)) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S) as client,
    ):
        client.sendall(b"HEAD /k HTTP/1.1\r\nHost: h\r\n\r\n")
        got = b"".join(iter(lambda: client.recv(100), b""))
    assert b"HTTP/1.1 200 OK\r\n".startswith(got[:17])
    assert not got.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("moment", [Moment.WITHIN, Moment.AFTER])
def test_a_duplicate_reaches_the_store_twice_and_is_answered_once(store: Store, moment: Moment) -> None:
    plan = plan_with(Kind.DUPLICATE, lambda fault: fault.moment is moment, method="PUT", delay_s=0.01)
    with s3_fault_proxy(store.url, plan) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
        connection.request("PUT", "/bucket/key", body=b"twice")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        wait_until(lambda: store.whole == [("PUT", "/bucket/key", b"twice")] * 2)
        proxy.calm()
        connection.request("GET", "/bucket/key")
        assert connection.getresponse().read() == BODY
        connection.close()
    assert proxy.injected == {Kind.DUPLICATE: 1}


def test_of_two_duplicates_at_once_either_answer_is_passed_on(store: Store) -> None:
    numbers: set[str | None] = set()
    for seed in range(40):
        plan = FaultPlan(seed=seed, duplicate=1.0, delay_s_max=0.0)
        fault = fault_of(plan, number=0, method="PUT")
        if fault is None or fault.moment is not Moment.WITHIN:
            continue
        store.whole.clear()
        with s3_fault_proxy(store.url, plan) as proxy:
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
            connection.request("PUT", "/bucket/key", body=b"twice")
            numbers.add(connection.getresponse().getheader("X-Number"))
            connection.close()
        if numbers == {"1", "2"}:
            break
    assert numbers == {"1", "2"}


def test_a_swallowed_answer_never_comes_and_the_connection_stays_until_faults_are_over(store: Store) -> None:
    with (
        s3_fault_proxy(store.url, FaultPlan(seed=0, swallow=1.0)) as proxy,
        requesting(proxy, "PUT", b"x") as answer,
    ):
        wait_until(lambda: proxy.injected[Kind.SWALLOW] == 1)
        assert (len(store.whole), answer.done()) == (1, False)
        proxy.calm()
        assert isinstance(answer.exception(WAIT_S), ConnectionError)


@pytest.mark.parametrize(
    ("status", "moment", "acted"),
    [(500, Moment.BEFORE, 0), (503, Moment.BEFORE, 0), (409, Moment.BEFORE, 0), (500, Moment.AFTER, 1)],
)
def test_an_error_comes_in_the_stores_stead_or_in_place_of_its_answer(
    store: Store, status: int, moment: Moment, acted: int
) -> None:
    plan = plan_with(Kind.ERROR, lambda fault: (fault.status, fault.moment) == (status, moment), method="PUT")
    with s3_fault_proxy(store.url, plan) as proxy, requesting(proxy, "PUT", b"x") as answer:
        got, text = answer.result(WAIT_S)
    assert (got, len(store.whole), proxy.injected) == (status, acted, {Kind.ERROR: 1})
    assert {500: b"InternalError", 503: b"SlowDown", 409: b"ConditionalRequestConflict"}[status] in text


def test_an_error_to_a_head_has_no_body_and_the_connection_goes_on(store: Store) -> None:
    plan = plan_with(Kind.ERROR, lambda fault: fault.moment is Moment.BEFORE, method="HEAD")
    with s3_fault_proxy(store.url, plan) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
        connection.request("HEAD", "/bucket/key")
        answer = connection.getresponse()
        assert (answer.status // 100, answer.read()) == (5, b"")
        proxy.calm()
        connection.request("GET", "/bucket/key")
        assert connection.getresponse().read() == BODY
        connection.close()


def test_only_a_put_meets_a_conflict() -> None:
    plan = FaultPlan(seed=0, error=1.0)

    def statuses(method: str) -> set[int]:
        faults = (fault_of(plan, number=number, method=method) for number in range(200))
        return {fault.status for fault in faults if fault is not None}

    assert (statuses("GET"), statuses("PUT")) == ({500, 503}, {500, 503, 409})


def test_the_seed_alone_decides_and_rates_are_kept() -> None:
    def kinds(seed: int) -> list[Kind | None]:
        plan = FaultPlan.even(0.1, seed=seed)
        faults = (fault_of(plan, number=number, method="PUT") for number in range(1000))
        return [None if fault is None else fault.kind for fault in faults]

    assert kinds(7) == kinds(7)
    assert kinds(7) != kinds(8)
    faults = kinds(7)
    assert all(70 < faults.count(kind) < 130 for kind in Kind if kind is not Kind.REFUSE)


def test_a_plan_that_promises_more_than_is_possible_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1"):
        FaultPlan(seed=0, cut=0.6, delay=0.5)


def test_the_end_of_a_proxy_leaves_no_thread_and_no_socket(store: Store) -> None:
    before = Census.take()
    clients: list[socket.socket] = []
    with s3_fault_proxy(store.url, FaultPlan(seed=0, swallow=0.5, delay=0.5, delay_s_max=60.0)) as proxy:
        for _ in range(20):
            clients.append(socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S))
            clients[-1].sendall(b"PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
        wait_until(lambda: proxy.injected.total() == 20)
    for client in clients:
        client.close()
    before.wait_until_back()
