"""Reading, listing and resolving: what the server may do to us on the way."""

import os
import random
import socket
import threading
import time
from pathlib import Path

import anyio
import pytest
from asyncssh import SFTPServer

from fs_core.digest import content_digest
from fs_core.errors import NotFound, NotRegularFile, SandboxDenied, StaleVersion, Unavailable
from fs_core.types import Always, FileKind, IfAbsent
from tests.support.sftp_faults import SOON_S, FaultyServer, impatient
from tests.support.sftp_servers import SftpHarness, real_server, target_of
from tests.support.tcp_proxy import tcp_proxy
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

_BIG = random.Random(7).randbytes(18 * 1024 * 1024)


async def test_more_than_one_window_arrives_whole_and_in_order(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("big", _BIG)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "big")
    pieces = bytearray()
    snapshot = await backend.read(target)
    scanned = await backend.scan(target, pieces.extend)
    await backend.aclose()
    assert snapshot.data == _BIG
    assert pieces == _BIG
    assert snapshot.version.digest == scanned.version.digest == content_digest(_BIG)


async def test_keys_are_exchanged_again_in_the_middle_of_transfers(tmp_path: Path) -> None:
    with real_server(tmp_path, extra="RekeyLimit 1M\n") as server:
        harness = server.harness()
        backend = await harness.open_sftp()
        target = await target_of(backend, "big")
        await backend.write(target, _BIG, condition=IfAbsent())
        snapshot = await backend.read(target)
        await backend.aclose()
    assert snapshot.data == _BIG


async def test_short_answers_are_continued(faulty_server: FaultyServer) -> None:
    class ShortReads(SFTPServer):
        def read(self, file_obj: object, offset: int, size: int) -> bytes:
            data = super().read(file_obj, offset, min(size, 70_001))
            assert isinstance(data, bytes)
            return data

    with faulty_server(ShortReads) as server:
        harness = server.harness()
        harness.put("big", _BIG[:700_000])
        backend = await harness.open_sftp()
        target = await target_of(backend, "big")
        pieces = bytearray()
        snapshot = await backend.read(target, offset=3)
        await backend.scan(target, pieces.extend)
        await backend.aclose()
    assert snapshot.data == _BIG[3:700_000]
    assert pieces == _BIG[:700_000]


async def test_a_file_that_grows_while_it_is_read_is_never_mixed(faulty_server: FaultyServer) -> None:
    class Growing(SFTPServer):
        def read(self, file_obj: object, offset: int, size: int) -> bytes:
            data = super().read(file_obj, offset, size)
            assert isinstance(data, bytes)
            with harness.directory.joinpath("log").open("ab") as log:
                log.write(b"more")
            return data

    with faulty_server(Growing) as server:
        harness = server.harness()
        harness.put("log", b"x" * 1000)
        backend = await harness.open_sftp()
        target = await target_of(backend, "log")
        with pytest.raises(StaleVersion):
            await backend.read(target)
        with pytest.raises(StaleVersion):
            await backend.scan(target, bytearray().extend)
        await backend.aclose()


async def test_fifos_and_sockets_are_refused_at_once(sftp_harness: SftpHarness) -> None:
    os.mkfifo(sftp_harness.directory / "fifo")
    sftp_harness.link("link", "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        cwd = os.open(sftp_harness.directory, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{cwd}/socket")
        os.close(cwd)
        backend = await sftp_harness.open_sftp()
        started_s = time.monotonic()
        for name in ("fifo", "link", "socket"):
            target = await target_of(backend, name)
            info = await backend.stat(target)
            assert info is not None
            assert info.kind is FileKind.OTHER
            for refused in (
                lambda target=target: backend.read(target),
                lambda target=target: backend.scan(target, bytearray().extend),
                lambda target=target: backend.write(target, b"x", condition=Always()),
                lambda target=target: backend.write(target, b"x", condition=IfAbsent()),
            ):
                with pytest.raises(NotRegularFile):
                    await refused()
        assert time.monotonic() - started_s < SOON_S
        await backend.aclose()
    assert sftp_harness.names() == ["fifo", "link", "socket"]


async def test_a_pinned_read_of_a_whole_file_compares_content(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"one")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = (await backend.read(target)).version
    file = sftp_harness.directory / "a"
    times = (file.stat().st_atime, file.stat().st_mtime)
    file.write_bytes(b"two")
    os.utime(file, times)
    with pytest.raises(StaleVersion):
        await backend.read(target, pinned=seen)
    file.write_bytes(b"one")
    os.utime(file, (1, 1))
    assert (await backend.read(target, pinned=seen)).data == b"one"
    await backend.aclose()


