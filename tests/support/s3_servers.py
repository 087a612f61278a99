"""S3 services on loopback for the tests, and a way to reach them with a plain client.

With `SEAMFS_REQUIRE_REAL=1` a service that cannot be started fails the test that wants it; otherwise it is skipped.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, cast

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from pydantic import SecretStr

from backends.options import S3Options
from backends.s3 import S3Backend, open_s3
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.testing.harness import StoreHarness
from fs_core.types import Target
from seamfs.embedded.s3 import embedded_s3
from tests.support.ports import free_port

__all__ = ["S3Harness", "S3Server", "moto_server", "rclone_server", "seaweedfs", "seaweedfs_server", "target_of"]

_START_TIMEOUT_S = 45.0
_GRPC_PORTS = (10_000, 10_001, 10_002, 10_003)
"""Above its first port, SeaweedFS takes these too."""


@dataclass(frozen=True)
class S3Server:
    """A service that answers, with one empty bucket."""

    name: str
    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    bucket: str = "seam"

    def options(self, **overrides: Any) -> S3Options:
        """Settings that reach this service."""
        values: dict[str, Any] = {
            "endpoint_url": self.endpoint_url,
            "region": "us-east-1",
            "access_key_id": self.access_key_id,
            "secret_access_key": SecretStr(self.secret_access_key),
            "request_timeout_s": 20.0,
            "connect_timeout_s": 20.0,
        }
        return S3Options(**(values | overrides))

    @cached_property
    def client(self) -> Any:
        """A plain boto3 client, behind every backend's back."""
        return cast("Any", boto3).client(
            "s3",
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            region_name="us-east-1",
            config=Config(
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                s3={"addressing_style": "path"},
                max_pool_connections=4,
                retries={"total_max_attempts": 3, "mode": "standard"},
            ),
        )

    def harness(self, **overrides: Any) -> "S3Harness":
        """A fresh, empty prefix, opened with these settings."""
        return S3Harness(self, self.bucket, f"t-{secrets.token_hex(6)}", **overrides)


class S3Harness(StoreHarness):
    """A prefix of a bucket, reached with boto3."""

    def __init__(self, server: S3Server, bucket: str, prefix: str, **overrides: Any) -> None:
        self.server = server
        self.overrides = overrides
        self.bucket = bucket
        self.prefix = prefix

    async def open(self) -> S3Backend:
        return await self.open_with()

    async def open_with(self, **overrides: Any) -> S3Backend:
        """Return a new backend with some options changed."""
        return await open_s3(f"s3://{self.bucket}/{self.prefix}", self.server.options(**(self.overrides | overrides)))

    def key(self, path: str) -> str:
        """The object key of `path`."""
        return self.prefix if path == "." else f"{self.prefix}/{path}"

    def put(self, path: str, data: bytes) -> None:
        self.put_with(path, data)

    def put_with(self, path: str, data: bytes, **parameters: Any) -> None:
        """Put an object with further parameters of PutObject."""
        self.server.client.put_object(Bucket=self.bucket, Key=self.key(path), Body=data, **parameters)

    def get(self, path: str) -> bytes | None:
        try:
            answer = self.server.client.get_object(Bucket=self.bucket, Key=self.key(path))
        except ClientError as error:
            if str(cast("Any", error.response)["Error"]["Code"]) in {"NoSuchKey", "404"}:
                return None
            raise
        with answer["Body"] as body:
            return bytes(body.read())

    def head(self, path: str) -> dict[str, Any]:
        """Headers of an object that exists."""
        return dict(self.server.client.head_object(Bucket=self.bucket, Key=self.key(path)))

    def delete(self, path: str) -> None:
        for key in (self.key(path), f"{self.key(path)}/"):
            self.server.client.delete_object(Bucket=self.bucket, Key=key)

    def mkdir(self, path: str) -> None:
        self.put(f"{path}/", b"")

    def names(self, path: str = ".") -> list[str]:
        base = f"{self.key(path)}/"
        pages = self.server.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=base, Delimiter="/"
        )
        found: set[str] = set()
        for page in pages:
            found.update(item["Key"][len(base) :] for item in page.get("Contents", []))
            found.update(item["Prefix"][len(base) : -1] for item in page.get("CommonPrefixes", []))
        return sorted(found - {""})


