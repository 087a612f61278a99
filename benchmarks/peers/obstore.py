"""obstore, the object store of Rust for Python. `pip install obstore`."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Final, Protocol, cast

from benchmarks.backends.access import RemotePeer, S3Access

__all__ = ["OBSTORE", "Obstore", "obstore"]


class _Result(Protocol):
    async def bytes_async(self) -> object: ...


class _Listing(Protocol):
    async def collect_async(self) -> Sequence[object]: ...


class _Library(Protocol):
    """What is used of the module `obstore`, which need not be installed."""

    async def get_async(self, store: object, path: str) -> _Result: ...

    async def put_async(self, store: object, path: str, file: bytes) -> object: ...

    def list(self, store: object, prefix: str) -> _Listing: ...


class Obstore:
    """One store object."""

    def __init__(self, library: _Library, store: object, access: S3Access) -> None:
        self._library = library
        self._store = store
        self._access = access

    async def read(self, name: str) -> object:
        """Fetch a file in one piece, as a buffer of the library's own."""
        answer = await self._library.get_async(self._store, self._access.key(name))
        return await answer.bytes_async()

    async def write(self, name: str, data: bytes) -> None:
        """Put a file."""
        await self._library.put_async(self._store, self._access.key(name), data)

    async def names(self) -> int:
        """List all keys below the prefix and return how many there are."""
        return len(await self._library.list(self._store, self._access.prefix).collect_async())


@asynccontextmanager
async def obstore(access: S3Access) -> AsyncGenerator[Obstore]:
    """Make a store object."""
    library = cast("_Library", import_module("obstore"))
    new_store = cast("Callable[..., object]", import_module("obstore.store").S3Store)
    store = new_store(
        access.bucket,
        endpoint=access.endpoint_url,
        access_key_id=access.access_key_id,
        secret_access_key=access.secret_access_key,
        region=access.region,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )
    yield Obstore(library, store, access)


OBSTORE: Final = RemotePeer(
    name="obstore",
    package="obstore",
    install="pip install obstore",
    opened=obstore,
    note="bytes alone, whole files, no guard",
)
