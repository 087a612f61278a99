"""Where a store is and how to log in, for us and for the peers alike, and what the peers have in common."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmarks.measure.case import NotInstalled

__all__ = ["OpenedPeer", "RemoteFiles", "RemotePeer", "S3Access", "SftpAccess"]

Access = TypeVar("Access")


@dataclass(frozen=True, slots=True)
class S3Access:
    """A prefix of a bucket."""

    endpoint_url: str
    access_key_id: str
    bucket: str
    prefix: str
    region: str = "us-east-1"
    secret_access_key: str = field(repr=False, default="")

    def key(self, name: str) -> str:
        """Return the key of a file below the prefix."""
        return f"{self.prefix}/{name}"


@dataclass(frozen=True, slots=True)
class SftpAccess:
    """A directory on a host."""

    host: str
    port: int
    user: str
    identity_file: Path
    known_hosts_file: Path
    directory: Path

    def path(self, name: str) -> str:
        """Return the path of a file in the directory."""
        return str(self.directory / name)


class RemoteFiles(Protocol):
    """Files of one store by name, fetched and put as a whole and without any guard."""

    async def read(self, name: str) -> object: ...

    async def write(self, name: str, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class OpenedPeer:
    """One that takes part. `note` is what it leaves out."""

    name: str
    files: RemoteFiles
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePeer(Generic[Access]):
    """How one takes part.

    Attributes:
        name: The column of the table.
        package: The distribution that it is of, for the version.
        install: The line that installs it.
        opened: Opens it on a store.
        note: What it leaves out, for a footnote.
    """

    name: str
    package: str
    install: str
    opened: Callable[[Access], AbstractAsyncContextManager[RemoteFiles]]
    note: str = ""

    def version(self) -> str | None:
        """Return what is installed, `None` if nothing is."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    async def enter(self, stack: AsyncExitStack, access: Access) -> OpenedPeer | NotInstalled:
        """Open it until the stack is closed, if it is installed."""
        if self.version() is None:
            return NotInstalled(self.name, self.install)
        return OpenedPeer(self.name, await stack.enter_async_context(self.opened(access)), self.note)
