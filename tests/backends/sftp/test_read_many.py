"""Several files in one call: how many round trips that takes, and what a server may do to us on the way."""

import os
import time
from typing import Any

import anyio
import pytest
from asyncssh import SFTPFailure, SFTPNoSuchFile, SFTPPermissionDenied, SFTPServer

from backends.sftp import SftpBackend
from backends.sftp import _pool as pool
from backends.sftp import _read_many as reading
from backends.sftp._wire import Kind
from fs_core.errors import (
    IoFault,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    SandboxDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
)
from fs_core.types import Target
from tests.support.cancelled_workers import noted_cancellations
from tests.support.sftp_faults import SOON_S, FaultyServer, RoundTrips, be_patient
from tests.support.sftp_servers import SftpHarness, target_of
from tests.support.tcp_proxy import tcp_proxy
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class _Fed(dict[int, bytes]):
    """A sink that takes every file once."""

    def __call__(self, index: int, data: bytes) -> None:
        assert index not in self
        self[index] = data


async def _children(backend: SftpBackend, *names: str) -> list[Target]:
    root = await target_of(backend, ".")
    return [backend.child(root, name) for name in names]


async def test_twenty_files_take_three_round_trips(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    contents = [b"%d" % number * number for number in range(20)]
    for number, data in enumerate(contents):
        sftp_harness.put(f"f{number}", data)
    backend = await sftp_harness.open_sftp()
    files = await _children(backend, *(f"f{number}" for number in range(20)))
    round_trips.take()
    fed = _Fed()
    refusals = await backend.read_many(files, fed, size_bytes_max=1_000)
    flights = round_trips.take_flights()
    await backend.aclose()
    assert refusals == [None] * 20
    assert [fed[index] for index in range(20)] == contents
    assert [[request.kind for request in flight] for flight in flights] == [
        [Kind.LSTAT] * 20,
        [Kind.OPEN] * 20 + [Kind.REALPATH] * 20,
        [Kind.FSTAT] + [Kind.READ, Kind.FSTAT] * 19,  # the first one is empty
    ]


async def test_what_is_not_to_be_read_is_not_opened(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    sftp_harness.put("a", b"a" * 10)
    sftp_harness.put("large", b"l" * 11)
    sftp_harness.mkdir("directory")
    sftp_harness.link("link", "a")
    os.mkfifo(sftp_harness.directory / "fifo")
    backend = await sftp_harness.open_sftp()
    files = await _children(backend, "large", "directory", "link", "fifo", "missing", "a")
    round_trips.take()
    fed, started_s = _Fed(), time.monotonic()
    refusals = await backend.read_many(files, fed, size_bytes_max=10)
    flights = round_trips.take_flights()
    await backend.aclose()
    assert time.monotonic() - started_s < SOON_S
    assert fed == {5: b"a" * 10}
    assert [type(one) for one in refusals] == [
        TooLarge,
        NotRegularFile,
        NotRegularFile,
        NotRegularFile,
        NotFound,
        type(None),
    ]
    assert [request.kind for request in flights[1]].count(Kind.OPEN) == 1


async def test_files_that_are_denied_vanish_or_break_off_do_not_keep_the_others(faulty_server: FaultyServer) -> None:
    opened, closed = [0], [0]

    class Denying(SFTPServer):
        def open(self, path: bytes, pflags: int, attrs: Any) -> Any:
            if path.endswith(b"/denied"):
                raise SFTPPermissionDenied("not for you")
            if path.endswith(b"/vanished"):
                raise SFTPNoSuchFile("just now")
            opened[0] += 1
            return super().open(path, pflags, attrs)

        def read(self, file_obj: Any, offset: int, size: int) -> Any:
            if file_obj.name.endswith(b"/broken"):
                raise SFTPFailure("disk on fire")
            return super().read(file_obj, offset, size)

        def close(self, file_obj: object) -> Any:
            closed[0] += 1
            return super().close(file_obj)

    names = ("a", "denied", "broken", "vanished", "z")
    with faulty_server(Denying) as server:
        harness = server.harness()
        for name in names:
            harness.put(name, name.encode())
        backend = await harness.open_sftp()
        files, fed = await _children(backend, *names), _Fed()
        _, denied, broken, vanished, _ = await backend.read_many(files, fed, size_bytes_max=1_000)
        await backend.stat(files[0])  # behind the closes
        await backend.aclose()
    assert fed == {0: b"a", 4: b"z"}
    assert isinstance(denied, PermissionDenied)
    assert str(denied) == "denied: the server denies access (not for you)"
    assert isinstance(vanished, NotFound)
    assert isinstance(broken, IoFault)
    assert broken.__cause__ is not None
    assert opened == closed == [3]


async def test_short_answers_are_continued(faulty_server: FaultyServer) -> None:
    class ShortReads(SFTPServer):
        def read(self, file_obj: object, offset: int, size: int) -> Any:
            return super().read(file_obj, offset, min(size, 3))

    with faulty_server(ShortReads) as server:
        harness = server.harness()
        harness.put("a", b"0123456789")
        harness.put("b", b"abcdefg")
        backend = await harness.open_sftp()
        fed = _Fed()
        await backend.read_many(await _children(backend, "a", "b"), fed, size_bytes_max=10)
        await backend.aclose()
    assert fed == {0: b"0123456789", 1: b"abcdefg"}


async def test_a_file_that_changes_is_read_again_behind_the_others_or_is_stale(faulty_server: FaultyServer) -> None:
    reads: list[str] = []

    class Changing(SFTPServer):
        def read(self, file_obj: Any, offset: int, size: int) -> Any:
            name = file_obj.name.rpartition(b"/")[2].decode()
            reads.append(name)
            data = super().read(file_obj, offset, size)
            if name == "always" or (name == "once" and reads.count("once") == 1):
                with harness.directory.joinpath(name).open("ab") as file:
                    file.write(b"more")
            return data

    with faulty_server(Changing) as server:
        harness = server.harness()
        for name in ("always", "once", "never"):
            harness.put(name, b"x")
        backend = await harness.open_sftp()
        fed = _Fed()
        refusals = await backend.read_many(await _children(backend, "always", "once", "never"), fed, size_bytes_max=100)
        await backend.aclose()
    assert [type(one) for one in refusals] == [StaleVersion, type(None), type(None)]
    assert list(fed.items()) == [(2, b"x"), (1, b"xmore")]
    assert reads == ["always", "once", "never", "always", "once", "always"]


async def test_contents_are_held_in_bounded_groups(
    sftp_harness: SftpHarness, round_trips: RoundTrips, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_HELD_BYTES_MAX", 100)
    sizes = [60, 40, 1, 500, 30, 30, 30]
    for number, size in enumerate(sizes):
        sftp_harness.put(str(number), bytes(size))
    backend = await sftp_harness.open_sftp()
    files, fed = await _children(backend, *map(str, range(len(sizes)))), _Fed()
    round_trips.take()
    await backend.read_many(files, fed, size_bytes_max=1_000)
    flights = round_trips.take_flights()
    await backend.aclose()
    assert [len(data) for data in fed.values()] == sizes
    groups = [[request.kind for request in flight].count(Kind.READ) for flight in flights[2:]]
    assert groups == [2, 1, 1, 3]


async def test_a_directory_that_became_a_link_after_it_was_listed_is_not_read_through(
    sftp_harness: SftpHarness,
) -> None:
    outside = sftp_harness.server.fresh_directory()
    (outside / "a").write_bytes(b"secret")
    for path in ("parent/a", "inside/a", "real/a", "ok/a"):
        sftp_harness.put(path, b"mine")
    backend = await sftp_harness.open_sftp()
    files = [await target_of(backend, path) for path in ("parent/a", "inside/a", "ok/a")]
    for name, leads_to in (("parent", str(outside)), ("inside", "real")):
        (sftp_harness.directory / name).rename(outside / f"old-{name}")
        sftp_harness.link(name, leads_to)
    fed = _Fed()
    refusals = await backend.read_many(files, fed, size_bytes_max=100)
    await backend.aclose()
    assert [type(one) for one in refusals] == [SandboxDenied, Unavailable, type(None)]
    assert fed == {2: b"mine"}


async def test_a_directory_that_becomes_a_link_after_the_look_is_not_read_through(faulty_server: FaultyServer) -> None:
    reads: list[int] = []

    class Swapping(SFTPServer):
        def open(self, path: bytes, pflags: int, attrs: Any) -> Any:
            (harness.directory / "d").rename(harness.directory / "old")
            harness.link("d", str(outside))
            return super().open(path, pflags, attrs)

        def read(self, file_obj: object, offset: int, size: int) -> Any:
            reads.append(offset)
            return super().read(file_obj, offset, size)

    with faulty_server(Swapping) as server:
        harness = server.harness()
        outside = server.fresh_directory()
        (outside / "a").write_bytes(b"secret")
        harness.put("d/a", b"mine")
        backend = await harness.open_sftp()
        fed = _Fed()
        refusals = await backend.read_many([await target_of(backend, "d/a")], fed, size_bytes_max=100)
        await backend.aclose()
    assert [type(one) for one in refusals] == [SandboxDenied]
    assert (fed, reads) == ({}, [])


async def test_after_a_lost_connection_only_what_is_left_is_read(sftp_harness: SftpHarness) -> None:
    count = reading.FILES_AT_ONCE_MAX + 5
    for number in range(count):
        sftp_harness.put(f"f{number}", b"%d" % number)
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        files, fed = await _children(backend, *(f"f{number}" for number in range(count))), _Fed()

        def sink(index: int, data: bytes) -> None:
            if not fed:
                proxy.cut()
            fed(index, data)

        refusals = await backend.read_many(files, sink, size_bytes_max=100)
        await backend.aclose()
    assert refusals == [None] * count
    assert fed == {number: b"%d" % number for number in range(count)}
    assert proxy.accepted == 2


async def test_many_reads_and_listings_from_a_frozen_server_can_be_given_up(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WIND_DOWN_S", 0.1)
    sftp_harness.put("a", b"x")
    fed = _Fed()
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        root, file = await target_of(backend, "."), await target_of(backend, "a")
        proxy.freeze()
        for call in (
            lambda: backend.read_many([file] * 3, fed, size_bytes_max=10),
            lambda: backend.list_many([root] * 3, entries_max=10, with_sizes=False),
        ):
            started_s = time.monotonic()
            with anyio.move_on_after(0.1) as scope:
                await call()
            assert scope.cancelled_caught
            assert time.monotonic() - started_s < SOON_S
        await backend.aclose()
    assert fed == {}


async def test_a_search_that_is_given_up_keeps_its_connection(
    sftp_harness: SftpHarness, round_trips: RoundTrips, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    given_up = noted_cancellations(monkeypatch)
    sftp_harness.put("a", b"x")
    fed = _Fed()
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        root, file = await target_of(backend, "."), await target_of(backend, "a")
        for call in (
            lambda: backend.read_many([file] * 3, fed, size_bytes_max=10),
            lambda: backend.list_many([root] * 3, entries_max=10, with_sizes=False),
        ):
            proxy.freeze()
            round_trips.take()
            given_up.clear()
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await until(lambda: len(round_trips.flights) == 1)
                group.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await until(given_up.is_set)
                proxy.thaw()
        assert (await backend.read(file)).data == b"x"
        await backend.aclose()
    assert (fed, proxy.accepted) == ({}, 1)


async def test_a_fault_of_the_sink_leaves_the_connection_and_closes_all_files(faulty_server: FaultyServer) -> None:
    opened, closed = [0], [0]

    class Counting(SFTPServer):
        def open(self, path: bytes, pflags: int, attrs: Any) -> Any:
            opened[0] += 1
            return super().open(path, pflags, attrs)

        def close(self, file_obj: object) -> Any:
            closed[0] += 1
            return super().close(file_obj)

    def sink(index: int, data: bytes) -> None:
        raise LookupError(index, data)

    with faulty_server(Counting) as server, tcp_proxy(server.port) as proxy:
        harness = server.harness()
        for name in "abc":
            harness.put(name, b"x")
        backend = await harness.open_through(proxy.port)
        files = await _children(backend, *"abc")
        with pytest.raises(LookupError):
            await backend.read_many(files, sink, size_bytes_max=10)
        assert (await backend.read(files[0])).data == b"x"
        await backend.aclose()
    assert proxy.accepted == 1
    assert (opened, closed[0] >= 3) == ([4], True)