async def target_of(backend: Backend, path: str) -> Target:
    """Return the identity of `path`, as the layer above makes it."""
    return await backend.resolve(parse_path(path, backend.root))


@pytest.fixture(scope="session")
def moto_server() -> Iterator[S3Server]:
    """moto: quick, no authentication, never the only proof of a guard."""
    with embedded_s3(bucket="seam") as service:
        server = S3Server("moto", service.endpoint_url, service.access_key_id, service.secret_access_key)
        yield server
        server.client.close()


@pytest.fixture(scope="session")
def seaweedfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """SeaweedFS, for the whole session."""
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as server:
        yield server


@contextmanager
def seaweedfs(directory: Path) -> Generator[S3Server]:
    """Run SeaweedFS: a real server with authentication and atomic conditions."""
    base = free_port(1, 2, 3, *_GRPC_PORTS)
    server = S3Server("seaweedfs", f"http://127.0.0.1:{base}", "SEAMFSTESTACCESSKEY0", secrets.token_hex(20))
    (directory / "data").mkdir()
    (directory / "s3.json").write_text(_seaweedfs_identities(server))
    arguments = [
        *("server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={directory / 'data'}"),
        *(f"-master.port={base + 1}", f"-volume.port={base + 2}", "-filer", f"-filer.port={base + 3}"),
        *("-s3", f"-s3.port={base}", "-s3.ip.bind=127.0.0.1", f"-s3.config={directory / 's3.json'}"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64"),
        *("-master.telemetry=false", "-volume.max=200"),
    ]
    with _program("weed", arguments, directory, server.endpoint_url):
        _create_bucket(server)
        yield server
        server.client.close()


@pytest.fixture(scope="session")
def rclone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """rclone: accepts conditions and ignores them."""
    directory = tmp_path_factory.mktemp("rclone")
    server = S3Server("rclone", f"http://127.0.0.1:{free_port()}", "rclonekey", secrets.token_hex(16))
    (directory / "data").mkdir()
    arguments = [
        *("serve", "s3", f"--addr={server.endpoint_url.removeprefix('http://')}", "--config="),
        *(f"--auth-key={server.access_key_id},{server.secret_access_key}", str(directory / "data")),
    ]
    with _program("rclone", arguments, directory, server.endpoint_url):
        _create_bucket(server)
        yield server
        server.client.close()


@contextmanager
def _program(name: str, arguments: list[str], directory: Path, url: str) -> Generator[None]:
    """Run an installed program until the block ends; enter the block when `url` answers."""
    program = Path(sys.executable).parent / name
    found = str(program) if program.exists() else shutil.which(name)
    if found is None:
        _cannot_start(f"{name} is not installed; run `make install`")
    log = directory / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen([found, *arguments], cwd=directory, stdout=output, stderr=output)
        try:
            if not _wait_until_it_answers(process, url):
                _cannot_start(f"{name} did not answer on {url}: {log.read_text(errors='replace')[-2000:]}")
            yield
        finally:
            process.kill()  # its data is thrown away, and an orderly end takes SeaweedFS 20 s
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], url: str) -> bool:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def _create_bucket(server: S3Server) -> None:
    """Create the bucket; a service that has just started may need a moment for its first volume."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            server.client.create_bucket(Bucket=server.bucket)
            server.client.put_object(Bucket=server.bucket, Key="ready", Body=b"ready")
        except ClientError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _cannot_start(reason: str) -> NoReturn:
    if os.environ.get("SEAMFS_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _seaweedfs_identities(server: S3Server) -> str:
    credentials = {"accessKey": server.access_key_id, "secretKey": server.secret_access_key}
    identity = {"name": "tests", "credentials": [credentials], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    return json.dumps({"identities": [identity]})
