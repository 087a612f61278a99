"""Waiting for what another task, thread or process brings about; there is no event for it."""

import time
from collections.abc import Callable
from typing import Final

import anyio

__all__ = ["WAIT_S", "until", "wait_until"]

WAIT_S: Final = 30.0
"""What takes longer waits for something that is not coming, even on a busy machine."""

_PAUSE_S: Final = 0.005


async def until(is_so: Callable[[], bool], *, timeout_s: float = WAIT_S) -> None:
    """Wait until something is so; raise TimeoutError when it is not in time.

    The last look comes after that: all of the time may have passed in one pause of the machine.
    """
    with anyio.move_on_after(timeout_s):
        while not is_so():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(_PAUSE_S)
        return
    if not is_so():
        raise TimeoutError(f"not so after {timeout_s:g} s")


def wait_until(is_so: Callable[[], bool], *, timeout_s: float = WAIT_S) -> None:
    """Wait as `until` does, in a test that runs no event loop."""
    deadline_s = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not so after {timeout_s:g} s")
        time.sleep(_PAUSE_S)
