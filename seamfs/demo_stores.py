"""The three stores of the demonstration, each empty, private and gone afterwards."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

from backends.options import S3Options, SftpOptions
from seamfs.config import Settings
from seamfs.embedded.s3 import EmbeddedS3, embedded_s3
from seamfs.embedded.sftp import embedded_sftp

__all__ = ["DemoStore", "local_store", "s3_store", "sftp_store"]


@dataclass(frozen=True, slots=True)
class DemoStore:
    """One store, and a way to its files that does not go through the seam: `put` and `get` block."""

    name: str
    url: str
    settings: Settings
    put: Callable[[str, bytes], None]
    get: Callable[[str], bytes]


@contextmanager
def local_store(directory: Path) -> Generator[DemoStore]:
    """Use a directory of this machine."""
    yield _in_directory("local", str(directory), directory, Settings())


@contextmanager
def s3_store(directory: Path) -> Generator[DemoStore]:
    """Run an S3 service in this process; it keeps everything in memory and leaves `directory` alone."""
    del directory
    with embedded_s3() as service:
        options = S3Options(
            endpoint_url=service.endpoint_url,
            region=service.region,
            access_key_id=service.access_key_id,
            secret_access_key=SecretStr(service.secret_access_key),
        )

        def put(path: str, data: bytes) -> None:
            _object_request(service, "PUT", path, data)

        def get(path: str) -> bytes:
            return _object_request(service, "GET", path)

        yield DemoStore("s3", f"s3://{service.bucket}/demo", Settings(s3=options), put, get)


@contextmanager
def sftp_store(directory: Path) -> Generator[DemoStore]:
    """Run an SFTP server in this process over a directory."""
    with embedded_sftp(directory) as server:
        yield _in_directory("sftp", server.url, directory, Settings(sftp=server.options))


def _in_directory(name: str, url: str, directory: Path, settings: Settings) -> DemoStore:
    def put(path: str, data: bytes) -> None:
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def get(path: str) -> bytes:
        return (directory / path).read_bytes()

    return DemoStore(name, url, settings, put, get)


def _object_request(service: EmbeddedS3, method: str, path: str, body: bytes | None = None) -> bytes:
    address = urlsplit(service.endpoint_url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        connection.request(method, f"/{service.bucket}/demo/{quote(path)}", body=body)
        response = connection.getresponse()
        data = response.read()
    finally:
        connection.close()
    if response.status != 200:  # noqa: PLR2004 - OK
        raise RuntimeError(f"the embedded S3 service answered {response.status} to {method} {path}")
    return data
