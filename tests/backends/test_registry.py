import builtins
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import pytest

from backends.generic import GenericBackend
from backends.local import LocalBackend
from backends.options import BackendOptions
from backends.registry import open_backend
from fs_core.errors import FsError, InvalidPath, NotDirectory, NotFound, Unsupported
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.testing.memory import MemoryBackend
from fs_core.types import IfAbsent

pytestmark = pytest.mark.anyio

OPTIONS = BackendOptions()


async def content(backend: Backend, path: str) -> bytes:
    try:
        return (await backend.read(await backend.resolve(parse_path(path, backend.root)))).data
    finally:
        await backend.aclose()


async def refused(url: str, error: type[FsError] = Unsupported) -> str:
    """Return the message of a refusal, which is one line."""
    with pytest.raises(error) as caught:
        await open_backend(url, OPTIONS)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.operation == "open"
    return message


async def test_plain_path_opens_local_disk(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "f").write_bytes(b"x")
    backend = await open_backend(f"{tmp_path}/a b", OPTIONS)
    assert isinstance(backend, LocalBackend)
    assert await content(backend, "f") == b"x"


async def test_plain_path_is_never_decoded_or_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a%20b", "~", "x::y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_bytes(name.encode())
    for url, name in ((f"{tmp_path}/a%20b", b"a%20b"), ("~", b"~"), ("./x::y", b"x::y")):
        assert await content(await open_backend(url, OPTIONS), "f") == name


@pytest.mark.parametrize("prefix", ["file://", "file://localhost", "file:", "FILE://"])
async def test_file_url_is_decoded_once(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "a%20b c#d?e").mkdir()
    (tmp_path / "a%20b c#d?e" / "f").write_bytes(b"x")
    backend = await open_backend(f"{prefix}{tmp_path}/a%2520b%20c#d?e", OPTIONS)
    assert isinstance(backend, LocalBackend)
    assert await content(backend, "f") == b"x"


@pytest.mark.parametrize("url", ["", "  ", "a\0b", "file://host/a", "file://relative", "file:", "file:///a%00b"])
async def test_url_that_names_no_place_is_invalid(url: str) -> None:
    assert await refused(url, InvalidPath)


async def test_local_root_that_is_missing_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    assert await refused(f"{tmp_path}/none", NotFound)
    assert await refused(f"file://{tmp_path}/f", NotDirectory)


async def test_memory_store_of_one_name_is_shared_and_of_another_is_not() -> None:
    name = uuid4().hex
    first, same, other = [await open_backend(f"memory://{url}", OPTIONS) for url in (name, f"{name}/", f"{name}2")]
    assert isinstance(first, MemoryBackend)
    target = await first.resolve(parse_path("a", first.root))
    await first.write(target, b"x", condition=IfAbsent())
    await first.aclose()
    assert await content(same, "a") == b"x"
    assert await other.stat(target) is None
    assert first.root.url == f"memory://{name}"


async def test_other_scheme_of_fsspec_opens_the_generic_backend(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", b"x")
    backend = await open_backend(f"zip://::file://{tmp_path}/a.zip", OPTIONS)
    assert isinstance(backend, GenericBackend)
    assert await content(backend, "a.txt") == b"x"


async def test_scheme_is_taken_in_any_case() -> None:
    backend = await open_backend("MEMORY://upper", OPTIONS)
    assert backend.root.url == "memory://upper"


async def test_unknown_scheme_names_those_that_work() -> None:
    message = await refused("gopher://host/a")
    assert message.startswith("gopher://host/a: unknown scheme gopher://; use file, memory, s3, sftp or, read only,")
    assert "github" in message
    assert "zip" in message


@pytest.mark.parametrize(
    ("scheme", "instead"), [("ssh", "sftp"), ("s3a", "s3"), ("local", "file"), ("asynclocal", "file")]
)
async def test_other_name_of_an_own_scheme_points_to_it(scheme: str, instead: str) -> None:
    assert f"write {instead}:// instead" in await refused(f"{scheme}://host/a")


@pytest.mark.parametrize("url", ["generic://etc", "zip://::generic://etc/a.zip", "async_wrapper://etc"])
async def test_name_that_opens_any_file_is_no_scheme(url: str) -> None:
    assert "scheme" in (message := await refused(url)) or "no store of its own" in message


@pytest.mark.parametrize("scheme", ["sftp", "ssh"])
async def test_chain_never_uses_the_client_that_trusts_any_host(scheme: str) -> None:
    assert "seamsftp://" in await refused(f"zip://::{scheme}://127.0.0.1:1/a.zip")


@pytest.mark.parametrize(
    "url",
    [
        "sftp://me:hunter2@host/a",
        "s3://key:hunter2@bucket/a",
        "ftp://me:hunter2@host/a",
        "zip://::https://me:hunter2@host/a.zip",
        "sftp://me:hunter2/slash@host/a",
        "sftp://:hunter2@host/a",
        "sftp://me%3Ahunter2@host/a",
        "https://hunter2@host/a",
    ],
)
async def test_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    message = await refused(url)
    assert "password" in message
    assert "hunter2" not in message


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a library unimportable, as where it is not installed."""
    real_import = builtins.__import__

    def hide(library: str) -> None:
        def hooked(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.partition(".")[0] == library:
                raise ModuleNotFoundError(f"No module named {library!r}", name=library)
            return real_import(name, *args, **kwargs)

        for name in list(sys.modules):
            if name.partition(".")[0] == library or name.startswith(("backends.s3", "backends.sftp")):
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(builtins, "__import__", hooked)

    return hide


@pytest.mark.parametrize(
    ("library", "url", "advice"),
    [
        ("s3fs", "s3://bucket/a", "s3://bucket/a: needs s3fs, which is not installed; run: pip install 'seamfs[s3]'"),
        (
            "paramiko",
            "sftp://host/a",
            "sftp://host/a: needs paramiko, which is not installed; run: pip install 'seamfs[sftp]'",
        ),
    ],
)
async def test_missing_extra_is_one_line_with_the_pip_command(
    without: Callable[[str], None], library: str, url: str, advice: str
) -> None:
    without(library)
    assert await refused(url) == advice


async def test_missing_library_of_fsspec_is_one_line_with_its_own_hint() -> None:
    fsspec.register_implementation(  # pyright: ignore[reportUnknownMemberType] - no types
        "absent", "absent_library.FileSystem", errtxt="Install\nabsent-library to open absent://", clobber=True
    )
    message = await refused("absent://host/a")
    assert message == "absent://host/a: needs a library that is not installed: Install absent-library to open absent://"
    assert "absent-library" in await refused("zip://::absent://host/a.zip")


def test_nothing_heavy_is_loaded_until_a_url_asks_for_it() -> None:
    heavy = {"fsspec", "s3fs", "aiobotocore", "botocore", "paramiko", "aiohttp", "requests"}
    program = f"import sys, backends.registry; print(sorted({heavy!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
