"""Several directories in one call: how many round trips that takes, and what a server may do to us on the way."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asyncssh import SFTPAttrs, SFTPFailure, SFTPName, SFTPNoConnection, SFTPPermissionDenied, SFTPServer

from backends.sftp import _list as listing
from backends.sftp._client import SftpClient
from backends.sftp._wire import Kind
from fs_core.errors import IoFault, NotDirectory, NotFound, PermissionDenied, SandboxDenied, Unavailable
from fs_core.paths import staged_name
from fs_core.types import Entry, FileKind, Level
from tests.support.sftp_faults import FaultyServer, RoundTrips
from tests.support.sftp_servers import SftpHarness, target_of
from tests.support.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.anyio

_FILE = SFTPAttrs(size=3, permissions=0o100644)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _levels(found: Any) -> list[Level]:
    assert all(isinstance(one, Level) for one in found), found
    return list(found)


async def test_twenty_directories_take_two_round_trips_and_all_handles_are_closed(
    sftp_harness: SftpHarness, round_trips: RoundTrips, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        sftp_harness.put(f"d{number}/a", b"x" * number)
        sftp_harness.mkdir(f"d{number}/below")
    closed: list[bytes] = []
    close_later = SftpClient.close_later

    def noting(client: SftpClient, *handles: bytes) -> None:
        closed.extend(handles)
        close_later(client, *handles)

    monkeypatch.setattr(SftpClient, "close_later", noting)
    backend = await sftp_harness.open_sftp()
    root = await target_of(backend, ".")
    directories = [backend.child(root, f"d{number}") for number in range(20)]
    round_trips.take()
    found = await backend.list_many(directories, entries_max=10, with_sizes=True)
    flights = round_trips.take_flights()
    await backend.aclose()
    assert found == [
        Level(files=["a"], directories=["below"], others=[], sizes=[number], is_complete=True) for number in range(20)
    ]
    assert [[request.kind for request in flight] for flight in flights] == [
        [Kind.OPENDIR, Kind.REALPATH, Kind.LSTAT] * 20,
        [Kind.READDIR] * 40,
    ]
    assert len(set(closed)) == len(closed) == 20


async def test_one_large_directory_among_small_ones_is_read_ahead_further_and_further(
    faulty_server: FaultyServer, round_trips: RoundTrips
) -> None:
    class Large(SFTPServer):
        async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            for number in range(1_500 if path.endswith(b"/large") else 1):
                yield SFTPName(b"%04d" % number, attrs=_FILE)

    with faulty_server(Large) as server:
        harness = server.harness()
        harness.mkdir("small")
        harness.mkdir("large")
        backend = await harness.open_sftp()
        directories = [await target_of(backend, path) for path in ("small", "large")]
        round_trips.take()
        small, large = _levels(await backend.list_many(directories, entries_max=2_000, with_sizes=True))
        flights = round_trips.take_flights()
        (cut,) = _levels(await backend.list_many(directories[1:], entries_max=7, with_sizes=True))
        await backend.aclose()
    assert (small.files, small.is_complete) == (["0000"], True)
    assert large.files == [f"{number:04}" for number in range(1_500)]
    assert large.is_complete
    assert [len(flight) for flight in flights] == [2 * 3, 2 * 2, 4, 8]
    assert (cut.files, cut.is_complete) == ([f"000{number}" for number in range(7)], False)


async def test_a_single_listing_takes_two_round_trips_and_one_more_for_links(
    sftp_harness: SftpHarness, round_trips: RoundTrips
) -> None:
    sftp_harness.put("plain/a", b"x")
    sftp_harness.link("linked/b", "nowhere")
    backend = await sftp_harness.open_sftp()
    costs: list[int] = []
    for path in ("plain", "linked"):
        target = await target_of(backend, path)
        round_trips.take()
        await backend.list(target, limit=10)
        costs.append(round_trips.take())
    await backend.aclose()
    assert costs == [2, 3]


async def test_directories_that_are_denied_or_break_off_do_not_keep_the_others(faulty_server: FaultyServer) -> None:
    class Denying(SFTPServer):
        async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            if path.endswith(b"/denied"):
                raise SFTPPermissionDenied("not for you")
            async for name in super().scandir(path):
                yield name
            if path.endswith(b"/broken"):
                raise SFTPFailure("disk on fire")

    with faulty_server(Denying) as server:
        harness = server.harness()
        for path in ("a/1", "denied/2", "broken/3", "z/4"):
            harness.put(path, b"x")
        backend = await harness.open_sftp()
        root = await target_of(backend, ".")
        directories = [backend.child(root, name) for name in ("a", "denied", "broken", "gone", "z")]
        first, denied, broken, gone, last = await backend.list_many(directories, entries_max=10, with_sizes=False)
        await backend.aclose()
    assert [level.files for level in _levels([first, last])] == [["1"], ["4"]]
    assert isinstance(denied, PermissionDenied)
    assert str(denied) == "denied: the server denies access (not for you)"
    assert isinstance(broken, IoFault)
    assert isinstance(gone, NotFound)
    assert broken.__cause__ is not None


async def test_a_server_that_lost_its_store_is_unavailable(faulty_server: FaultyServer) -> None:
    class Lost(SFTPServer):
        async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            del path
            yield SFTPName(b"a", attrs=_FILE)
            raise SFTPNoConnection("the store is gone")

    with faulty_server(Lost) as server:
        backend = await server.harness().open_sftp()
        root = await target_of(backend, ".")
        with pytest.raises(Unavailable, match="lost its store"):
            await backend.list_many([root, root], entries_max=10, with_sizes=False)
        assert (await backend.stat(root)) is not None
        await backend.aclose()


async def test_names_that_lead_elsewhere_are_marked_and_staged_ones_hidden(faulty_server: FaultyServer) -> None:
    names = [b"ok", b"..", b".", b"", b"a/b", b"/etc", b"nul\0", b"line\nbreak", b"latin-\xe9", b"n" * 300, b"ok"]

    class Odd(SFTPServer):
        async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            del path
            for name in (*names, staged_name("0123456789abcdef").encode()):
                yield SFTPName(name, attrs=_FILE)
            yield SFTPName(b"odd/link", attrs=SFTPAttrs(permissions=0o120777))
            yield SFTPName(b"unknown", attrs=SFTPAttrs())

    with faulty_server(Odd) as server:
        backend = await server.harness().open_sftp()
        (level,) = _levels(await backend.list_many([await target_of(backend, ".")], entries_max=20, with_sizes=True))
        await backend.aclose()
    assert (level.files, level.sizes, level.directories) == (["line\nbreak", "ok"], [3, 3], [])
    assert level.others == [
        Entry("/etc", FileKind.FILE, 3, addressable=False),
        Entry("a/b", FileKind.FILE, 3, addressable=False),
        Entry("latin-\\xe9", FileKind.FILE, 3, addressable=False),
        Entry("n" * 256, FileKind.FILE, 3, addressable=False),
        Entry("nul\0", FileKind.FILE, 3, addressable=False),
        Entry("odd/link", FileKind.OTHER, addressable=False, is_link=True),
        Entry("unknown", FileKind.OTHER),
    ]
    assert level.is_complete


async def test_directories_without_an_end_are_cut_or_refused(
    faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(SFTPServer):
        async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            number = 100_000
            while True:
                number -= path.endswith(b"/counting")
                yield SFTPName(b"." if path.endswith(b"/dots") else b"%06d" % number, attrs=_FILE)

    monkeypatch.setattr(listing, "_ENTRIES_READ_MAX", 2_000)
    monkeypatch.setattr(listing, "_SURPLUS_MAX", 100)
    with faulty_server(Endless) as server:
        harness = server.harness()
        for name in ("counting", "dots", "same"):
            harness.mkdir(name)
        backend = await harness.open_sftp()
        root = await target_of(backend, ".")
        directories = [backend.child(root, name) for name in ("counting", "dots", "same")]
        counting, dots, same = await backend.list_many(directories, entries_max=3, with_sizes=False)
        await backend.aclose()
    assert isinstance(counting, Level)
    assert len(counting.files) == 3
    assert sorted(counting.files) == list(counting.files)
    assert counting.files[0] <= "098000"
    assert isinstance(dots, IoFault)
    assert "without an end" in dots.reason
    assert isinstance(same, Level)
    assert (same.files, counting.is_complete, same.is_complete) == (["100000"], False, False)


async def test_answers_in_another_order_are_told_apart(
    sftp_harness: SftpHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        sftp_harness.put(f"d{number}/{number}", b"x")
    backend = await sftp_harness.open_sftp()
    root = await target_of(backend, ".")
    receive = SftpClient._receive_packet  # pyright: ignore[reportPrivateUsage] - no server at hand answers so
    held: list[tuple[int, memoryview]] = []

    def backwards(client: SftpClient) -> tuple[int, memoryview]:
        if not held:
            outstanding = client._outstanding  # pyright: ignore[reportPrivateUsage] - as above
            held.extend([receive(client) for _ in range(len(outstanding))])
        return held.pop()

    monkeypatch.setattr(SftpClient, "_receive_packet", backwards)
    directories = [backend.child(root, f"d{number}") for number in range(30)]
    found = _levels(await backend.list_many(directories, entries_max=10, with_sizes=False))
    fed: dict[int, bytes] = {}
    files = [backend.child(directory, str(number)) for number, directory in enumerate(directories)]
    refusals = await backend.read_many(files, fed.__setitem__, size_bytes_max=10)
    monkeypatch.undo()
    await backend.aclose()
    assert [level.files for level in found] == [[str(number)] for number in range(30)]
    assert (set(refusals), fed) == ({None}, dict.fromkeys(range(30), b"x"))


async def test_a_directory_that_became_a_link_after_it_was_listed_is_not_read(sftp_harness: SftpHarness) -> None:
    outside = sftp_harness.server.fresh_directory()
    (outside / "below").mkdir()
    (outside / "below" / "secret").touch()
    for path in ("itself/secret", "parent/below/1", "inside/below/1", "real/below/1", "ok/1"):
        sftp_harness.put(path, b"x")
    backend = await sftp_harness.open_sftp()
    directories = [await target_of(backend, path) for path in ("itself", "parent/below", "inside/below", "ok")]
    for name, leads_to in (("itself", str(outside)), ("parent", str(outside)), ("inside", "real")):
        (sftp_harness.directory / name).rename(outside / f"old-{name}")
        sftp_harness.link(name, leads_to)
    itself, parent, inside, ok = await backend.list_many(directories, entries_max=10, with_sizes=False)
    await backend.aclose()
    assert isinstance(itself, NotDirectory)
    assert isinstance(parent, SandboxDenied)
    assert isinstance(inside, Unavailable)
    assert inside.retryable
    assert isinstance(ok, Level)
    assert ok.files == ["1"]


async def test_a_directory_that_becomes_a_link_as_it_is_opened_is_not_read(faulty_server: FaultyServer) -> None:
    class Swapping(SFTPServer):
        def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
            (harness.directory / "d").rename(harness.directory / "old")
            harness.link("d", str(outside))
            return super().scandir(path)

    with faulty_server(Swapping) as server:
        harness = server.harness()
        outside = server.fresh_directory()
        (outside / "below").mkdir()
        (outside / "below" / "secret").touch()
        harness.put("d/below/1", b"x")
        backend = await harness.open_sftp()
        found = await backend.list_many([await target_of(backend, "d/below")], entries_max=10, with_sizes=False)
        await backend.aclose()
    assert [type(one) for one in found] == [SandboxDenied]


async def test_a_connection_that_turns_out_dead_is_replaced_once(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("d/a", b"x")
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "d")
        proxy.cut()
        (level,) = _levels(await backend.list_many([target], entries_max=10, with_sizes=False))
        await backend.aclose()
    assert (level.files, proxy.accepted) == (["a"], 2)
