import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import to_thread
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from backends.generic import GenericBackend, open_generic
from backends.options import FsspecOptions
from fs_core.digest import content_digest
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)
from fs_core.protocol import Guard
from fs_core.types import Always, FileKind, IfAbsent, Target, Version
from tests.support.scripted_fsspec import (
    OPTIONS,
    Endless,
    Scripted,
    ScriptedFileSystem,
    at,
    ignore,
    impatient,
    opened,
    scripted_store,
)
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def script() -> Iterator[Scripted]:
    with scripted_store() as script:
        yield script


class Gate:
    """A store that hangs until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, path: str) -> None:
        del path
        self.entered.set()
        self.open.wait(2 * WAIT_S)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


async def _give_up_a_look(backend: GenericBackend, target: Target, gate: Gate) -> None:
    """Cancel a call that hangs in the store."""
    gate.entered.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(backend.stat, target)
        await to_thread.run_sync(gate.entered.wait)
        group.cancel_scope.cancel()


async def test_stuck_store_is_unavailable_and_the_next_call_gets_a_new_one(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://") as backend:
        target = await at(backend, "a")
        script.info_hook = gate
        with impatient(backend, timeout_s=0.2), pytest.raises(Unavailable, match=r"no answer within 0\.2 s"):
            await backend.stat(target)
        script.info_hook = str
        assert (await backend.read(target)).data == b"hello"
    assert ScriptedFileSystem.made == 2


async def test_threads_left_behind_are_bounded(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://", FsspecOptions(concurrency_max=1)) as backend:
        target = await at(backend, "a")
        earlier = set(threading.enumerate())
        script.info_hook = gate
        for _ in range(2):
            await _give_up_a_look(backend, target, gate)
        with pytest.raises(Unavailable, match="still hang"):
            await backend.stat(target)
        left = [t for t in threading.enumerate() if t.name == "seamfs-generic" and t not in earlier]
        assert len(left) == 2
        script.info_hook = str
        gate.open.set()
        for thread in left:
            await to_thread.run_sync(thread.join, WAIT_S)
        assert (await backend.read(target)).data == b"hello"


async def test_cancelled_call_returns_at_once_although_the_store_hangs(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://", FsspecOptions(request_timeout_s=60)) as backend:
        target = await at(backend, "a")
        script.info_hook = gate
        with anyio.fail_after(WAIT_S):
            await _give_up_a_look(backend, target, gate)
        script.info_hook = str
        assert (await backend.read(target)).data == b"hello"


async def test_cancelled_scan_feeds_its_sink_no_more(script: Scripted) -> None:
    script.files, script.details, script.open = {"a": b""}, {"a": {"size": None}}, Endless
    pieces: list[int] = []
    first = threading.Event()

    def sink(data: bytes | bytearray) -> None:
        pieces.append(len(data))
        first.set()

    async with opened("scripted://", FsspecOptions(write_size_bytes_max=1 << 50)) as backend:
        target = await at(backend, "a")
        async with anyio.create_task_group() as group:
            group.start_soon(backend.scan, target, sink)
            await to_thread.run_sync(first.wait)
            group.cancel_scope.cancel()
        seen = len(pieces)
        assert await backend.stat(target) is not None
    assert 0 < len(pieces) == seen


async def test_closed_backend_is_unavailable_and_closing_twice_is_nothing(script: Scripted) -> None:
    script.files = {"a": b"hello"}
    backend = await open_generic("scripted://", OPTIONS)
    target = await at(backend, "a")
    await backend.aclose()
    await backend.aclose()
    with pytest.raises(Unavailable, match="closed"):
        await backend.read(target)


# Contract


@pytest.mark.parametrize("condition", [Always(), IfAbsent()])
async def test_every_write_is_unsupported_in_one_line(script: Scripted, condition: Always | IfAbsent) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://") as backend:
        capabilities = backend.capabilities
        with pytest.raises(Unsupported) as caught:
            await backend.write(await at(backend, "new"), b"x", condition=condition)
    assert str(caught.value) == "new: cannot be written: scripted:// is open for reading only"
    assert (capabilities.create, capabilities.replace) == (Guard.NONE, Guard.NONE)
    assert script.files == {"a": b"hello"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("scripted://root/", "scripted://root"),
        ("scripted://", "scripted://"),
    ],
)
async def test_root_is_the_url_as_given(script: Scripted, url: str, shown: str) -> None:
    script.files, script.file_types = {"root": b"", "root/a": b"x", "a": b"x"}, {"root": "directory"}
    async with opened(url) as backend:
        assert backend.root.url == shown
        assert (await at(backend, f"{shown.rstrip('/')}/a")).key == "a"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("ftp://me:hunter2@host/", Unsupported),
        ("http://host/a?signature=hunter2", Unsupported),
        ("http://[::1]:8000/", Unsupported),
        ("github://nothing", Unsupported),
    ],
)
async def test_urls_that_cannot_be_opened_are_refused_in_one_line(url: str, error: type[FsError]) -> None:
    with pytest.raises(error) as caught:
        await open_generic(url, OPTIONS)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_fsspec_memory_hostile_names_are_marked_and_staged_ones_hidden() -> None:
    store = MemoryFileSystem()
    names = ["ok.txt", "..", "nul\0", "a::b", "line\nbreak", ".seamfs-0123456789abcdef.lock"]
    for name in names:
        store.store[f"/hostile/{name}"] = MemoryFile(store, f"/hostile/{name}", b"x")
    try:
        async with opened("memory://hostile") as backend:
            listing = await backend.list(await at(backend, "."), limit=10)
    finally:
        store.store.clear()
    assert {entry.name: entry.addressable for entry in listing.entries} == {
        "..": False,
        "a::b": False,
        "line\nbreak": True,
        "nul\0": False,
        "ok.txt": True,
    }


async def test_listing_from_elsewhere_never_becomes_a_name_below(script: Scripted) -> None:
    script.files = {"root": b""}
    script.file_types = {"root": "directory"}
    listed = [
        "root/a",
        "root/x/y",
        "root/../../etc/passwd",
        "/etc/passwd",
        "root",
        "root/",
        "rootless/b",
        "root/\ud800",
    ]
    script.entries = [{"name": name, "type": "file", "size": 1} for name in listed]
    async with opened("scripted://root") as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
    assert [entry.name for entry in listing.entries if entry.addressable] == ["a"]
    assert {"x/y", "../../etc/passwd"} <= {entry.name for entry in listing.entries}


async def test_without_version_metadata_the_digest_is_the_unsettled_version(script: Scripted) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://") as backend:
        target = await at(backend, "a")
        whole = await backend.read(target)
        part = await backend.read(target, offset=1, limit=3, pinned=whole.version)
        info = await backend.stat(target)
        script.files = {"a": b"HELLO"}
        with pytest.raises(StaleVersion):
            await backend.read(target, offset=1, limit=3, pinned=whole.version)
    assert (part.data, part.version) == (b"ell", whole.version)
    assert whole.version == Version(f"digest:{content_digest(b'hello')}")
    assert not whole.version.settled
    assert info is not None
    assert info.version is not None
    assert whole.version.same_content(info.version) is None


@pytest.mark.parametrize(
    ("detail", "is_settled"),
    [({"ETag": '"x"'}, True), ({"sha": "x"}, True), ({"ETag": 'W/"x"'}, False), ({"mtime": 1.0}, False), ({}, False)],
)
async def test_version_is_settled_by_content_evidence_alone(
    script: Scripted, detail: dict[str, Any], is_settled: bool
) -> None:
    script.files, script.details = {"a": b"hello"}, {"a": detail}
    async with opened("scripted://") as backend:
        snapshot = await backend.read(await at(backend, "a"))
    assert snapshot.version.settled is is_settled


async def test_unknown_size_is_read_to_the_end_within_the_bound(script: Scripted) -> None:
    script.files, script.details = {"a": b"0123456789", "b": bytes(2000)}, {"a": {"size": None}, "b": {"size": None}}
    async with opened("scripted://", FsspecOptions(write_size_bytes_max=1000)) as backend:
        info = await backend.stat(await at(backend, "a"))
        part = await backend.read(await at(backend, "a"), offset=3, limit=2)
        for call in (backend.read, partial(backend.scan, sink=ignore)):
            with pytest.raises(TooLarge):
                await call(await at(backend, "b"))
    assert info is not None
    assert info.size_bytes is None
    assert (part.data, part.size_bytes) == (b"34", 10)


async def test_fewer_bytes_than_announced_are_no_file(script: Scripted) -> None:
    script.files, script.details = {"a": b"hello"}, {"a": {"size": 9, "ETag": "x"}}
    async with opened("scripted://") as backend:
        with pytest.raises(IoFault, match="announced 9 bytes and sent 5"):
            await backend.read(await at(backend, "a"))
        with pytest.raises(IoFault):
            await backend.read(await at(backend, "a"), offset=2, limit=6)


async def test_file_changing_once_during_a_read_is_read_again(script: Scripted) -> None:
    script.files, script.details = {"a": b"old"}, {"a": {"ETag": "1"}}
    looks = iter(["1", "2", "2", "2"])
    script.info_hook = lambda path: script.details.update({path: {"ETag": next(looks)}})
    async with opened("scripted://") as backend:
        snapshot = await backend.read(await at(backend, "a"))
    assert snapshot.data == b"old"
    assert next(looks, None) is None


async def test_file_changing_without_end_is_stale(script: Scripted) -> None:
    script.files = {"a": b"old"}
    tick = iter(range(1000))
    script.info_hook = lambda path: script.details.update({path: {"ETag": next(tick)}})
    async with opened("scripted://") as backend:
        target = await at(backend, "a")
        with pytest.raises(StaleVersion):
            await backend.read(target)
        with pytest.raises(StaleVersion):
            await backend.scan(target, ignore)


async def test_other_kinds_are_no_regular_files(script: Scripted) -> None:
    script.files, script.file_types = {"a": b""}, {"a": "link"}
    async with opened("scripted://") as backend:
        info = await backend.stat(await at(backend, "a"))
        with pytest.raises(NotRegularFile):
            await backend.read(await at(backend, "a"))
    assert info is not None
    assert (info.kind, info.version) == (FileKind.OTHER, None)


def status_error(status: int) -> Exception:
    error = Exception("https://user:hunter2@host/?signature=abc")
    error.status = status  # type: ignore[attr-defined]
    return error


def caused(cause: Exception) -> Exception:
    error = FileNotFoundError("x")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (FileNotFoundError("x"), NotFound),
        (NotADirectoryError("x"), NotFound),
        (IsADirectoryError("x"), NotRegularFile),
        (PermissionError("x"), PermissionDenied),
        (TimeoutError("x"), Unavailable),
        (ConnectionResetError("x"), Unavailable),
        (OSError(113, "No route to host"), Unavailable),
        (socket.gaierror(-2, "Name or service not known"), Unavailable),
        (OSError(36, "File name too long"), InvalidPath),
        (OSError(5, "Input/output error"), IoFault),
        (NotImplementedError("x"), Unsupported),
        (ModuleNotFoundError("x", name="x"), Unsupported),
        (MemoryError(), TooLarge),
        (KeyError("x"), IoFault),
        (caused(ConnectionRefusedError("x")), Unavailable),
        (caused(status_error(404)), NotFound),
        (status_error(401), Unavailable),
        (status_error(403), PermissionDenied),
        (status_error(404), NotFound),
        (status_error(414), InvalidPath),
        (status_error(429), Unavailable),
        (status_error(503), Unavailable),
        (status_error(418), IoFault),
    ],
    ids=repr,
)
async def test_foreign_exception_becomes_one_error_without_its_text(
    script: Scripted, raised: Exception, expected: type[FsError]
) -> None:
    def fail(path: str) -> None:
        raise raised

    script.info_hook = fail
    async with opened("scripted://") as backend:
        with pytest.raises(expected) as caught:
            await backend.read(await at(backend, "a"))
    assert type(caught.value) is expected
    assert "hunter2" not in str(caught.value)
    assert "signature" not in str(caught.value)
    assert caught.value.__cause__ is raised


async def test_what_a_sink_raises_ends_the_scan_unchanged(script: Scripted) -> None:
    script.files = {"a": b"hello"}

    def sink(data: bytes | bytearray) -> None:
        raise LookupError("enough")

    async with opened("scripted://") as backend:
        with pytest.raises(LookupError, match="enough"):
            await backend.scan(await at(backend, "a"), sink)
