"""A backend around a backend, for wrappers that watch, delay or break calls."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Literal, TypeVar

from fs_core.errors import FsError
from fs_core.paths import Root, RootedPath
from fs_core.protocol import Backend, Bulk, Capabilities, FileSink, Scanned, Sink
from fs_core.splice import Splice
from fs_core.types import (
    Below,
    FileInfo,
    IfVersion,
    Level,
    Listing,
    Snapshot,
    Target,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["DelegatingBackend", "Primitive"]

Primitive = Literal["resolve", "stat", "read", "scan", "list", "write", "aclose"]
"""The calls of a `Backend`. Every way to read is a `read`, every way to list a `list`, and a patch is a `write`.

A `scan` is one call, however many reads the inner backend makes of it.
"""

T = TypeVar("T")


class DelegatingBackend(Backend):
    """Passes every call to `inner`. Override `around` to do something before, after or instead.

    Root, capabilities and targets are those of `inner`. Closing this closes `inner`.
    """

    scheme: ClassVar[str] = "delegating"

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        # What a class says of every store of its kind is said here of one.
        self.bulk: Bulk = inner.bulk  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def lists_below(self) -> bool:
        """Return what the inner backend offers."""
        return self._inner.lists_below

    @property
    def lists_in_order(self) -> bool:
        """Return what is known of the inner backend."""
        return self._inner.lists_in_order

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        """Run one call. An override awaits `call` once, or raises an `FsError` as a backend would."""
        del primitive
        return await call()

    @property
    def root(self) -> Root:
        """Return the inner backend's root."""
        return self._inner.root

    @property
    def capabilities(self) -> Capabilities:
        """Return the inner backend's capabilities."""
        return self._inner.capabilities

    async def resolve(self, path: RootedPath) -> Target:
        """Delegate."""
        return await self.around("resolve", lambda: self._inner.resolve(path))

    async def stat(self, target: Target) -> FileInfo | None:
        """Delegate."""
        return await self.around("stat", lambda: self._inner.stat(target))

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Delegate."""
        return await self.around("read", lambda: self._inner.read(target, offset=offset, limit=limit, pinned=pinned))

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        """Delegate."""
        return await self.around("read", lambda: self._inner.read_whole(target, size_bytes_max=size_bytes_max))

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        """Delegate."""
        return await self.around("scan", lambda: self._inner.scan(target, sink))

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Delegate."""
        return await self.around("list", lambda: self._inner.list(target, limit=limit))

    def child(self, directory: Target, name: str) -> Target:
        """Return the inner backend's target."""
        return self._inner.child(directory, name)

    async def list_many(
        self, directories: Sequence[Target], *, entries_max: int, with_sizes: bool
    ) -> Sequence[Level | FsError]:
        """Delegate."""
        return await self.around(
            "list", lambda: self._inner.list_many(directories, entries_max=entries_max, with_sizes=with_sizes)
        )

    async def read_many(
        self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
    ) -> Sequence[FsError | None]:
        """Delegate."""
        return await self.around("read", lambda: self._inner.read_many(files, sink, size_bytes_max=size_bytes_max))

    async def list_below(self, directory: Target, *, resume: str | None = None, after: str | None = None) -> Below:
        """Delegate."""
        return await self.around("list", lambda: self._inner.list_below(directory, resume=resume, after=after))

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Delegate."""
        return await self.around("write", lambda: self._inner.write(target, data, condition=condition))

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        """Delegate."""
        return await self.around("write", lambda: self._inner.patch(target, splice, condition=condition))

    async def aclose(self) -> None:
        """Delegate."""
        await self.around("aclose", self._inner.aclose)
