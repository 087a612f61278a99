"""A backend that is as slow as a network, and counts what it is asked."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeVar

import anyio

from fs_core.protocol import Backend
from fs_core.testing.delegating import DelegatingBackend, Primitive

__all__ = ["LatencyBackend"]

T = TypeVar("T")


class LatencyBackend(DelegatingBackend):
    """Waits before every call to `inner`, closing excepted, and counts the calls in `calls` as they start.

    Calls wait side by side: the delay is a round trip, not a bandwidth. With `delay_s=0` it only counts.
    """

    scheme: ClassVar[str] = "latency"

    def __init__(self, inner: Backend, *, delay_s: float) -> None:
        super().__init__(inner)
        self._delay_s = delay_s
        self.calls: Counter[Primitive] = Counter()

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        """Count, wait, delegate."""
        self.calls[primitive] += 1
        if primitive != "aclose":
            await anyio.sleep(self._delay_s)
        return await call()
