"""fsspec's `SFTPFileSystem`: one paramiko client. `pip install fsspec paramiko`.

Its client must not be shared by threads (answers get lost), so reads at once are one after another, in one thread.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Final, Protocol, cast

from anyio import CapacityLimiter, to_thread

from benchmarks.backends.access import RemotePeer, SftpAccess

__all__ = ["FSSPEC_SFTP", "FsspecSftp", "fsspec_sftp"]


class _Closing(Protocol):
    def close(self) -> None: ...


class _FileSystem(Protocol):
    client: _Closing

    def cat_file(self, path: str) -> bytes: ...

    def pipe_file(self, path: str, value: bytes) -> None: ...

    def find(self, path: str) -> list[str]: ...


class FsspecSftp:
    """One file system object."""

    def __init__(self, files: _FileSystem, access: SftpAccess) -> None:
        self._files = files
        self._access = access
        self._limiter = CapacityLimiter(1)

    async def read(self, name: str) -> bytes:
        """Fetch a file in one piece."""
        return await to_thread.run_sync(self._files.cat_file, self._access.path(name), limiter=self._limiter)

    async def write(self, name: str, data: bytes) -> None:
        """Write a file in place."""
        await to_thread.run_sync(self._files.pipe_file, self._access.path(name), data, limiter=self._limiter)

    async def names(self) -> int:
        """Return how many files there are, after one directory after another was listed."""
        return len(await to_thread.run_sync(self._files.find, self._access.path(""), limiter=self._limiter))


@asynccontextmanager
async def fsspec_sftp(access: SftpAccess) -> AsyncGenerator[FsspecSftp]:
    """Log in."""
    library = import_module("fsspec.implementations.sftp")
    new = cast("Callable[..., _FileSystem]", library.SFTPFileSystem)

    def log_in() -> _FileSystem:
        return new(
            access.host,
            port=access.port,
            username=access.user,
            key_filename=str(access.identity_file),
            allow_agent=False,
            look_for_keys=False,
            skip_instance_cache=True,
        )

    files = await to_thread.run_sync(log_in)
    try:
        yield FsspecSftp(files, access)
    finally:
        await to_thread.run_sync(files.client.close)


FSSPEC_SFTP: Final = RemotePeer(
    name="fsspec sftp",
    package="fsspec",
    install="pip install fsspec paramiko",
    opened=fsspec_sftp,
    note="bytes alone, written in place, one call at a time",
)
