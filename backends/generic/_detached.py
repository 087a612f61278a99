"""Blocking calls that nothing can interrupt, on threads that may be left behind in a bounded number.

A library behind fsspec has no common way to end a request. So the request runs on a thread of its own, and the worker
that waits for it leaves when the caller is cancelled or the time is up. The threads are daemons: one that hangs for
good does not keep the process from ending.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from backends._workers import CallCancelled, WorkerCall

__all__ = ["Attempt", "CallStuck", "DetachedThreads"]

T = TypeVar("T")


class CallStuck(Exception):
    """Raised when a call made no progress in time, or too many earlier ones still hang."""


class Attempt:
    """One call as the work itself sees it. It reports `progress` between slow steps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._progress_at_s = time.monotonic()

    def progress(self) -> None:
        """Start the time limit again, or raise `CallCancelled` if nobody waits any more."""
        self._progress_at_s = time.monotonic()
        if self._is_abandoned:
            raise CallCancelled

    def deliver(self, step: Callable[[], None]) -> None:
        """Run a short `step` that the caller can see, unless nobody waits any more: then raise `CallCancelled`."""
        with self._lock:
            self.progress()
            step()

    def abandon(self) -> None:
        """Stop waiting: no other step is delivered, and when this returns none is running."""
        self._is_abandoned = True
        with self._lock:
            pass

    def remaining_s(self, timeout_s: float) -> float:
        """Return how much of `timeout_s` since the last progress is left, at least 0."""
        return max(0.0, self._progress_at_s + timeout_s - time.monotonic())


class _Result(Generic[T]):
    """What a call ended with; written by its thread before `settled` is set."""

    __slots__ = ("error", "settled", "value")

    def __init__(self) -> None:
        self.settled = threading.Event()
        self.value: tuple[T] | None = None
        self.error: BaseException | None = None


class DetachedThreads:
    """Runs calls on daemon threads, at most `threads_max` at a time, those left behind included."""

    def __init__(self, *, threads_max: int) -> None:
        self._threads_max = threads_max
        self._slots = threading.BoundedSemaphore(threads_max)

    def run(self, call: WorkerCall, work: Callable[[Attempt], T], *, timeout_s: float) -> T:
        """Run `work` on a thread of its own and wait for it in this one.

        Raises:
            CallStuck: no progress for `timeout_s`, or every thread is taken. The thread is left behind.
            CallCancelled: the caller gave `call` up. The thread is left behind and ends at its next step.
        """
        attempt, result = Attempt(), _Result[T]()
        call.unblock_with(result.settled.set)
        self._start(lambda: work(attempt), result)
        while not result.settled.wait(remaining_s := attempt.remaining_s(timeout_s)):
            if remaining_s == 0:
                attempt.abandon()
                raise CallStuck(f"no answer within {timeout_s:g} s")
        try:
            call.check()
        except CallCancelled:
            attempt.abandon()
            raise
        if result.error is not None:
            raise result.error
        if result.value is None:  # pragma: no cover - only a finished or a cancelled call settles
            raise CallCancelled
        return result.value[0]

    def _start(self, work: Callable[[], T], result: _Result[T]) -> None:
        if not self._slots.acquire(blocking=False):
            raise CallStuck(f"{self._threads_max} earlier requests still hang")

        def body() -> None:
            try:
                result.value = (work(),)
            except BaseException as error:  # noqa: BLE001 - carried to the waiting thread, never dropped
                result.error = error
            finally:
                self._slots.release()
                result.settled.set()

        thread = threading.Thread(target=body, name="seamfs-generic", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._slots.release()
            raise
