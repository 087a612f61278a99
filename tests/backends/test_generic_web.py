import json
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest
from fsspec.implementations.github import GithubFileSystem

from backends.generic import open_generic
from backends.options import FsspecOptions
from fs_core.errors import (
    FsError,
    InvalidPath,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    StaleVersion,
    TooLarge,
    Unavailable,
)
from fs_core.types import FileKind
from tests.support.scripted_fsspec import OPTIONS, at, impatient, opened
from tests.support.web_servers import FakeGithub, QuietDirectory, Scene, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    with serving(partial(QuietDirectory, directory=str(tmp_path))) as url:
        yield url, tmp_path


@pytest.fixture
def scene() -> Iterator[str]:
    Scene.requests, Scene.tag, Scene.hang = [], '"1"', threading.Event()
    with serving(Scene) as url:
        yield url


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
    async with opened(scene) as backend:
        target = await at(backend, "hanging")
        with anyio.fail_after(15), impatient(backend, timeout_s=0.3), pytest.raises(Unavailable):
            await backend.stat(target)
        Scene.hang.set()


async def test_http_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]  # nobody listens there
        with pytest.raises(Unavailable) as caught:
            await open_generic(f"http://127.0.0.1:{port}/", OPTIONS)
    assert "\n" not in str(caught.value)


async def test_zip_over_http_hides_the_query(scene: str) -> None:
    with pytest.raises(FsError) as caught:
        await open_generic(f"zip://::{scene}/404?signature=hunter2", OPTIONS)
    assert isinstance(caught.value, NotFound)
    assert "hunter2" not in str(caught.value)


async def test_github_tree_is_read_fresh_with_its_hashes_as_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeGithub, "files", {"b.txt": b"hello", "a#b": b"other"})
    with serving(FakeGithub) as url:
        monkeypatch.setattr(GithubFileSystem, "url", f"{url}/tree/{{sha}}")
        monkeypatch.setattr(GithubFileSystem, "content_url", f"{url}/contents/{{path}}")
        async with opened("github://org:repo@main/") as backend:
            target = await at(backend, "b.txt")
            before = await backend.read(target)
            listing = await backend.list(await at(backend, "."), limit=10)
            FakeGithub.files["b.txt"] = b"hello again"
            after = await backend.stat(target)
            del FakeGithub.files["b.txt"]
            gone = await backend.stat(target)
            with pytest.raises(InvalidPath):
                await at(backend, "a#b")
            assert backend.root.url == "github://org:repo@main"
    assert (before.data, before.version.settled, gone) == (b"hello", True, None)
    assert [(entry.name, entry.addressable) for entry in listing.entries] == [("a#b", False), ("b.txt", True)]
    assert after is not None
    assert (after.size_bytes, after.version == before.version) == (11, False)


async def test_reference_to_a_file_of_this_machine_is_refused(tmp_path: Path, scene: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    references = {
        "inline": "hello",
        "web": [f"{scene}/ranged"],
        "whole": [f"file://{tmp_path}/secret"],
        "plain": [f"{tmp_path}/secret"],
        "part": [f"file://{tmp_path}/secret", 0, 6],
    }
    (tmp_path / "refs.json").write_text(json.dumps(references))
    async with opened(f"reference://::file://{tmp_path}/refs.json") as backend:
        assert (await backend.read(await at(backend, "inline"))).data == b"hello"
        assert (await backend.read(await at(backend, "web"))).data == Scene.body
        for name in ("whole", "plain", "part"):
            with pytest.raises(FsError) as caught:
                await backend.read(await at(backend, name))
            assert not isinstance(caught.value, NotFound)
