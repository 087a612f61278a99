import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import anyio
import pytest

from backends.generic import open_generic
from backends.options import FsspecOptions
from fs_core.digest import content_digest
from fs_core.errors import (
    FsError,
    InvalidPath,
    IoFault,
    NotDirectory,
    NotFound,
    NotRegularFile,
    StaleVersion,
    TooLarge,
    Unsupported,
)
from fs_core.types import FileKind
from tests.support.scripted_fsspec import OPTIONS, at, opened

pytestmark = pytest.mark.anyio


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
        scanned = await backend.scan(await at(backend, "a.bin"), lambda piece: pieces.append(bytes(piece)))
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
            await (
                backend.read(target)
                if operation == "read"
                else backend.scan(target, lambda piece: seen.append(bytes(piece)))
            )
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
