"""Several requests of one operation side by side."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import to_thread

from fs_core.protocol import FileSink

__all__ = ["HELD_BYTES_MAX", "SerialSink", "side_by_side"]

HELD_BYTES_MAX: Final = 32 << 20
"""What the contents that one operation holds at once may have together."""

_INLINE_BYTES_MAX: Final = 1 << 16
"""Contents that are larger are looked through in a thread, so that requests go on meanwhile."""


async def side_by_side(work: Callable[[int], Awaitable[None]], *, count: int, calls_max: int) -> None:
    """Await `work` for 0 to `count` - 1, at most `calls_max` at a time; the first error ends the others and is raised.

    All calls have ended when this returns or raises, also when it is cancelled.
    """
    indexes = iter(range(count))

    async def run() -> None:
        for index in indexes:
            await work(index)

    try:
        async with anyio.create_task_group() as group:
            for _ in range(min(count, calls_max)):
                group.start_soon(run)
    except ExceptionGroup as errors:
        first = errors.exceptions[0]
        raise first from first.__cause__


class SerialSink:
    """Feeds a sink from several tasks, one content at a time, and none after it has raised: then it `is_broken`."""

    def __init__(self, sink: FileSink) -> None:
        self._sink = sink
        self._lock = anyio.Lock()
        self.is_broken = False

    async def feed(self, index: int, data: bytes) -> None:
        """Feed one content; on the event loop if it is small, else in a thread."""
        async with self._lock:
            if self.is_broken:
                return
            try:
                if len(data) <= _INLINE_BYTES_MAX:
                    self._sink(index, data)
                else:
                    await to_thread.run_sync(self._sink, index, data)
            except BaseException:
                self.is_broken = True
                raise
