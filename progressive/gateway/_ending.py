"""Why a connection is over."""

from __future__ import annotations

import anyio

__all__ = ["Ending"]


class Ending:
    """The end of one connection; the first reason that anyone knows stays.

    Attributes:
        reason: Why; empty if nobody knows more than that it is over.
        is_oversized: Whether a message that was too large ended it.
        hint: What may explain a fault that says little itself, such as the last HTTP status.
    """

    def __init__(self) -> None:
        self._over = anyio.Event()
        self.reason = ""
        self.is_oversized = False
        self.hint = ""

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended."""
        return self._over.is_set()

    def seal(self, reason: str = "") -> None:
        """End the connection."""
        self.reason = self.reason or reason
        self._over.set()

    def seal_oversized(self, bytes_max: int) -> None:
        """End the connection because of a message of more than so many bytes."""
        self.is_oversized = self.is_oversized or not self.is_over
        self.seal(f"the server sent a message of more than {bytes_max:,} bytes")

    async def wait(self) -> None:
        """Wait for the end."""
        await self._over.wait()
