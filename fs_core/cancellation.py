"""Work that comes to its end although its caller is cancelled, by an anyio scope or by asyncio's own `Task.cancel`.

A scope's cancellation shows at every await until the scope is left, and a shield holds it off. That of `Task.cancel`,
which `asyncio.timeout` and `asyncio.wait_for` use too, goes through every shield, and is raised once: whoever catches
it and goes on has to raise it again.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import CancelScope, create_task_group, current_effective_deadline, get_cancelled_exc_class

__all__ = ["show_again", "to_the_end"]

T = TypeVar("T")


async def to_the_end(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` to its end, whatever cancels the caller meanwhile, and return its result or raise its error.

    The cancellation shows at the caller's next await.
    """
    results: list[T] = []
    errors: list[Exception] = []

    async def body() -> None:
        with CancelScope(shield=True):
            try:
                results.append(await work())
            except Exception as error:  # noqa: BLE001 - raised to the caller below
                errors.append(error)

    is_cancelled = False
    with CancelScope(shield=True):
        try:
            async with create_task_group() as group:
                group.start_soon(body)
        except get_cancelled_exc_class():
            is_cancelled = True
    if is_cancelled:
        show_again()
    if errors:
        raise errors[0]
    return results[0]


def show_again() -> None:
    """Have a cancellation that was caught, and outlived, show at the caller's next await. It has to be called at once.

    Nothing shows if the caller has come to its end by then, or if whoever has cancelled it takes that back, as
    `asyncio.timeout` does when its block is left.
    """
    if current_effective_deadline() == -math.inf:
        return  # a scope's, which goes on showing
    task = asyncio.current_task()
    if task is None:
        return
    requests = task.cancelling()

    def cancel() -> None:
        if not task.done() and task.cancelling() >= requests:
            task.uncancel()
            task.cancel()

    asyncio.get_running_loop().call_soon(cancel)
