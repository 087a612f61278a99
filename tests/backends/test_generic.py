import gzip
import socket
import tarfile
import threading
import zipfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import anyio
import fsspec
import pytest
from anyio import to_thread
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from fsspec.spec import AbstractFileSystem

from backends.generic import GenericBackend, open_generic
from backends.options import FsspecOptions
from fs_core.digest import content_digest
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
    Unsupported,
)
from fs_core.paths import parse_path
from fs_core.protocol import Guard
from fs_core.types import Always, FileKind, IfAbsent, Target, Version

pytestmark = pytest.mark.anyio

OPTIONS = FsspecOptions(request_timeout_s=10)


@asynccontextmanager
async def opened(url: str, options: FsspecOptions = OPTIONS) -> AsyncGenerator[GenericBackend]:
    backend = await open_generic(url, options)
    try:
        yield backend
    finally:
        await backend.aclose()


def ignore(data: bytes) -> None:
    del data


async def at(backend: GenericBackend, path: str) -> Target:
    return await backend.resolve(parse_path(path, backend.root))


# A store in this process, registered with fsspec, that answers whatever a test wants.


@dataclass
class Scripted:
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    details: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    info_hook: Callable[[str], object] = str
    open: Callable[[bytes], BytesIO] = BytesIO
    file_types: dict[str, str] = field(default_factory=dict[str, str])


class ScriptedFileSystem(AbstractFileSystem):
    protocol = "scripted"
    script: ClassVar[Scripted] = Scripted()
    made: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - fsspec ships no types
        type(self).made += 1

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        self.script.info_hook(path)
        if path in self.script.files:
            size = len(self.script.files[path])
            kind = self.script.file_types.get(path, "file")
            return {"name": path, "type": kind, "size": size} | self.script.details.get(path, {})
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        del path, detail
        return self.script.entries

    def open(self, path: str, mode: str = "rb", **_: Any) -> BytesIO:  # pyright: ignore[reportIncompatibleMethodOverride]
        del mode
        return self.script.open(self.script.files[path])


@pytest.fixture
def script() -> Iterator[Scripted]:
    fsspec.register_implementation("scripted", ScriptedFileSystem, clobber=True)  # pyright: ignore[reportUnknownMemberType]
    ScriptedFileSystem.script = Scripted()
    ScriptedFileSystem.made = 0
    yield ScriptedFileSystem.script
    ScriptedFileSystem.script = Scripted()


# Archives


