"""Raw aiobotocore: `get_object`, `put_object`, a connection for every call at once. `pip install aiobotocore`."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, Final, Protocol, cast

from benchmarks.backends.access import RemotePeer, S3Access

__all__ = ["RAW_AIOBOTOCORE", "RawAiobotocore", "raw_aiobotocore"]

_CHUNK_BYTES: Final = 1 << 20
_CONNECTIONS_MAX: Final = 64


class _Body(Protocol):
    async def read(self, amount: int | None = None) -> bytes: ...

    def close(self) -> None: ...


class _Client(Protocol):
    async def get_object(self, **parameters: str) -> dict[str, _Body]: ...

    async def put_object(self, **parameters: str | bytes) -> object: ...

    async def list_objects_v2(self, **parameters: str) -> dict[str, Any]: ...


class RawAiobotocore:
    """One client."""

    def __init__(self, client: _Client, access: S3Access) -> None:
        self._client = client
        self._access = access

    async def read(self, name: str) -> bytes:
        """Fetch a file in one piece."""
        body = await self._body(name)
        try:
            return await body.read()
        finally:
            body.close()

    async def drain(self, name: str) -> int:
        """Fetch a file piece by piece and drop it: the cheapest way to have seen all of it."""
        body = await self._body(name)
        size_bytes = 0
        try:
            while piece := await body.read(_CHUNK_BYTES):
                size_bytes += len(piece)
        finally:
            body.close()
        return size_bytes

    async def write(self, name: str, data: bytes) -> None:
        """Put a file."""
        await self._client.put_object(Bucket=self._access.bucket, Key=self._access.key(name), Body=data)

    async def names(self) -> int:
        """List all keys below the prefix, page after page, and return how many there are."""
        where = {"Bucket": self._access.bucket, "Prefix": self._access.key("")}
        page = await self._client.list_objects_v2(**where)
        count = page["KeyCount"]
        while page["IsTruncated"]:
            page = await self._client.list_objects_v2(**where, ContinuationToken=page["NextContinuationToken"])
            count += page["KeyCount"]
        return count

    async def _body(self, name: str) -> _Body:
        answer = await self._client.get_object(Bucket=self._access.bucket, Key=self._access.key(name))
        return answer["Body"]


@asynccontextmanager
async def raw_aiobotocore(access: S3Access) -> AsyncGenerator[RawAiobotocore]:
    """Open a client."""
    new_config = cast("Callable[..., object]", import_module("aiobotocore.config").AioConfig)
    session = import_module("aiobotocore.session").AioSession()
    new_client = cast("Callable[..., AbstractAsyncContextManager[_Client]]", session.create_client)
    async with new_client(
        "s3",
        endpoint_url=access.endpoint_url,
        region_name=access.region,
        aws_access_key_id=access.access_key_id,
        aws_secret_access_key=access.secret_access_key,
        config=new_config(
            max_pool_connections=_CONNECTIONS_MAX,
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    ) as client:
        yield RawAiobotocore(client, access)


RAW_AIOBOTOCORE: Final = RemotePeer(
    name="raw aiobotocore",
    package="aiobotocore",
    install="pip install aiobotocore",
    opened=raw_aiobotocore,
    note="bytes alone, whole files, no guard",
)
