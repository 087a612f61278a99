"""A bucket that is only told: a read-only store behind the client's own interface, of any size and without a socket."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Final, cast, overload

from botocore.exceptions import ClientError

from backends.options import S3Options
from backends.s3 import S3Backend
from backends.s3._client import S3Client
from backends.s3._keys import parse_location
from backends.s3._objects import BodyAnswer, ListAnswer, ObjectAnswer, TagsAnswer

__all__ = ["Lie", "NumberedKeys", "SimulatedBucket", "by_bytes", "by_components", "simulated_backend"]

_ETAG: Final = '"00000000000000000000000000000001"'

Lie = Callable[[dict[str, object], ListAnswer], ListAnswer]
"""Makes of a request and the true answer the one that is sent."""


class NumberedKeys(Sequence[str]):
    """`prefix/d0000/f000.txt` and so on, a thousand files to a directory; none is held."""

    def __init__(self, count: int, *, prefix: str) -> None:
        self._count = count
        self._prefix = prefix

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._count))]
        if not 0 <= index < self._count:
            raise IndexError(index)
        return f"{self._prefix}/d{index // 1000:04d}/f{index % 1000:03d}.txt"


def by_bytes(key: str) -> Any:
    """Order keys as most stores do."""
    return key


def by_components(key: str) -> Any:
    """Order keys as a store does that keeps directories."""
    return key.split("/")


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = BytesIO(data)

    async def read(self, amt: int | None = None) -> bytes:
        return self._data.read(amt)

    def close(self) -> None:
        self._data.close()


class _Meta:
    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url


class SimulatedBucket:
    """A `RawClient` for objects that hold their own keys. `keys` are sorted by `order`; `counts` counts requests."""

    def __init__(
        self,
        keys: Sequence[str],
        *,
        order: Callable[[str], Any] = by_bytes,
        lie: Lie | None = None,
        host: str = "simulated.invalid",
    ) -> None:
        self._keys = keys
        self._order = order
        self._lie = lie
        self.meta = _Meta(f"http://{host}")
        self.counts: Counter[str] = Counter()

    async def list_objects_v2(self, **parameters: object) -> ListAnswer:
        self.counts["LIST"] += 1
        given = {name: str(value) for name, value in parameters.items()}
        answer = self._page(
            given["Prefix"],
            start=self._start(given),
            size=int(given["MaxKeys"]),
            delimiter=given.get("Delimiter"),
        )
        return answer if self._lie is None else self._lie(parameters, answer)

    def _start(self, given: dict[str, str]) -> int:
        if "ContinuationToken" in given:
            return int(given["ContinuationToken"])
        start = bisect_left(self._keys, self._order(given["Prefix"]), key=self._order)
        if "StartAfter" in given:
            start = max(start, bisect_right(self._keys, self._order(given["StartAfter"]), key=self._order))
        return start

    def _page(self, prefix: str, *, start: int, size: int, delimiter: str | None) -> ListAnswer:
        plain: list[str] = []
        folded: list[str] = []
        at = start
        while len(plain) + len(folded) < size and self._has(at, prefix):
            key = self._keys[at]
            end = key.find(delimiter, len(prefix)) + 1 if delimiter else 0
            if end:
                folded.append(key[:end])
                at = bisect_right(self._keys, self._order(f"{key[:end]}\U0010ffff"), key=self._order)
            else:
                plain.append(key)
                at += 1
        page: ListAnswer = {
            "Contents": [{"Key": key, "Size": len(key.encode())} for key in plain],
            "CommonPrefixes": [{"Prefix": prefix} for prefix in folded],
            "IsTruncated": self._has(at, prefix),
        }
        return {**page, "NextContinuationToken": str(at)} if page.get("IsTruncated") else page

    def _has(self, at: int, prefix: str) -> bool:
        return at < len(self._keys) and self._keys[at].startswith(prefix)

    async def head_object(self, **parameters: object) -> ObjectAnswer:
        self.counts["HEAD"] += 1
        return {"ETag": _ETAG, "ContentLength": len(self._content(str(parameters["Key"])))}

    async def get_object(self, **parameters: object) -> BodyAnswer:
        self.counts["GET"] += 1
        data = self._content(str(parameters["Key"]))
        return {"ETag": _ETAG, "ContentLength": len(data), "Body": _Body(data)}

    def _content(self, key: str) -> bytes:
        at = bisect_left(self._keys, self._order(key), key=self._order)
        if at == len(self._keys) or self._keys[at] != key:
            raise _refusal("NoSuchKey", 404)
        return key.encode()

    async def put_object(self, **_: object) -> ObjectAnswer:
        raise _refusal("NotImplemented", 501)

    async def delete_object(self, **_: object) -> object:
        raise _refusal("NotImplemented", 501)

    async def get_object_tagging(self, **_: object) -> TagsAnswer:
        raise _refusal("NotImplemented", 501)

    async def close(self) -> None:
        """Nothing is open."""


def simulated_backend(bucket: SimulatedBucket, url: str) -> S3Backend:
    """Return a backend on `bucket`."""
    location, options = parse_location(url), S3Options()
    return S3Backend(S3Client(bucket, bucket=location.bucket, options=options), location, options)


def _refusal(code: str, status: int) -> ClientError:
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return cast("Callable[..., ClientError]", ClientError)(answer, "simulated")
