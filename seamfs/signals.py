"""Ending a command in good order when the process is told to."""

import signal
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Final, TypeVar

import anyio
from anyio import CancelScope

__all__ = ["SIGNAL_STATUS_BASE", "run_interruptibly", "run_until_signal"]

T = TypeVar("T")

SIGNAL_STATUS_BASE: Final = 128
"""An exit status above this one names the signal that ended a process, as shells do it."""


def run_interruptibly(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in an event loop of its own and return its result; SIGINT and SIGTERM stop it.

    `anyio.run` alone can miss an interrupt: asyncio's handler does not wake a loop that has just begun to wait
    (`asyncio.Runner` of CPython 3.11 sets no `signal.set_wakeup_fd`), so the command goes on until the next one.

    Raises:
        KeyboardInterrupt: SIGINT has stopped it.
        SystemExit: SIGTERM has stopped it.
        Exception: What `work` raised.
    """
    results: list[T] = []
    errors: list[Exception] = []

    async def attempt() -> None:
        try:
            results.append(await work())
        except Exception as error:  # noqa: BLE001 - raised below, outside of the group that would wrap it
            errors.append(error)

    status = anyio.run(run_until_signal, attempt)
    if errors:
        raise errors[0]
    if results:
        return results[0]
    if status == SIGNAL_STATUS_BASE + signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(status)


async def run_until_signal(work: Callable[[], Awaitable[None]], *, stop: Callable[[], None] | None = None) -> int:
    """Run `work` to its end, or stop it at the first SIGINT or SIGTERM; return the exit status.

    Args:
        work: Runs; releases what it holds when it is stopped.
        stop: Asks `work` to end; without it, `work` is cancelled. A second signal has its usual effect.
    """
    status = 0

    async def watch(scope: CancelScope) -> None:
        nonlocal status
        status = SIGNAL_STATUS_BASE + await anext(received)
        handlers.close()
        (stop or scope.cancel)()

    with ExitStack() as handlers:
        # Received from here on, so that what `work` announces can be answered with a signal at once.
        received = handlers.enter_context(anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            await work()
            tasks.cancel_scope.cancel()
    return status
