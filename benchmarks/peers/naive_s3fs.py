"""s3fs as it is first written: `fs.open(...).readlines()` in a thread. `pip install s3fs`."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from importlib import import_module
from typing import Final, Protocol, cast

from anyio import CapacityLimiter, to_thread

from benchmarks.backends.access import RemotePeer, S3Access

__all__ = ["NAIVE_S3FS", "NaiveS3fs", "naive_s3fs"]

_THREADS_MAX: Final = 64


class _File(Protocol):
    def readlines(self) -> list[bytes]: ...


class _FileSystem(Protocol):
    def open(self, path: str, mode: str) -> AbstractContextManager[_File]: ...

    def pipe_file(self, path: str, value: bytes) -> None: ...

    def find(self, path: str) -> list[str]: ...

    def glob(self, path: str) -> list[str]: ...


class NaiveS3fs:
    """One file system object, used from as many threads as there are reads."""

    def __init__(self, files: _FileSystem, access: S3Access) -> None:
        self._files = files
        self._access = access
        self._limiter = CapacityLimiter(_THREADS_MAX)

    async def read(self, name: str) -> list[bytes]:
        """Read all lines of a file."""
        return await to_thread.run_sync(self._lines, name, limiter=self._limiter)

    async def write(self, name: str, data: bytes) -> None:
        """Put a file."""
        await to_thread.run_sync(self._files.pipe_file, self._path(name), data, limiter=self._limiter)

    async def names(self) -> int:
        """Return how many files there are below the prefix."""
        return len(await to_thread.run_sync(self._files.find, self._path(""), limiter=self._limiter))

    async def glob(self, pattern: str) -> int:
        """Return how many files have a name that `pattern` means."""
        found = await to_thread.run_sync(self._files.glob, self._path(f"**/{pattern}"), limiter=self._limiter)
        return len(found)

    def _lines(self, name: str) -> list[bytes]:
        with self._files.open(self._path(name), "rb") as file:
            return file.readlines()

    def _path(self, name: str) -> str:
        return f"{self._access.bucket}/{self._access.key(name)}"


@asynccontextmanager
async def naive_s3fs(access: S3Access) -> AsyncGenerator[NaiveS3fs]:
    """Make a file system object, which the library keeps; its cache of listings is off, which would show old files."""
    files = cast("Callable[..., _FileSystem]", import_module("s3fs").S3FileSystem)(
        endpoint_url=access.endpoint_url,
        key=access.access_key_id,
        secret=access.secret_access_key,
        client_kwargs={"region_name": access.region},
        config_kwargs={"max_pool_connections": _THREADS_MAX},
        use_listings_cache=False,
    )
    yield NaiveS3fs(files, access)


NAIVE_S3FS: Final = RemotePeer(
    name="naive s3fs",
    package="s3fs",
    install="pip install s3fs",
    opened=naive_s3fs,
    note="all lines as bytes, no guard",
)
