"""Blocking store clients on bounded worker threads, with cancellation that neither abandons a thread nor a write."""

import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from fs_core.cancellation import show_again, to_the_end

__all__ = ["CallCancelled", "WorkerCall", "Workers"]

T = TypeVar("T")


class CallCancelled(Exception):
    """Raised inside a worker thread at its next `check`, after the caller gave the call up."""


class _State(Enum):
    WAITING = auto()
    RUNNING = auto()
    COMMITTED = auto()
    CANCELLED = auto()


class WorkerCall:
    """One call in a worker thread, as the work itself sees it.

    The work calls `check` between slow steps and `commit` right before its effect becomes visible. A cancellation
    before `commit` ends the work at its next step; one after it waits for the outcome and reports that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = _State.WAITING
        self._unblock: Callable[[], None] | None = None
        self._unfinished = threading.Lock()  # held until the thread is free; an event is made ten times as slowly
        self._unfinished.acquire()

    def check(self) -> None:
        """Raise `CallCancelled` if the caller has given the call up."""
        if self._state is _State.CANCELLED:
            raise CallCancelled

    def commit(self) -> None:
        """Enter the part that is no longer cancellable, or raise `CallCancelled`."""
        with self._lock:
            self.check()
            self._state = _State.COMMITTED
            self._unblock = None

    def unblock_with(self, action: Callable[[], None]) -> None:
        """Have `action` run in the caller's thread on cancellation, to end a blocking step. It must return at once."""
        with self._lock:
            self.check()
            self._unblock = action

    def begin(self) -> bool:
        """Start the work; false when it was cancelled while it waited for a thread."""
        with self._lock:
            if self._state is _State.CANCELLED:
                return False
            self._state = _State.RUNNING
            return True

    def end(self) -> None:
        """Tell a waiting canceller that the thread is free."""
        self._unfinished.release()

    def cancel(self) -> bool:
        """Give the call up unless it has committed; true when a thread is still at work and has to be awaited."""
        with self._lock:
            was_waiting = self._state is _State.WAITING
            if self._state is not _State.COMMITTED:
                self._state = _State.CANCELLED
            unblock, self._unblock = self._unblock, None
        if unblock is not None:
            unblock()
        return not was_waiting

    def wait_finished(self) -> None:
        """Block until the thread is free."""
        with self._unfinished:
            pass


class _Outcome(Generic[T]):
    """What a committed call ended with, kept where a cancelled caller can still find it."""

    __slots__ = ("error", "value")

    def __init__(self) -> None:
        self.value: tuple[T] | None = None
        self.error: BaseException | None = None


class Workers:
    """Runs blocking work with at most `concurrency_max` threads; further calls wait their turn."""

    def __init__(self, *, concurrency_max: int) -> None:
        self._limiter = anyio.CapacityLimiter(concurrency_max)
        self._calls = 0
        self._idle = anyio.Event()

    async def run(self, work: Callable[[WorkerCall], T]) -> T:
        """Run `work` in a worker thread and return its result.

        One thread hop. If the caller is cancelled before the work commits, the work is told, awaited (it ends at its
        next step) and the cancellation goes on. If the work has committed, its outcome is awaited and returned or
        raised; the cancellation then shows at the caller's next await.
        """
        self._calls += 1
        try:
            return await self._run(work)
        finally:
            self._calls -= 1
            if self._calls == 0:
                self._idle.set()

    async def drained(self, *, timeout_s: float) -> bool:
        """Wait until no call is at work or waits for a thread, at most for `timeout_s`; tell whether that is so."""
        with anyio.move_on_after(timeout_s):
            while self._calls:
                if self._idle.is_set():
                    self._idle = anyio.Event()
                await self._idle.wait()
        return self._calls == 0

    async def _run(self, work: Callable[[WorkerCall], T]) -> T:
        call = WorkerCall()
        outcome: _Outcome[T] = _Outcome()

        def body() -> None:
            if not call.begin():
                return
            try:
                outcome.value = (work(call),)
            except BaseException as error:  # noqa: BLE001 - carried to the awaiting task, never dropped
                outcome.error = error
            finally:
                call.end()

        try:
            await to_thread.run_sync(body, abandon_on_cancel=True, limiter=self._limiter)
        except anyio.get_cancelled_exc_class():
            if call.cancel():
                await to_the_end(lambda: to_thread.run_sync(call.wait_finished, limiter=anyio.CapacityLimiter(1)))
            if outcome.value is None and (outcome.error is None or isinstance(outcome.error, CallCancelled)):
                raise
            show_again()
        if outcome.error is not None:
            raise outcome.error
        if outcome.value is None:  # pragma: no cover - body always sets one of the two
            raise RuntimeError("worker ended without an outcome")
        return outcome.value[0]
