"""The stores of the measurements: SeaweedFS, moto and OpenSSH's server, each a process of its own on loopback."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Protocol, cast

from pydantic import SecretStr

from backends.options import S3Options, SftpOptions
from benchmarks.backends.access import OpenedPeer, S3Access, SftpAccess
from benchmarks.measure.case import NotInstalled
from benchmarks.peers.asyncssh import ASYNCSSH
from benchmarks.peers.fsspec_sftp import FSSPEC_SFTP
from benchmarks.peers.naive_s3fs import NAIVE_S3FS
from benchmarks.peers.obstore import OBSTORE
from benchmarks.peers.raw_aiobotocore import RAW_AIOBOTOCORE
from seamfs.config import Settings
from seamfs.embedded.s3 import embedded_s3
from tests.support.s3_servers import S3Server, seaweedfs
from tests.support.sftp_servers import real_server

__all__ = ["S3_PEERS", "SFTP_PEERS", "S3Store", "SftpStore", "Store", "moto_store", "openssh_store", "seaweedfs_store"]

S3_PEERS = (RAW_AIOBOTOCORE, OBSTORE, NAIVE_S3FS)
SFTP_PEERS = (ASYNCSSH, FSSPEC_SFTP)
"""The first is the one that is compared with."""

_PREFIX = "bench"
_AGE_S = 3_600.0
"""Of files on SFTP, whose versions are not trusted to tell content apart within a minute of a change."""


class Store(Protocol):
    """A store that answers. `through` is the same store behind a relay to its port."""

    @property
    def name(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def url(self) -> str: ...

    @property
    def settings(self) -> Settings: ...

    def put(self, name: str, data: bytes) -> None: ...

    async def enter_peers(self, stack: AsyncExitStack) -> list[OpenedPeer | NotInstalled]: ...

    def through(self, port: int) -> "Store": ...


@dataclass(frozen=True)
class S3Store:
    """A prefix of a bucket, filled with a plain client."""

    server: S3Server
    access: S3Access

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def port(self) -> int:
        return int(self.server.endpoint_url.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"s3://{self.access.bucket}/{self.access.prefix}"

    @property
    def settings(self) -> Settings:
        options = S3Options(
            endpoint_url=self.access.endpoint_url,
            region=self.access.region,
            access_key_id=self.access.access_key_id,
            secret_access_key=SecretStr(self.access.secret_access_key),
        )
        return Settings(s3=options)

    def put(self, name: str, data: bytes) -> None:
        self.server.client.put_object(Bucket=self.access.bucket, Key=self.access.key(name), Body=data)

    async def enter_peers(self, stack: AsyncExitStack) -> list[OpenedPeer | NotInstalled]:
        return [await peer.enter(stack, self.access) for peer in S3_PEERS]

    def through(self, port: int) -> "S3Store":
        return replace(self, access=replace(self.access, endpoint_url=f"http://127.0.0.1:{port}"))


@dataclass(frozen=True)
class SftpStore:
    """A directory of this machine, reached through its own server."""

    access: SftpAccess
    name: str = "openssh"

    @property
    def port(self) -> int:
        return self.access.port

    @property
    def url(self) -> str:
        return f"sftp://{self.access.user}@{self.access.host}:{self.access.port}{self.access.directory}"

    @property
    def settings(self) -> Settings:
        options = SftpOptions(
            config_file=Path("/dev/null"),
            known_hosts_file=self.access.known_hosts_file,
            identity_file=self.access.identity_file,
            use_agent=False,
        )
        return Settings(sftp=options)

    def put(self, name: str, data: bytes) -> None:
        file = self.access.directory / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        changed_at_s = time.time() - _AGE_S
        os.utime(file, (changed_at_s, changed_at_s))

    async def enter_peers(self, stack: AsyncExitStack) -> list[OpenedPeer | NotInstalled]:
        return [await peer.enter(stack, self.access) for peer in SFTP_PEERS]

    def through(self, port: int) -> "SftpStore":
        known = self.access.known_hosts_file.read_text().replace(f":{self.access.port} ", f":{port} ")
        known_hosts_file = self.access.known_hosts_file.with_name(f"known_hosts-{port}")
        known_hosts_file.write_text(known)
        return replace(self, access=replace(self.access, port=port, known_hosts_file=known_hosts_file))


@contextmanager
def seaweedfs_store(directory: Path) -> Generator[S3Store]:
    """Run SeaweedFS: a real server, with authentication and atomic conditions."""
    with seaweedfs(directory) as server:
        yield _s3_store(server)


@contextmanager
def moto_store() -> Generator[S3Store]:
    """Run moto, which keeps all in memory; it would share the interpreter's lock with what it is measured by."""
    command = [sys.executable, "-m", "benchmarks.backends.stores"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            server = S3Server(**json.loads(cast("IO[str]", process.stdout).readline()))
            yield _s3_store(server)
            server.client.close()
        finally:
            process.kill()


@contextmanager
def openssh_store(directory: Path) -> Generator[SftpStore]:
    """Run OpenSSH's server on files of `directory`."""
    with real_server(directory) as server:
        yield SftpStore(
            SftpAccess(
                host=server.host,
                port=server.port,
                user=server.user,
                identity_file=server.identity_file,
                known_hosts_file=server.known_hosts_file,
                directory=server.fresh_directory(),
            )
        )


def _s3_store(server: S3Server) -> S3Store:
    access = S3Access(
        endpoint_url=server.endpoint_url,
        access_key_id=server.access_key_id,
        secret_access_key=server.secret_access_key,
        bucket=server.bucket,
        prefix=_PREFIX,
    )
    return S3Store(server, access)


def main() -> None:
    """Serve moto until standard input ends; one line of JSON says where."""
    with embedded_s3(bucket="seam") as service:
        server = {
            "name": "moto",
            "endpoint_url": service.endpoint_url,
            "access_key_id": service.access_key_id,
            "secret_access_key": service.secret_access_key,
        }
        print(json.dumps(server), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
