"""The three stores of the demonstration, each empty, private and gone afterwards."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, TypedDict, cast

from pydantic import SecretStr

from backends.options import S3Options
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


class _Object(TypedDict):
    Body: IO[bytes]


class _Client(Protocol):
    """What is used of a boto3 S3 client."""

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> object: ...  # noqa: N803 - the service's own names

    def get_object(self, *, Bucket: str, Key: str) -> _Object: ...  # noqa: N803 - the service's own names

    def close(self) -> None: ...


@contextmanager
def local_store(directory: Path) -> Generator[DemoStore]:
    """Use a directory of this machine."""
    yield _in_directory("local", str(directory), directory, Settings())


@contextmanager
def s3_store(directory: Path) -> Generator[DemoStore]:
    """Run an S3 service in this process; it keeps everything in memory and leaves `directory` alone."""
    del directory
    with embedded_s3() as service, _direct_client(service) as client:
        options = S3Options(
            endpoint_url=service.endpoint_url,
            region=service.region,
            access_key_id=service.access_key_id,
            secret_access_key=SecretStr(service.secret_access_key),
        )

        def put(path: str, data: bytes) -> None:
            client.put_object(Bucket=service.bucket, Key=f"demo/{path}", Body=data)

        def get(path: str) -> bytes:
            return client.get_object(Bucket=service.bucket, Key=f"demo/{path}")["Body"].read()

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


@contextmanager
def _direct_client(service: EmbeddedS3) -> Generator[_Client]:
    """Open a client of another library than the backend's, so that the store vouches for what the seam did."""
    import boto3

    client = cast(
        "_Client",
        boto3.client(  # pyright: ignore[reportUnknownMemberType] - boto3 ships no types
            "s3",
            endpoint_url=service.endpoint_url,
            aws_access_key_id=service.access_key_id,
            aws_secret_access_key=service.secret_access_key,
            region_name=service.region,
        ),
    )
    try:
        yield client
    finally:
        client.close()