def make_zip(file: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> str:
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return f"zip://::file://{file}"


async def test_zip_whole_file_carries_digest_and_settled_version(tmp_path: Path) -> None:
    url = make_zip(tmp_path / "a.zip", {"docs/a.txt": b"hello\n"})
    async with opened(url) as backend:
        target = await at(backend, "docs/a.txt")
        snapshot = await backend.read(target)
        info = await backend.stat(target)
    assert (snapshot.data, snapshot.is_whole) == (b"hello\n", True)
    assert snapshot.version.digest == content_digest(b"hello\n")
    assert info is not None
    assert (info.kind, info.size_bytes, info.version) == (FileKind.FILE, 6, snapshot.version)
    assert snapshot.version.settled


async def test_zip_range_has_exactly_the_bytes_asked_for(tmp_path: Path) -> None:
    body = bytes(range(256)) * 1000
    url = make_zip(tmp_path / "a.zip", {"a.bin": body}, zipfile.ZIP_DEFLATED)
    async with opened(url) as backend:
        target = await at(backend, "a.bin")
        middle = await backend.read(target, offset=70_001, limit=1000)
        tail = await backend.read(target, offset=len(body) - 5, limit=100)
        past = await backend.read(target, offset=len(body) + 5, limit=100)
    assert (middle.data, middle.size_bytes) == (body[70_001:71_001], len(body))
    assert (tail.data, past.data) == (body[-5:], b"")


async def test_zip_scan_feeds_every_byte_once_in_bounded_pieces(tmp_path: Path) -> None:
    body = b"0123456789abcdef" * 20_000
    url = make_zip(tmp_path / "a.zip", {"a.bin": body}, zipfile.ZIP_DEFLATED)
    pieces: list[bytes] = []
    async with opened(url) as backend:
        scanned = await backend.scan(await at(backend, "a.bin"), pieces.append)
    assert b"".join(pieces) == body
    assert max(map(len, pieces)) <= 1 << 16
    assert (scanned.size_bytes, scanned.version.digest) == (len(body), content_digest(body))


async def test_zip_replaced_on_disk_is_opened_again(tmp_path: Path) -> None:
    url = make_zip(tmp_path / "a.zip", {"a.txt": b"old"})
    async with opened(url) as backend:
        target = await at(backend, "a.txt")
        before = await backend.read(target)
        make_zip(tmp_path / "b.zip", {"a.txt": b"newer", "b.txt": b""})
        (tmp_path / "b.zip").replace(tmp_path / "a.zip")
        after = await backend.read(target)
        listing = await backend.list(await at(backend, "."), limit=10)
        with pytest.raises(StaleVersion):
            await backend.read(target, pinned=before.version)
    assert (before.data, after.data) == (b"old", b"newer")
    assert [entry.name for entry in listing.entries] == ["a.txt", "b.txt"]


async def test_zip_list_is_sorted_and_bounded(tmp_path: Path) -> None:
    url = make_zip(tmp_path / "a.zip", {"d/b": b"12", "d/a/x": b"", "d/.seamfs-0123456789abcdef.tmp": b"", "d/c": b""})
    async with opened(url) as backend:
        listing = await backend.list(await at(backend, "d"), limit=10)
        cut = await backend.list(await at(backend, "d"), limit=2)
    assert [(e.name, e.kind, e.size_bytes) for e in listing.entries] == [
        ("a", FileKind.DIRECTORY, None),
        ("b", FileKind.FILE, 2),
        ("c", FileKind.FILE, 0),
    ]
    assert (listing.is_complete, cut.is_complete, len(cut.entries)) == (True, False, 2)


async def test_zip_root_may_be_a_directory_inside(tmp_path: Path) -> None:
    make_zip(tmp_path / "a.zip", {"d/b.txt": b"12", "e.txt": b""})
    async with opened(f"zip://d::file://{tmp_path}/a.zip") as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
        data = (await backend.read(await at(backend, "b.txt"))).data
        outside = await backend.stat(await at(backend, "e.txt"))
    assert ([e.name for e in listing.entries], data, outside) == (["b.txt"], b"12", None)


async def test_zip_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    make_zip(tmp_path / "a.zip", {"b.txt": b"12"})
    with pytest.raises(NotDirectory):
        await open_generic(f"zip://b.txt::file://{tmp_path}/a.zip", OPTIONS)


async def test_zip_missing_names_directories_and_paths_through_files(tmp_path: Path) -> None:
    url = make_zip(tmp_path / "a.zip", {"d/b.txt": b"12"})
    async with opened(url) as backend:
        assert await backend.stat(await at(backend, "none")) is None
        for path, error in (("none", NotFound), ("d", NotRegularFile), ("d/b.txt/c", NotFound)):
            with pytest.raises(error):
                await backend.read(await at(backend, path))
        for path, error in (("none", NotFound), ("d/b.txt", NotDirectory)):
            with pytest.raises(error):
                await backend.list(await at(backend, path), limit=1)


@pytest.mark.parametrize("operation", ["read", "scan"])
async def test_zip_bomb_is_too_large(tmp_path: Path, operation: str) -> None:
    url = make_zip(tmp_path / "a.zip", {"bomb": bytes(5 << 20)}, zipfile.ZIP_DEFLATED)
    assert (tmp_path / "a.zip").stat().st_size < 10_000
    seen: list[bytes] = []
    async with opened(url, FsspecOptions(write_size_bytes_max=1 << 20)) as backend:
        target = await at(backend, "bomb")
        with pytest.raises(TooLarge):
            await (backend.read(target) if operation == "read" else backend.scan(target, seen.append))
        part = await backend.read(target, offset=10, limit=100)
    assert (seen, part.data) == ([], bytes(100))


async def test_zip_broken_archive_is_one_line_io_fault(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK this is none")
    with pytest.raises(IoFault) as caught:
        await open_generic(f"zip://::file://{tmp_path}/a.zip", OPTIONS)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is not None


async def test_zip_corrupt_member_is_io_fault(tmp_path: Path) -> None:
    url = make_zip(tmp_path / "a.zip", {"a.txt": b"hello"})
    file = tmp_path / "a.zip"
    file.write_bytes(file.read_bytes().replace(b"hello", b"hallo"))
    async with opened(url) as backend:
        with pytest.raises(IoFault):
            await backend.read(await at(backend, "a.txt"))


async def test_zip_hostile_names_are_marked_and_reach_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    url = make_zip(
        tmp_path / "a.zip", {"../secret": b"planted", "a.txt": b"", "/secret": b"planted", "zip::a.txt": b""}
    )
    async with opened(url) as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
        marked = {entry.name for entry in listing.entries if not entry.addressable}
        with pytest.raises(InvalidPath):
            await at(backend, "zip::a.txt")
    assert {entry.name for entry in listing.entries} - marked <= {"a.txt", "secret"}
    assert {"..", "zip::a.txt"} <= marked


async def test_zip_that_is_missing_or_lacks_the_root_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await open_generic(f"zip://::file://{tmp_path}/none.zip", OPTIONS)
    url = make_zip(tmp_path / "a.zip", {"a.txt": b""}).replace("zip://", "zip://none")
    with pytest.raises(NotFound) as caught:
        await open_generic(url, OPTIONS)
    assert str(caught.value).startswith(f"zip://none::file://{tmp_path}/a.zip: ")


async def test_local_directory_at_the_end_of_a_chain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="opened by itself"):
        await open_generic(f"dir::file://{tmp_path}", OPTIONS)


async def test_tar_gz_members_are_read_and_devices_are_not(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("d/a.txt")
        member.size = 5
        archive.addfile(member, BytesIO(b"hello"))
        fifo = tarfile.TarInfo("d/fifo")
        fifo.type = tarfile.FIFOTYPE
        archive.addfile(fifo)
    async with opened(f"tar://::file://{tmp_path}/a.tar.gz") as backend:
        assert (await backend.read(await at(backend, "d/a.txt"))).data == b"hello"
        with pytest.raises(FsError):
            await backend.read(await at(backend, "d/fifo"))


async def test_concurrent_reads_of_one_archive_do_not_mix(tmp_path: Path) -> None:
    bodies = {f"{n}.bin": bytes([n]) * 300_000 for n in range(12)}
    url = make_zip(tmp_path / "a.zip", bodies, zipfile.ZIP_DEFLATED)
    found: dict[str, bytes] = {}
    async with opened(url) as backend:

        async def read(name: str) -> None:
            found[name] = (await backend.read(await at(backend, name))).data

        async with anyio.create_task_group() as group:
            for name in bodies:
                group.start_soon(read, name)
    assert found == bodies


# Hostile and poor stores


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

    def sink(data: bytes) -> None:
        raise LookupError("enough")

    async with opened("scripted://") as backend:
        with pytest.raises(LookupError, match="enough"):
            await backend.scan(await at(backend, "a"), sink)


# Time


class Gate:
    """A store that hangs until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, path: str) -> None:
        del path
        self.entered.set()
        self.open.wait(30)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


async def test_stuck_store_is_unavailable_and_the_next_call_gets_a_new_one(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://", FsspecOptions(request_timeout_s=0.2)) as backend:
        target = await at(backend, "a")
        script.info_hook = gate
        with pytest.raises(Unavailable, match="no answer within"):
            await backend.stat(target)
        script.info_hook = str
        assert (await backend.read(target)).data == b"hello"
    assert ScriptedFileSystem.made == 2


async def test_threads_left_behind_are_bounded(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://", FsspecOptions(request_timeout_s=0.05, concurrency_max=1)) as backend:
        target = await at(backend, "a")
        script.info_hook = gate
        for _ in range(2):
            with pytest.raises(Unavailable, match="no answer"):
                await backend.stat(target)
        with pytest.raises(Unavailable, match="still hang"):
            await backend.stat(target)
        assert sum(thread.name == "seamfs-generic" for thread in threading.enumerate()) == 2
        script.info_hook = str
        gate.open.set()
        for thread in [thread for thread in threading.enumerate() if thread.name == "seamfs-generic"]:
            await to_thread.run_sync(thread.join, 10)
        assert (await backend.read(target)).data == b"hello"


async def test_cancelled_call_returns_at_once_although_the_store_hangs(script: Scripted, gate: Gate) -> None:
    script.files = {"a": b"hello"}
    async with opened("scripted://", FsspecOptions(request_timeout_s=30)) as backend:
        target = await at(backend, "a")
        script.info_hook = gate
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(backend.stat, target)
                await to_thread.run_sync(gate.entered.wait, 10)
                group.cancel_scope.cancel()
        script.info_hook = str
        assert (await backend.read(target)).data == b"hello"


class Endless(BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        return bytes(size or 0)


async def test_cancelled_scan_feeds_its_sink_no_more(script: Scripted) -> None:
    script.files, script.details, script.open = {"a": b""}, {"a": {"size": None}}, Endless
    pieces: list[int] = []
    first = threading.Event()

    def sink(data: bytes) -> None:
        pieces.append(len(data))
        first.set()

    async with opened("scripted://", FsspecOptions(write_size_bytes_max=1 << 50)) as backend:
        target = await at(backend, "a")
        async with anyio.create_task_group() as group:
            group.start_soon(backend.scan, target, sink)
            await to_thread.run_sync(first.wait, 10)
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
    assert (capabilities.create, capabilities.replace, capabilities.is_writable) == (Guard.NONE, Guard.NONE, False)
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


# A web server


class QuietDirectory(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


class Scene(BaseHTTPRequestHandler):
    """Resources by path; knows ranges, an ETag, and every way to misbehave."""

    protocol_version = "HTTP/1.1"
    body: ClassVar[bytes] = b"0123456789" * 1000
    tag: ClassVar[str] = '"1"'
    requests: ClassVar[list[tuple[str, str | None]]] = []
    hang: ClassVar[threading.Event] = threading.Event()

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        asked = self.headers.get("Range")
        type(self).requests.append((self.command, asked))
        name = self.path.split("/")[-1]
        if name == "ranged":
            self.ranged(asked)
        elif name == "unsized":
            self.unsized()
        elif name == "squeezed":
            body = gzip.compress(bytes(4 << 20))
            self.reply(200, body, {"Content-Encoding": "gzip"})
        elif name == "hanging":
            self.hang.wait(30)
        elif name.isdigit():
            self.reply(int(name), b"")
        elif name == "":
            self.reply(200, b'<a href="a%20b">x</a><a href="../up">x</a><a href="?C=N">x</a><a href="%2e%2e">x</a>'
                       b'<a href="c%2fd">x</a><a href="http://other/e">x</a><a href="sub/">x</a>',
                       {"Content-Type": "text/html"})  # fmt: skip
        else:
            self.reply(404, b"")

    def ranged(self, asked: str | None) -> None:
        if asked is None:
            self.reply(200, self.body, {"ETag": self.tag})
            return
        start, end = (int(part) for part in asked.removeprefix("bytes=").split("-"))
        span = f"bytes {start}-{min(end, len(self.body) - 1)}/{len(self.body)}"
        self.reply(206, self.body[start : end + 1], {"ETag": self.tag, "Content-Range": span})

    def unsized(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.command == "GET":
            for _ in range(4):
                self.wfile.write(b"5\r\nhello\r\n")
            self.wfile.write(b"0\r\n\r\n")

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives a response up is expected here."""


def serve(handler: Any) -> Iterator[str]:
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        Scene.hang.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    for url in serve(partial(QuietDirectory, directory=str(tmp_path))):
        yield url, tmp_path


@pytest.fixture
def scene() -> Iterator[str]:
    Scene.requests, Scene.tag, Scene.hang = [], '"1"', threading.Event()
    yield from serve(Scene)


async def test_http_directory_is_listed_and_read_without_ranges(site: tuple[str, Path]) -> None:
    url, directory = site
    body = bytes(range(256)) * 1024
    (directory / "sub").mkdir()
    (directory / "sub" / "a b#?%20.bin").write_bytes(body)
    (directory / "sub" / "deep").mkdir()
    async with opened(f"{url}/sub/") as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
        target = await at(backend, "a b#?%20.bin")
        whole = await backend.read(target)
        part = await backend.read(target, offset=100_000, limit=50, pinned=whole.version)
        deep = await backend.stat(await at(backend, "deep"))
    assert [(e.name, e.kind, e.addressable) for e in listing.entries] == [
        ("a b#?%20.bin", FileKind.FILE, True),
        ("deep", FileKind.DIRECTORY, True),
    ]
    assert whole.data == body
    assert part.data == body[100_000:100_050]
    assert deep is not None
    assert deep.kind is FileKind.DIRECTORY


async def test_http_directory_is_no_file_and_a_file_no_directory(site: tuple[str, Path]) -> None:
    url, directory = site
    (directory / "sub").mkdir()
    (directory / "a.txt").write_bytes(b"x")
    async with opened(url) as backend:
        with pytest.raises(NotRegularFile):
            await backend.read(await at(backend, "sub"))
        with pytest.raises(NotDirectory):
            await backend.list(await at(backend, "a.txt"), limit=1)
        with pytest.raises(NotFound):
            await backend.read(await at(backend, "none"))
        assert await backend.stat(await at(backend, "none")) is None


async def test_http_stat_is_fresh_after_a_change(site: tuple[str, Path]) -> None:
    url, directory = site
    (directory / "a.txt").write_bytes(b"x")
    async with opened(url) as backend:
        target = await at(backend, "a.txt")
        before = await backend.read(target)
        (directory / "a.txt").write_bytes(b"longer")
        after = await backend.read(target)
        (directory / "a.txt").unlink()
        gone = await backend.stat(target)
    assert (before.data, after.data, gone) == (b"x", b"longer", None)
    assert before.version != after.version
    assert not after.version.settled


async def test_http_range_asks_for_those_bytes_alone(scene: str) -> None:
    async with opened(scene) as backend:
        target = await at(backend, "ranged")
        Scene.requests.clear()
        part = await backend.read(target, offset=5, limit=10)
        stale = part.version
        Scene.tag = '"2"'
        with pytest.raises(StaleVersion):
            await backend.read(target, offset=5, limit=10, pinned=stale)
    assert (part.data, part.size_bytes, part.version.settled) == (b"5678901234", 10_000, True)
    assert Scene.requests[:3] == [("HEAD", None), ("GET", "bytes=5-14"), ("HEAD", None)]


async def test_http_response_of_unknown_length_is_read_to_its_end(scene: str) -> None:
    async with opened(scene) as backend:
        snapshot = await backend.read(await at(backend, "unsized"))
    async with opened(scene, FsspecOptions(write_size_bytes_max=19)) as backend:
        with pytest.raises(TooLarge):
            await backend.read(await at(backend, "unsized"))
    assert (snapshot.data, snapshot.is_whole) == (b"hello" * 4, True)


async def test_http_response_that_is_compressed_all_the_same_is_bounded(scene: str) -> None:
    async with opened(scene, FsspecOptions(write_size_bytes_max=1 << 20)) as backend:
        with pytest.raises(TooLarge):
            await backend.read(await at(backend, "squeezed"))


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, Unavailable), (403, PermissionDenied), (404, NotFound), (429, Unavailable), (500, Unavailable)],
)
async def test_http_status_becomes_its_code(scene: str, status: int, error: type[FsError]) -> None:
    async with opened(scene) as backend:
        with pytest.raises(error):
            await backend.read(await at(backend, str(status)))


async def test_http_links_to_elsewhere_are_no_entries(scene: str) -> None:
    async with opened(scene) as backend:
        listing = await backend.list(await at(backend, "."), limit=10)
    assert [(entry.name, entry.addressable) for entry in listing.entries] == [
        ("..", False),
        ("a b", True),
        ("c/d", False),
        ("sub", True),
    ]


async def test_http_server_that_hangs_is_unavailable_within_the_limit(scene: str) -> None:
    async with opened(scene, FsspecOptions(request_timeout_s=0.3)) as backend:
        with anyio.fail_after(5), pytest.raises(Unavailable):
            await backend.stat(await at(backend, "hanging"))


async def test_http_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(Unavailable) as caught:
        await open_generic(f"http://127.0.0.1:{port}/", OPTIONS)
    assert "\n" not in str(caught.value)


async def test_zip_over_http_hides_the_query(scene: str) -> None:
    with pytest.raises(FsError) as caught:
        await open_generic(f"zip://::{scene}/404?signature=hunter2", OPTIONS)
    assert isinstance(caught.value, NotFound)
    assert "hunter2" not in str(caught.value)
