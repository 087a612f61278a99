"""Aborting one call from outside, while the calls around it go on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio

__all__ = ["AbortSignal"]


class AbortSignal:
    """Tells the calls it was given to that they are not wanted any more.

    Belongs to one event loop: `abort` must be called from its thread.
    """

    def __init__(self) -> None:
        self._aborted = False
        self._running: set[anyio.CancelScope] = set()

    @property
    def aborted(self) -> bool:
        """Whether `abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """Cancel what runs under the signal, and keep anything else from starting under it."""
        self._aborted = True
        for scope in tuple(self._running):
            scope.cancel()

    @contextmanager
    def cancelling(self) -> Generator[None]:
        """Run a block that an abort cancels; the block is then left without an exception."""
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                yield
            finally:
                self._running.discard(scope)
