"""Doing something that succeeds however often it is done, until it is done: a fault or a slow machine is in the way."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from fs_core.errors import ErrorCode, FsError

__all__ = ["insisted"]

T = TypeVar("T")

_ATTEMPTS: Final = 50


async def insisted(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what `attempt` returns at last.

    Raises:
        FsError: it is refused for a reason that stays, or was tried too often.
    """
    for _ in range(_ATTEMPTS):
        try:
            return await attempt()
        except FsError as refusal:
            if not refusal.retryable and refusal.code is not ErrorCode.OUTCOME_UNKNOWN:
                raise
    return await attempt()
