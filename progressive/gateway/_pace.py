"""How fast the work for one server may go, so that the others notice nothing."""

from __future__ import annotations

import time

import anyio

__all__ = ["Breather", "Pace", "effort"]

_SLICE_S = 0.001
_UNIT_BYTES = 16_384
_UNIT_CONTAINERS = 1_000


def effort(message: bytes) -> float:
    """Return what it takes to read a message, as how many small ones: objects and arrays cost more than text."""
    return 1 + len(message) / _UNIT_BYTES + (message.count(b"{") + message.count(b"[")) / _UNIT_CONTAINERS


class Pace:
    """A bucket of tokens: bursts pass at once, and whoever keeps coming has to wait."""

    def __init__(self, per_s: float) -> None:
        """Start with a full bucket, which is what comes in within two seconds."""
        self._per_s = per_s
        self._tokens_max = 2 * per_s
        self._tokens = self._tokens_max
        self._filled_s = time.monotonic()

    async def spend(self, tokens: float) -> None:
        """Take tokens, and wait while there are none."""
        now_s = time.monotonic()
        self._tokens = min(self._tokens_max, self._tokens + (now_s - self._filled_s) * self._per_s) - tokens
        self._filled_s = now_s
        if self._tokens < 0:
            await anyio.sleep(-self._tokens / self._per_s)


class Breather:
    """Breaks up a long computation: after a millisecond of work the event loop gets as long for everything else."""

    def __init__(self) -> None:
        self._since_s = time.perf_counter()

    async def breathe(self) -> None:
        """Return at once, or let others work first."""
        worked_s = time.perf_counter() - self._since_s
        if worked_s >= _SLICE_S:
            await anyio.sleep(worked_s)
            self._since_s = time.perf_counter()
