"""Small files and answers that inflate to 200 MiB."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from backends.generic import open_generic
from backends.options import BackendOptions, FsspecOptions
from backends.registry import open_backend
from fs_core.errors import TooLarge, Unsupported
from tests.security.memory import memory_bounded
from tests.support.scripted_fsspec import at, opened
from tests.support.web_servers import serving

pytestmark = pytest.mark.anyio

MIB = 1 << 20
INFLATED_BYTES = 200 * MIB
OPTIONS = FsspecOptions(write_size_bytes_max=2 * MIB, request_timeout_s=60.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def squeezed(first: bytes) -> bytes:
    """Return a gzip file of `first` and 200 MiB of zeros."""
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(MIB)
    pieces = [packer.compress(first), *(packer.compress(zeros) for _ in range(INFLATED_BYTES // MIB)), packer.flush()]
    return b"".join(pieces)


def tar_gz(file: Path, kind: bytes) -> str:
    """Make an archive whose one entry of a kind claims, and has, 200 MiB; return the URL of its root."""
    entry = tarfile.TarInfo("bomb")
    entry.type, entry.size = kind, INFLATED_BYTES
    file.write_bytes(squeezed(entry.tobuf(tarfile.GNU_FORMAT)))
    assert file.stat().st_size < MIB
    return f"tar://::file://{file}"


class Squeezed(BaseHTTPRequestHandler):
    """Answers everything compressed, whatever was accepted."""

    body = squeezed(b"")

    def do_HEAD(self) -> None:
        self._head()

    def do_GET(self) -> None:
        self._head()
        self.wfile.write(self.body)

    def _head(self) -> None:
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@pytest.fixture(scope="module")
def web() -> Generator[str]:
    with serving(Squeezed) as url:
        yield url


async def test_a_compressed_answer_that_inflates_to_200_mib_is_too_large(web: str) -> None:
    async with opened(web, OPTIONS) as backend:
        with memory_bounded(bytes_max=24 * MIB), pytest.raises(TooLarge):
            await backend.read(await at(backend, "bomb"))


async def test_a_compressed_member_that_inflates_to_200_mib_is_too_large(tmp_path: Path) -> None:
    url = tar_gz(tmp_path / "a.tar.gz", tarfile.REGTYPE)
    with memory_bounded(bytes_max=24 * MIB):
        async with opened(url, OPTIONS) as backend:
            with pytest.raises(TooLarge):
                await backend.read(await at(backend, "bomb"))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
async def test_a_header_of_an_archive_that_inflates_to_200_mib_is_too_large(tmp_path: Path, kind: bytes) -> None:
    url = tar_gz(tmp_path / "a.tar.gz", kind)
    with memory_bounded(bytes_max=24 * MIB), pytest.raises(TooLarge):
        await open_generic(url, OPTIONS)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".tar", bytes), (".tar.gz", gzip.compress), (".tar.bz2", bz2.compress), (".tar.xz", lzma.compress)],
)
async def test_an_honest_archive_with_long_names_is_read_in_every_compression(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    name = f"{'d' * 90}/{'e' * 90}/a.bin"
    body = bytes(range(256)) * 5_000
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(body)
        archive.addfile(entry, io.BytesIO(body))
    (tmp_path / f"a{suffix}").write_bytes(compress(packed.getvalue()))
    async with opened(f"tar://::file://{tmp_path}/a{suffix}", FsspecOptions(request_timeout_s=60.0)) as backend:
        target = await at(backend, name)
        assert (await backend.read(target)).data == body
        assert (await backend.read(target, offset=5, limit=1_200_000)).data == body[5:1_200_005]


@pytest.mark.parametrize("outer", ["tar", "zip"])
async def test_an_honest_archive_in_a_tar_archive_is_read(tmp_path: Path, outer: str) -> None:
    inner = tmp_path / f"inner.{outer}"
    (tmp_path / "a.txt").write_bytes(b"hello")
    if outer == "tar":
        with tarfile.open(inner, "w") as archive:
            archive.add(tmp_path / "a.txt", "a.txt")
    else:
        with zipfile.ZipFile(inner, "w") as packed:
            packed.writestr("a.txt", b"hello")
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        archive.add(inner, inner.name)
    async with opened(f"{outer}://::tar://{inner.name}::file://{tmp_path}/b.tar") as backend:
        assert (await backend.read(await at(backend, "a.txt"))).data == b"hello"


async def test_there_is_no_store_that_inflates_a_single_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(Unsupported, match="unknown scheme gzip://"):
        await open_backend(f"gzip://::file://{tmp_path}/a.gz", BackendOptions())
