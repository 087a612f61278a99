"""One lock per target within this process, made when wanted and dropped when idle."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from fs_core.types import TargetKey

__all__ = ["TargetLocks"]


class _Counted:
    """A lock and how many tasks hold it or wait for it."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.users = 0


class TargetLocks:
    """Mutual exclusion by target key. Waiters are served in order; different keys never wait for each other."""

    def __init__(self) -> None:
        self._locks: dict[TargetKey, _Counted] = {}

    def __len__(self) -> int:
        """Return how many targets are locked or waited for."""
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, key: TargetKey) -> AsyncGenerator[None]:
        """Hold the lock of `key`; cancellation while waiting leaves nothing behind."""
        counted = self._locks.setdefault(key, _Counted())
        counted.users += 1
        try:
            async with counted.lock:
                yield
        finally:
            counted.users -= 1
            if counted.users == 0:
                del self._locks[key]