async def test_a_directory_that_became_a_link_out_after_resolving_is_denied(sftp_harness: SftpHarness) -> None:
    outside = sftp_harness.server.fresh_directory()
    (outside / "a").write_bytes(b"secret")
    sftp_harness.put("d/a", b"mine")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "d/a")
    sftp_harness.delete("d/a")
    sftp_harness.delete("d")
    sftp_harness.link("d", str(outside))
    for refused in (
        lambda: backend.read(target),
        lambda: backend.stat(target),
        lambda: backend.write(target, b"x", condition=Always()),
    ):
        with pytest.raises(SandboxDenied):
            await refused()
    await backend.aclose()
    assert (outside / "a").read_bytes() == b"secret"
    assert [path.name for path in outside.iterdir()] == ["a"]


async def test_a_directory_that_became_a_link_within_the_root_asks_for_another_try(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("real/a", b"x")
    sftp_harness.put("d/a", b"x")
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "d/a")
    sftp_harness.delete("d/a")
    sftp_harness.delete("d")
    sftp_harness.link("d", "real")
    with pytest.raises(Unavailable) as refused:
        await backend.read(target)
    await backend.aclose()
    assert refused.value.retryable


async def test_a_listing_follows_links_and_shows_names_that_are_no_text(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("d/file", b"123")
    sftp_harness.mkdir("d/sub")
    for name, to in (("to-dir", "sub"), ("to-file", "file"), ("to-nothing", "missing")):
        sftp_harness.link(f"d/{name}", to)
    (sftp_harness.directory / "d" / os.fsdecode(b"latin-\xe9")).touch()
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "d")
    listing = await backend.list(target, limit=10)
    cut = await backend.list(target, limit=2)
    with pytest.raises(NotFound):
        await backend.list(await target_of(backend, "no"), limit=1)
    await backend.aclose()
    assert [(entry.name, entry.kind, entry.size_bytes) for entry in listing.entries] == [
        ("file", FileKind.FILE, 3),
        ("latin-\\xe9", FileKind.FILE, 0),
        ("sub", FileKind.DIRECTORY, None),
        ("to-dir", FileKind.DIRECTORY, None),
        ("to-file", FileKind.FILE, 3),
        ("to-nothing", FileKind.OTHER, None),
    ]
    assert [entry.addressable for entry in listing.entries] == [True, False, True, True, True, True]
    assert listing.is_complete
    assert [entry.name for entry in cut.entries] == ["file", "latin-\\xe9"]
    assert not cut.is_complete


async def test_reads_survive_a_cut_connection_once(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x")
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        for _ in range(3):
            proxy.cut()
            assert (await backend.read(target)).data == b"x"
        await backend.aclose()
    assert proxy.accepted == 4


async def test_a_frozen_server_is_unavailable_in_time_and_works_again_later(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x")
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        proxy.freeze()
        started_s = time.monotonic()
        with (
            impatient(backend, timeout_s=0.4),
            pytest.raises(Unavailable, match=r"did not answer within 0\.4 s") as refused,
        ):
            await backend.read(target)
        assert time.monotonic() - started_s < SOON_S
        assert refused.value.retryable
        proxy.thaw()
        assert (await backend.read(target)).data == b"x"
        await backend.aclose()


async def test_a_read_from_a_frozen_server_can_be_given_up_at_once(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x")
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        proxy.freeze()
        started_s = time.monotonic()
        with anyio.move_on_after(0.1) as scope:
            await backend.read(target)
        assert scope.cancelled_caught
        assert time.monotonic() - started_s < SOON_S
        await backend.aclose()


async def test_closing_ends_what_is_in_flight(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x")
    codes: list[str] = []
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port)
        target = await target_of(backend, "a")
        proxy.freeze()

        async def read() -> None:
            with pytest.raises(Unavailable) as refused:
                await backend.read(target)
            codes.append(refused.value.code)

        started_s = time.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await backend.aclose()
        assert time.monotonic() - started_s < SOON_S
    assert codes == ["FS_UNAVAILABLE"]


def _connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if type(thread).__module__.startswith("paramiko")]


async def test_idle_connections_are_closed_and_come_back(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x")
    backend = await sftp_harness.open_sftp(idle_timeout_s=0.05)
    target = await target_of(backend, "a")
    await until(lambda: not _connection_threads())
    assert (await backend.read(target)).data == b"x"
    await backend.aclose()


async def test_no_more_connections_than_allowed(sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"x" * 100_000)
    with tcp_proxy(sftp_harness.server.port) as proxy:
        backend = await sftp_harness.open_through(proxy.port, concurrency_max=2)
        target = await target_of(backend, "a")
        proxy.freeze()
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(backend.read, target)
            await until(lambda: proxy.accepted == 2)
            proxy.thaw()
        await backend.aclose()
    assert proxy.accepted == 2
