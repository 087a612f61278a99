"""A backend whose calls can be held, and the helpers of the tests that need one."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from fs_core.testing.delegating import DelegatingBackend, Primitive
from fs_core.testing.memory import MemoryBackend, MemoryStore

__all__ = ["GatedBackend"]

T = TypeVar("T")


class GatedBackend(DelegatingBackend):
    """Holds the calls of one primitive until the gate opens, and tells when the first came and how each ended."""

    def __init__(self, primitive: Primitive, store: MemoryStore | None = None) -> None:
        super().__init__(MemoryBackend(store))
        self.reached = anyio.Event()
        self.gate = anyio.Event()
        self.cancelled = anyio.Event()
        self.held = 0
        self._primitive = primitive

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        """Hold the call if it is one of the chosen primitive."""
        if primitive == self._primitive:
            self.held += 1
            self.reached.set()
            try:
                await self.gate.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled.set()
                raise
        return await call()
