"""Cancels an operation exactly when it suspends for the n-th time, or when its worker takes its n-th step.

A suspension is counted wherever the operation gives way to the event loop: in its own task and, under asyncio, in the
tasks that it starts. So a test that goes through all n until nothing is cancelled any more has cancelled everywhere.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import anyio
import pytest
import sniffio
import trio
from anyio.lowlevel import checkpoint

from backends._workers import WorkerCall

__all__ = ["WORKER_STEPS", "Ending", "Steps", "Way", "cancelled_at_step", "cancelled_at_suspension"]

T = TypeVar("T")

_WAIT_S: Final = 20.0


class Way(StrEnum):
    """How the operation is cancelled. `TASK` is asyncio's own, which anyio's shields do not hold off."""

    SCOPE = "scope"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Steps:
    """Methods whose calls in a worker thread are counted, and whether the moment is before or after a call."""

    owner: type
    names: tuple[str, ...]
    is_after: bool = False


WORKER_STEPS: Final = Steps(WorkerCall, ("check", "commit", "unblock_with"))


@dataclass(slots=True)
class Ending(Generic[T]):
    """How a cancelled operation ended.

    Attributes:
        value: what it returned, in a tuple.
        error: what it raised, a cancellation excepted.
        was_reached: whether it was cancelled; false when it ended before the n-th moment.
        went_on: whether the caller could await something afterwards as if it had not been cancelled.
    """

    value: tuple[T] | None = None
    error: Exception | None = None
    was_reached: bool = False
    went_on: bool = False

    @property
    def was_cancelled(self) -> bool:
        """Whether the operation ended with its cancellation."""
        return self.value is None and self.error is None


class _Moments:
    """Counts moments and calls `cancel` at those with the numbers in `at`; thread-safe."""

    def __init__(self, at: tuple[int, ...]) -> None:
        self.cancel: Callable[[], None] = _nothing
        self._at = at
        self._count = 0
        self._lock = threading.Lock()

    def pass_one(self) -> bool:
        with self._lock:
            self._count += 1
            is_due = self._count in self._at
        if is_due:
            self.cancel()
        return is_due


class _Driven(Generic[T]):
    """Awaits `work` and counts every suspension of it."""

    def __init__(self, work: Coroutine[Any, Any, T], moments: _Moments) -> None:
        self._work = work
        self._moments = moments

    def __await__(self) -> Generator[Any, Any, T]:
        step: Callable[[Any], Any] = self._work.send
        given: Any = None
        while True:
            try:
                trap = step(given)
            except StopIteration as end:
                return end.value
            self._moments.pass_one()
            try:
                given = yield trap
            except GeneratorExit:
                self._work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - handed on to the work
                step, given = self._work.throw, error
            else:
                step = self._work.send


_counted: ContextVar[_Moments | None] = ContextVar("_counted", default=None)


@contextmanager
def _child_tasks_counted(moments: _Moments) -> Generator[None]:
    """Count the suspensions of tasks that are started inside, under asyncio."""
    if sniffio.current_async_library() != "asyncio":
        yield
        return
    loop = asyncio.get_running_loop()

    def make(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        counted = _counted.get()
        driven = work if counted is None else _awaited(_Driven(work, counted))
        return asyncio.Task(driven, loop=loop, **options)

    token = _counted.set(moments)
    loop.set_task_factory(make)
    try:
        yield
    finally:
        loop.set_task_factory(None)
        _counted.reset(token)


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def cancelled_at_suspension(
    operation: Callable[[], Coroutine[Any, Any, T]], *at: int, way: Way = Way.SCOPE
) -> Ending[T]:
    """Run `operation` and cancel it when it suspends for the n-th time, for each n in `at`, counted from 1."""
    ending: Ending[T] = Ending()
    moments = _Moments(at)
    await _run(lambda: _Driven(operation(), moments), ending, moments, way)
    return ending


async def cancelled_at_step(
    operation: Callable[[], Coroutine[Any, Any, T]],
    at: int,
    *,
    steps: Steps = WORKER_STEPS,
    way: Way = Way.SCOPE,
) -> Ending[T]:
    """Run `operation` and cancel it when its worker takes its n-th step; the worker waits for that to arrive."""
    ending: Ending[T] = Ending()
    moments = _Moments((at,))
    arrived = threading.Event()
    with pytest.MonkeyPatch.context() as patched:
        for name in steps.names:
            patched.setattr(steps.owner, name, _watched(steps, name, moments, arrived))
        patched.setattr(WorkerCall, "cancel", _telling(arrived))
        await _run(operation, ending, moments, way)
    return ending


_inside = threading.local()


def _watched(steps: Steps, name: str, moments: _Moments, arrived: threading.Event) -> Callable[..., object]:
    original = getattr(steps.owner, name)

    def pass_one() -> None:
        if moments.pass_one():
            assert arrived.wait(_WAIT_S), "the cancellation did not reach the worker's call"

    def step(*arguments: object, **options: object) -> object:
        if getattr(_inside, "is_step", False):  # one step that takes another, perhaps with a lock in its hands
            return original(*arguments, **options)
        if not steps.is_after:
            pass_one()
        _inside.is_step = True
        try:
            result = original(*arguments, **options)
        finally:
            _inside.is_step = False
        if steps.is_after:
            pass_one()
        return result

    return step


def _telling(arrived: threading.Event) -> Callable[[WorkerCall], bool]:
    cancel = WorkerCall.cancel

    def cancelled(call: WorkerCall) -> bool:
        is_at_work = cancel(call)
        arrived.set()
        return is_at_work

    return cancelled


async def _run(start: Callable[[], Awaitable[T]], ending: Ending[T], moments: _Moments, way: Way) -> None:
    """Run what `start` gives to its end, with `moments` cancelling it in this way."""

    async def body() -> None:
        try:
            with _child_tasks_counted(moments):
                ending.value = (await start(),)
        except Exception as error:  # noqa: BLE001 - judged by the test
            ending.error = error
        await checkpoint()
        ending.went_on = True

    if way is Way.TASK:
        task = asyncio.create_task(body())
        moments.cancel = _soon(ending, task.cancel)
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None
    else:
        with anyio.CancelScope() as scope:
            moments.cancel = _soon(ending, scope.cancel)
            await body()


def _soon(ending: Ending[T], cancel: Callable[[], object]) -> Callable[[], None]:
    """Return a function that cancels: at once from the event loop's thread, soon from another."""
    home = threading.get_ident()
    if sniffio.current_async_library() == "trio":
        from_thread: Callable[[Callable[[], object]], object] = trio.lowlevel.current_trio_token().run_sync_soon
    else:
        from_thread = asyncio.get_running_loop().call_soon_threadsafe

    def soon() -> None:
        ending.was_reached = True
        if threading.get_ident() == home:
            cancel()
        else:
            from_thread(cancel)

    return soon


def _nothing() -> None:
    """Stand in until it is known how to cancel."""
